const cell = 240, near = 48; // pixels; other nodes that push one node in a step, at most

/**
 * layout lets nodes find their places: they repel those near them, links pull, and the middle holds them. A step looks at no more than
 * `near` neighbours of each node, so that its work grows with the number of nodes and not with its square.
 */
export function layout(nodes, links) {
  let heat = 0;
  const neighbours = (grid, n, each) => {
    const cx = Math.floor(n.x / cell), cy = Math.floor(n.y / cell);
    let left = near;
    for (let i = cx - 1; i <= cx + 1; i++) for (let j = cy - 1; j <= cy + 1; j++) {
      const there = grid.get(i * 65536 + j);
      if (!there) continue;
      const stride = Math.max(1, Math.ceil((there.length * 9) / near)); // of a crowded cell some stand for all
      for (let k = n.turn % stride; k < there.length && left > 0; k += stride) if (there[k] !== n) { each(there[k], stride); left--; }
    }
  };
  return {
    get moving() { return heat > 0.02; },
    warm(to = 1) { heat = Math.max(heat, to); },
    /** step moves everything once and says how many pairs it looked at. */
    step() {
      let pairs = 0;
      const grid = new Map();
      for (const n of nodes.values()) {
        const at = Math.floor(n.x / cell) * 65536 + Math.floor(n.y / cell);
        if (!grid.has(at)) grid.set(at, []);
        grid.get(at).push(n);
      }
      for (const n of nodes.values()) {
        n.turn++;
        neighbours(grid, n, (o, weight) => {
          pairs++;
          const dx = n.x - o.x || 0.1 * (n.turn % 2 ? 1 : -1), dy = n.y - o.y || 0.1, d2 = dx * dx + dy * dy + 40, d = Math.sqrt(d2), f = Math.min(60, (14000 / d2) * weight) * heat;
          n.vx += (dx / d) * f; n.vy += (dy / d) * f;
        });
      }
      for (const l of links.values()) {
        pairs++;
        const dx = l.b.x - l.a.x, dy = l.b.y - l.a.y, d = Math.hypot(dx, dy) || 1, pull = Math.min(1, 8 / Math.max(l.a.degree, l.b.degree, 1)), f = ((d - 180) / d) * 0.07 * heat * pull;
        l.a.vx += dx * f; l.a.vy += dy * f; l.b.vx -= dx * f; l.b.vy -= dy * f;
      }
      const hold = 0.008 / Math.max(1, Math.sqrt(nodes.size) / 8);
      for (const n of nodes.values()) {
        n.vx -= n.x * hold * heat; n.vy -= n.y * hold * 1.5 * heat;
        if (!n.held) { n.x += n.vx; n.y += n.vy; }
        n.vx *= 0.62; n.vy *= 0.62;
      }
      heat *= 0.985;
      return pairs;
    },
  };
}
