import { get, post } from "/console/api.js";
import { fill, h, toast } from "/console/dom.js";

/** Entities and relations: drag to move, click to unfold. */
export async function graph(main, signal, start) {
  const nodes = new Map(), links = new Map();
  const lines = h("g", {}), dots = h("g", {}), svg = h("svg", { class: "graph", viewBox: "0 0 900 560", role: "img", "aria-label": "Entities and their relations" }, lines, dots);
  const name = h("input", { value: start, placeholder: "entity", class: "grow", "aria-label": "Entity", list: "entities" }), known = h("datalist", { id: "entities" });
  const note = h("p", { class: "soft small" });
  let heat = 0;

  function node(id) {
    if (!nodes.has(id)) {
      const n = { id, x: 450 + 80 * Math.cos(nodes.size * 2.4), y: 280 + 80 * Math.sin(nodes.size * 2.4), vx: 0, vy: 0, open: false };
      n.label = h("text", { "text-anchor": "middle", dy: 24 }, id.length > 28 ? `${id.slice(0, 27)}…` : id);
      n.dot = h("circle", { r: 9, class: "c0" });
      n.el = h("g", { class: "node", tabindex: 0, role: "button", "aria-label": `Unfold ${id}` }, n.dot, n.label, h("title", {}, id));
      n.el.addEventListener("pointerdown", (e) => drag(e, n));
      n.el.addEventListener("keydown", (e) => { if (e.key === "Enter") unfold(id); });
      nodes.set(id, n);
      dots.append(n.el);
    }
    return nodes.get(id);
  }
  async function unfold(id) {
    try {
      const n = node(id);
      n.open = true;
      n.dot.setAttribute("class", "c1");
      const { edges } = await get(`/v1/edges?entity=${encodeURIComponent(id)}`, signal);
      for (const e of edges.slice(0, 60)) {
        if (links.has(e.edge_id)) continue;
        const l = { a: node(e.src), b: node(e.dst), line: h("line", {}), label: h("text", { class: "rel", "text-anchor": "middle" }, e.rel_type) };
        links.set(e.edge_id, l);
        lines.append(l.line, l.label);
      }
      note.textContent = `${nodes.size} entities, ${links.size} relations. Drag to move, click to unfold.`;
      heat = 1;
      tick();
    } catch (e) { toast(e.message); }
  }
  function drag(e, n) {
    e.preventDefault();
    const from = [e.clientX, e.clientY];
    let moved = false;
    const scale = 900 / svg.getBoundingClientRect().width;
    const move = (ev) => {
      moved ||= Math.hypot(ev.clientX - from[0], ev.clientY - from[1]) > 4;
      n.x += ev.movementX * scale; n.y += ev.movementY * scale; n.held = true; heat = Math.max(heat, 0.3); tick();
    };
    const up = () => { n.held = false; removeEventListener("pointermove", move); removeEventListener("pointerup", up); if (!moved && !n.open) unfold(n.id); };
    addEventListener("pointermove", move);
    addEventListener("pointerup", up);
  }
  let running = false;
  function tick() {
    if (running) return;
    running = true;
    requestAnimationFrame(function step() {
      const all = [...nodes.values()];
      for (const a of all) for (const b of all) {
        if (a === b) continue;
        const dx = a.x - b.x, dy = a.y - b.y, d2 = dx * dx + dy * dy + 25;
        a.vx += (dx / d2) * 900 * heat; a.vy += (dy / d2) * 900 * heat;
      }
      for (const l of links.values()) {
        const dx = l.b.x - l.a.x, dy = l.b.y - l.a.y, d = Math.hypot(dx, dy) || 1, f = ((d - 120) / d) * 0.06 * heat;
        l.a.vx += dx * f; l.a.vy += dy * f; l.b.vx -= dx * f; l.b.vy -= dy * f;
      }
      for (const n of all) {
        n.vx += (450 - n.x) * 0.004 * heat; n.vy += (280 - n.y) * 0.004 * heat;
        if (!n.held) { n.x = Math.min(880, Math.max(20, n.x + n.vx)); n.y = Math.min(530, Math.max(20, n.y + n.vy)); }
        n.vx *= 0.6; n.vy *= 0.6;
        n.el.setAttribute("transform", `translate(${n.x} ${n.y})`);
      }
      for (const l of links.values()) {
        l.line.setAttribute("x1", l.a.x); l.line.setAttribute("y1", l.a.y); l.line.setAttribute("x2", l.b.x); l.line.setAttribute("y2", l.b.y);
        l.label.setAttribute("x", (l.a.x + l.b.x) / 2); l.label.setAttribute("y", (l.a.y + l.b.y) / 2 - 4);
      }
      heat *= 0.985;
      if (heat > 0.02 && !signal.aborted) requestAnimationFrame(step); else running = false;
    });
  }
  const relate = ["entity", "relationship", "target"].map((p) => h("input", { placeholder: p, "aria-label": p, class: "grow" }));
  const { entities } = await get("/v1/entities?limit=200", signal);
  fill(known, ...entities.map((e) => h("option", { value: e.name })));
  fill(main, h("h1", {}, "Graph"), h("form", { class: "card row", onsubmit: (e) => { e.preventDefault(); if (name.value) unfold(name.value); } }, name, known, h("button", { class: "primary" }, "Show")),
    svg, note, h("form", { class: "card row", onsubmit: async (e) => {
      e.preventDefault();
      try { await post("/v1/relate", Object.fromEntries(relate.map((i) => [i.placeholder, i.value]))); toast("Related"); unfold(relate[0].value); } catch (err) { toast(err.message); }
    } }, ...relate, h("button", {}, "Relate")));
  if (start) unfold(start);
  else if (entities.length > 0) for (const e of entities.slice(0, 3)) unfold(e.name);
  else note.textContent = "No entities yet: relate two below, or remember something.";
}
