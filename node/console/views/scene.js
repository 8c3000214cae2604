import { cut, h } from "/console/dom.js";
import { layout } from "/console/views/layout.js";

const mostLabels = 90, mostRelations = 60; // texts that one frame draws
const grain = 4; // pixels of the raster in which labels look for lines
// Where a label may stand around its node, the best place first: to the right and left of it, above and below, and how far.
const around = [0, 10, 24].flatMap((far) => [[0, 1], [0, -1], [1, 0], [-1, 0], [0.6, 1], [-0.6, 1], [0.6, -1], [-0.6, -1], [1, 0.7], [-1, 0.7], [1, -0.7], [-1, -0.7], [0.3, 1], [-0.3, 1], [0.3, -1], [-0.3, -1]].map(([dx, dy]) => [dx, dy, far]));
const zooms = [0.05, 4], finger = 22; // pixels around a node that take hold of it

/**
 * scene draws nodes and links on a canvas: arrows, parallel links fanned, and only labels that have room. The view is zoomed, panned and
 * walked by keys. What one frame did is in `work`.
 */
export function scene(signal, { choose, chosen: said = () => {} }) {
  const canvas = h("canvas", { class: "graph", tabindex: 0, role: "application", "aria-roledescription": "graph", "aria-label": "Entities and their relations. Arrow keys choose a neighbour, Enter unfolds, plus and minus zoom, zero shows all, shift with arrows pans." });
  const nodes = new Map(), links = new Map(), fans = new Map(), pen = canvas.getContext("2d");
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches, dark = matchMedia("(prefers-color-scheme: dark)");
  const view = { x: 0, y: 0, scale: 1, own: false }; // own: set by hand, so that nothing moves it
  const shapes = layout(nodes, links), work = { frames: 0, pairs: 0, nodes: 0, links: 0, labels: 0 };
  let shows = () => true, chosen = null, pointed = null, running = false;

  const toScreen = (n) => [(n.x - view.x) * view.scale + canvas.clientWidth / 2, (n.y - view.y) * view.scale + canvas.clientHeight / 2];
  const toWorld = (x, y) => [(x - canvas.clientWidth / 2) / view.scale + view.x, (y - canvas.clientHeight / 2) / view.scale + view.y];
  const seen = () => { const on = new Set(chosen ? [chosen] : []); for (const n of nodes.values()) if (n.degree === 0) on.add(n); for (const l of links.values()) if (shows(l)) { on.add(l.a); on.add(l.b); } return on; };

  function node(id, near) {
    if (!nodes.has(id)) {
      const turn = nodes.size, far = near ? 60 + 4 * Math.sqrt(turn) : 22 * Math.sqrt(turn);
      nodes.set(id, { id, x: (near?.x ?? 0) + far * Math.cos(turn * 2.4), y: (near?.y ?? 0) + far * Math.sin(turn * 2.4), vx: 0, vy: 0, degree: 0, open: false, colour: 5, turn });
    }
    return nodes.get(id);
  }
  function link(id, a, b, type, created) {
    if (links.has(id)) return;
    const key = [a.id, b.id].sort().join("\n"), fan = fans.get(key) ?? [], l = { id, a, b, type, created, fan };
    fans.set(key, fan);
    fan.push(l);
    links.set(id, l);
    a.degree++; b.degree++;
  }
  const size = (n) => Math.min(16, 6 + 1.5 * Math.sqrt(n.degree));

  /** fit shows all of it, no larger than life. */
  function fit() {
    const all = [...seen()];
    if (all.length === 0 || canvas.clientWidth === 0) return;
    const xs = all.map((n) => n.x), ys = all.map((n) => n.y), [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    view.x = (left + right) / 2; view.y = (top + bottom) / 2 + 8;
    view.scale = Math.max(zooms[0], Math.min(1.4, canvas.clientWidth / (right - left + 220), canvas.clientHeight / (bottom - top + 150)));
  }
  function draw() {
    const width = canvas.clientWidth, height = canvas.clientHeight, ratio = devicePixelRatio || 1, style = getComputedStyle(canvas), colour = (name) => style.getPropertyValue(name).trim();
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) { canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio); }
    const ink = colour("--ink"), soft = colour("--soft"), card = colour("--card"), brand = colour("--brand"), shades = [0, 1, 2, 3, 4, 5].map((i) => colour(`--n${i}`));
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.clearRect(0, 0, width, height);
    const on = seen(), taken = [], texts = [], lines = new Uint32Array(Math.ceil(width / grain) * Math.ceil(height / grain)), across = Math.ceil(width / grain);
    Object.assign(work, { nodes: 0, links: 0, labels: 0 });
    const visible = ([x, y]) => x > -80 && y > -40 && x < width + 80 && y < height + 40;
    pen.lineWidth = 1.4;
    for (const l of links.values()) {
      if (!shows(l)) continue;
      const from = toScreen(l.a), to = toScreen(l.b);
      if (!visible(from) && !visible(to)) continue;
      work.links++;
      const bright = chosen && (l.a === chosen || l.b === chosen), middle = arrow(l, from, to, bright ? brand : soft, chosen && !bright ? 0.25 : 0.6, (x, y) => { if (x >= 0 && y >= 0 && x < width && y < height) lines[Math.floor(y / grain) * across + Math.floor(x / grain)] = work.links; });
      if (middle && (bright || (!chosen && view.scale > 0.6))) texts.push([bright ? 2 : 0, cut(l.type.replaceAll("_", " "), 22), middle, 11.5, bright ? ink : soft, false, work.links]);
    }
    pen.globalAlpha = 1;
    const beside = new Set();
    if (chosen) for (const l of links.values()) { if (l.a === chosen) beside.add(l.b); if (l.b === chosen) beside.add(l.a); }
    for (const n of on) {
      const [x, y] = toScreen(n), r = Math.max(2, size(n) * Math.min(1, 0.4 + view.scale * 0.6));
      if (!visible([x, y])) continue;
      work.nodes++;
      pen.beginPath();
      pen.arc(x, y, r, 0, 7);
      pen.globalAlpha = chosen && n !== chosen && !beside.has(n) ? 0.45 : 1;
      pen.fillStyle = shades[n.colour];
      pen.fill();
      pen.strokeStyle = n === chosen ? ink : card;
      pen.lineWidth = n === chosen ? 3 : 2;
      pen.stroke();
      if (nodes.size < 400) taken.push([x - r, y - r, x + r, y + r]);
      texts.push([n === chosen || n === pointed ? 1e6 : 3 + n.degree + (beside.has(n) ? 1000 : 0), cut(n.id, 28), [x, y, r], n === chosen ? 15 : 13, ink, n === chosen]);
    }
    pen.globalAlpha = 1;
    // Labels, those of much related nodes first, each where it has room around its node. One that would lie on another, on a node or across a line is
    // left out; that of the chosen node and of the one under the pointer is always there.
    const free = (box, own) => !taken.some((t) => t[0] < box[2] && t[2] > box[0] && t[1] < box[3] && t[3] > box[1]) && box[0] > 2 && box[2] < width - 2 && box[1] > 2 && box[3] < height - 2 && clear(box, own);
    const clear = ([left, top, right, bottom], own) => {
      for (let j = Math.max(0, Math.floor(top / grain)); j <= Math.min(height - 1, bottom) / grain; j++) for (let i = Math.max(0, Math.floor(left / grain)); i <= Math.min(width - 1, right) / grain; i++) { const l = lines[j * across + i]; if (l > 0 && l !== own) return false; }
      return true;
    };
    let relations = 0;
    pen.textAlign = "center"; pen.textBaseline = "middle"; pen.lineJoin = "round";
    texts.sort((a, b) => b[0] - a[0]);
    for (const [rank, text, [x, y, r], px, fill, bold, own] of texts.slice(0, 4 * mostLabels)) {
      if (work.labels >= mostLabels || (rank < 3 && ++relations > mostRelations)) continue;
      pen.font = `${bold ? 650 : 400} ${px}px system-ui, sans-serif`;
      const half = pen.measureText(text).width / 2 + 3, up = px / 2 + 1, out = (r ?? 0) + 3;
      const places = r === undefined ? [[x, y]] : around.map(([dx, dy, far]) => [x + dx * (out + far + half), y + dy * (out + far + up)]);
      const at = ([cx, cy]) => [cx - half, cy - up, cx + half, cy + up], place = places.find((p) => free(at(p), own)) ?? (rank >= 1e6 ? places[0] : null);
      if (!place) continue;
      taken.push(at(place));
      pen.fillStyle = card; // a relation's name interrupts its own line
      if (r === undefined || rank >= 1e6) pen.fillRect(place[0] - half, place[1] - up, 2 * half, 2 * up);
      pen.fillStyle = fill;
      pen.fillText(text, ...place);
      work.labels++;
    }
    canvas.dataset.nodes = on.size;
    canvas.dataset.links = [...links.values()].filter(shows).length;
    canvas.dataset.labels = work.labels;
  }
  /** arrow draws a link to the edge of its end, bent where others join the same two, traces where it lies, and says where its label goes. */
  function arrow(l, from, to, colour, alpha, trace) {
    const seat = l.fan.indexOf(l) - (l.fan.length - 1) / 2, dx = to[0] - from[0], dy = to[1] - from[1], d = Math.hypot(dx, dy);
    pen.globalAlpha = alpha;
    pen.strokeStyle = pen.fillStyle = colour;
    pen.beginPath();
    if (l.a === l.b) { // to itself: a loop above it
      const r = 14 + 6 * l.fan.indexOf(l);
      pen.arc(from[0], from[1] - r, r, 0, 7);
      pen.stroke();
      return [from[0], from[1] - 2 * r - 7];
    }
    if (d < 4) return null;
    const side = l.a.id < l.b.id ? 1 : -1, bend = seat * side * Math.min(46, d * 0.3) * 1.6, mx = (from[0] + to[0]) / 2 - (dy / d) * bend, my = (from[1] + to[1]) / 2 + (dx / d) * bend;
    const ex = to[0] - mx, ey = to[1] - my, e = Math.hypot(ex, ey) || 1, stop = size(l.b) + 3, tip = [to[0] - (ex / e) * stop, to[1] - (ey / e) * stop], head = view.scale > 0.25 ? 7 : 0;
    pen.moveTo(...from);
    pen.quadraticCurveTo(mx, my, ...tip);
    pen.stroke();
    for (let i = 0, n = Math.ceil(d / (grain - 1)); i <= n; i++) { const t = i / n, u = 1 - t; trace(u * u * from[0] + 2 * u * t * mx + t * t * tip[0], u * u * from[1] + 2 * u * t * my + t * t * tip[1]); }
    if (head > 0 && d > stop + 12) {
      const back = [tip[0] - (ex / e) * head, tip[1] - (ey / e) * head];
      pen.beginPath();
      pen.moveTo(...tip);
      pen.lineTo(back[0] - (ey / e) * 4, back[1] + (ex / e) * 4);
      pen.lineTo(back[0] + (ey / e) * 4, back[1] - (ex / e) * 4);
      pen.fill();
    }
    return d > 70 ? [(from[0] + to[0] + 2 * mx) / 4, (from[1] + to[1] + 2 * my) / 4] : null;
  }
  function frame() {
    running = false;
    if (signal.aborted) return;
    work.frames++;
    work.pairs = shapes.moving ? shapes.step() : 0;
    if (shapes.moving && !view.own) fit();
    draw();
    if (shapes.moving) wake();
  }
  const wake = () => { if (!running) { running = true; requestAnimationFrame(frame); } };
  function warm(to = 1) {
    shapes.warm(to);
    if (still) { for (let left = nodes.size > 400 ? 40 : 250; left > 0 && shapes.moving; left--) work.pairs = shapes.step(); if (!view.own) fit(); }
    wake();
  }
  function select(n) { chosen = n; canvas.dataset.chosen = n?.id ?? ""; if (n) said(n); wake(); }
  function zoom(by, x = canvas.clientWidth / 2, y = canvas.clientHeight / 2) {
    const [wx, wy] = toWorld(x, y);
    view.own = true;
    view.scale = Math.max(zooms[0], Math.min(zooms[1], view.scale * by));
    view.x = wx - (x - canvas.clientWidth / 2) / view.scale; view.y = wy - (y - canvas.clientHeight / 2) / view.scale;
    wake();
  }
  function under(x, y) {
    let best = null, least = Infinity;
    for (const n of seen()) { const [nx, ny] = toScreen(n), d = Math.hypot(nx - x, ny - y); if (d < least && d < Math.max(finger * Math.min(1, view.scale * 1.5), size(n) + 3)) { best = n; least = d; } }
    return best;
  }
  function step(dx, dy) { // to the nearest one in that direction
    if (!chosen) return select([...seen()].sort((a, b) => b.degree - a.degree)[0] ?? null);
    let best = null, least = Infinity;
    for (const n of seen()) { const x = n.x - chosen.x, y = n.y - chosen.y, along = x * dx + y * dy, aside = Math.abs(x * dy) + Math.abs(y * dx); if (n !== chosen && along > 4 && along + 2 * aside < least) { best = n; least = along + 2 * aside; } }
    if (best) { select(best); const [x, y] = toScreen(best); if (x < 30 || y < 30 || x > canvas.clientWidth - 30 || y > canvas.clientHeight - 30) { view.own = true; view.x = best.x; view.y = best.y; } }
  }
  const keys = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  canvas.addEventListener("keydown", (e) => {
    const way = keys[e.key];
    if (way && e.shiftKey) { view.own = true; view.x += (way[0] * 60) / view.scale; view.y += (way[1] * 60) / view.scale; wake(); }
    else if (way) step(...way);
    else if (e.key === "+" || e.key === "=") zoom(1.25);
    else if (e.key === "-") zoom(0.8);
    else if (e.key === "0") api.all();
    else if ((e.key === "Enter" || e.key === " ") && chosen) choose(chosen);
    else return;
    e.preventDefault();
  });
  const at = (e) => { const r = canvas.getBoundingClientRect(); return [e.clientX - r.x, e.clientY - r.y]; }, down = new Map();
  let held = null, moved = false;
  canvas.addEventListener("pointerdown", (e) => {
    canvas.setPointerCapture(e.pointerId);
    down.set(e.pointerId, at(e));
    if (down.size === 1) { held = under(...at(e)); moved = false; if (held) held.held = true; }
  });
  canvas.addEventListener("pointermove", (e) => {
    const was = down.get(e.pointerId), now = at(e);
    if (!was) { const n = under(...now); canvas.classList.toggle("over", n !== null); if (n !== pointed) { pointed = n; wake(); } return; }
    if (!moved && Math.hypot(now[0] - was[0], now[1] - was[1]) < 4) return;
    moved = true;
    if (down.size === 2) { // two fingers zoom
      const other = [...down].find(([id]) => id !== e.pointerId)[1], before = Math.hypot(was[0] - other[0], was[1] - other[1]);
      if (before > 0) zoom(Math.hypot(now[0] - other[0], now[1] - other[1]) / before, (now[0] + other[0]) / 2, (now[1] + other[1]) / 2);
    } else if (held) { [held.x, held.y] = toWorld(...now); view.own = true; warm(0.3); }
    else { view.own = true; view.x -= (now[0] - was[0]) / view.scale; view.y -= (now[1] - was[1]) / view.scale; wake(); }
    down.set(e.pointerId, now);
  });
  const up = (e) => {
    if (!down.delete(e.pointerId) || down.size > 0) return;
    if (held) held.held = false;
    if (held && !moved && e.type === "pointerup") { select(held); choose(held); }
    held = null;
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("wheel", (e) => { e.preventDefault(); zoom(Math.exp(-e.deltaY * 0.0015), ...at(e)); }, { passive: false });
  for (const kind of ["focus", "blur"]) canvas.addEventListener(kind, wake);
  dark.addEventListener("change", wake, { signal });
  const resized = new ResizeObserver(() => { if (!view.own) fit(); wake(); });
  resized.observe(canvas);
  signal.addEventListener("abort", () => resized.disconnect());

  const api = { canvas, nodes, links, work, node, link, warm, select, zoom, where: (id) => toScreen(nodes.get(id)), all() { view.own = false; fit(); wake(); }, filter(f) { shows = f; wake(); } };
  return (canvas.scene = api);
}
