/** layout lets nodes find their places: they repel each other, links pull, and the middle holds them. It rests when nothing moves. The picture is as large as what is in it. */
export function layout(svg, nodes, links, signal, width = 900, height = 560) {
  let heat = 0, running = false;
  const still = matchMedia("(prefers-reduced-motion: reduce)").matches;

  function step() {
    const all = [...nodes.values()];
    for (let i = 0; i < all.length; i++) for (let j = i + 1; j < all.length; j++) {
      const a = all[i], b = all[j], dx = a.x - b.x || 0.1, dy = a.y - b.y || 0.1, d2 = dx * dx + dy * dy + 40, f = (9000 / d2) * heat;
      const fx = (dx / Math.sqrt(d2)) * f, fy = (dy / Math.sqrt(d2)) * f;
      a.vx += fx; a.vy += fy; b.vx -= fx; b.vy -= fy;
    }
    for (const l of links.values()) {
      const dx = l.b.x - l.a.x, dy = l.b.y - l.a.y, d = Math.hypot(dx, dy) || 1, f = ((d - 130) / d) * 0.07 * heat;
      l.a.vx += dx * f; l.a.vy += dy * f; l.b.vx -= dx * f; l.b.vy -= dy * f;
    }
    for (const n of all) {
      n.vx += (width / 2 - n.x) * 0.006 * heat; n.vy += (height / 2 - n.y) * 0.011 * heat;
      if (!n.held) { n.x = Math.min(width - 30, Math.max(30, n.x + n.vx)); n.y = Math.min(height - 40, Math.max(24, n.y + n.vy)); }
      n.vx *= 0.62; n.vy *= 0.62;
    }
    heat *= 0.985;
  }
  function draw() {
    for (const n of nodes.values()) n.el.setAttribute("transform", `translate(${n.x.toFixed(1)} ${n.y.toFixed(1)})`);
    for (const l of links.values()) {
      for (const [k, v] of [["x1", l.a.x], ["y1", l.a.y], ["x2", l.b.x], ["y2", l.b.y]]) l.line.setAttribute(k, v.toFixed(1));
      l.label.setAttribute("x", ((l.a.x + l.b.x) / 2).toFixed(1));
      l.label.setAttribute("y", ((l.a.y + l.b.y) / 2 - 5).toFixed(1));
    }
  }
  // fit shows all of it, no larger than life and not while something is held.
  function fit() {
    const all = [...nodes.values()];
    const box = svg.getBoundingClientRect();
    if (all.length === 0 || box.width === 0 || all.some((n) => n.held)) return;
    const xs = all.map((n) => n.x), ys = all.map((n) => n.y), shape = box.width / box.height;
    let w = Math.max(Math.max(...xs) - Math.min(...xs) + 150, box.width / 1.3), t = Math.max(Math.max(...ys) - Math.min(...ys) + 110, 200);
    if (w / t < shape) w = t * shape; else t = w / shape;
    const x = (Math.max(...xs) + Math.min(...xs) - w) / 2, y = (Math.max(...ys) + Math.min(...ys) - t) / 2;
    svg.setAttribute("viewBox", [x, y + 8, w, t].map((v) => v.toFixed(1)).join(" "));
  }
  function frame() {
    step();
    draw();
    fit();
    running = heat > 0.02 && !signal.aborted;
    if (running) requestAnimationFrame(frame);
  }
  const frameOf = new ResizeObserver(fit);
  frameOf.observe(svg);
  signal.addEventListener("abort", () => frameOf.disconnect());
  return {
    warm(to = 1) {
      heat = Math.max(heat, to);
      if (still && to === 1) { while (heat > 0.02) step(); draw(); fit(); return; }
      if (!running) { running = true; requestAnimationFrame(frame); }
    },
  };
}
