import { text } from "/console/api.js";
import { fill, h } from "/console/dom.js";

const wanted = [
  ["Requests a second", (m, b, dt) => rate(m, b, dt, "yantrikdb_requests_total")],
  ["Answer time, ms", (m, b) => { const n = delta(m, b, "yantrikdb_handler_duration_seconds_count"); return n > 0 ? (1000 * delta(m, b, "yantrikdb_handler_duration_seconds_sum")) / n : 0; }],
  ["Operations a second", (m, b, dt) => rate(m, b, dt, "yantrikdb_operations_total")],
  ["Entries not yet applied", (m) => sum(m, "cairn_apply_lag_entries")],
  ["Entries not yet findable", (m) => sum(m, "cairn_index_lag_entries")],
  ["Connections", (m) => sum(m, "cairn_wire_connections")],
];
const sum = (m, name) => (m.get(name) ?? []).reduce((a, b) => a + b, 0);
const delta = (m, before, name) => (before ? sum(m, name) - sum(before, name) : 0);
const rate = (m, before, dt, name) => (dt > 0 ? delta(m, before, name) / dt : 0);

function parse(all) {
  const m = new Map();
  for (const line of all.split("\n")) {
    const x = /^([a-zA-Z_:]+)(?:\{.*\})? (\S+)$/.exec(line);
    if (x) m.set(x[1], [...(m.get(x[1]) ?? []), Number(x[2])]);
  }
  return m;
}

/** Small charts of the last minutes of this node. */
export async function metrics(main, signal) {
  const charts = wanted.map(([title, value]) => {
    const line = h("path", {}), area = h("path", { class: "area" }), now = h("span", { class: "pill" });
    return { value, points: [], line, area, now, el: h("div", { class: "card" }, h("div", { class: "row" }, h("h2", { class: "grow" }, title), now), h("svg", { class: "chart", viewBox: "0 0 300 100", preserveAspectRatio: "none", role: "img", "aria-label": title }, area, line)) };
  });
  fill(main, h("h1", {}, "Metrics"), h("div", { class: "two" }, ...charts.map((c) => c.el)), h("p", { class: "soft small" }, "All of them, for Prometheus: ", h("a", { href: "/metrics" }, "/metrics")));
  let before = null, at = 0;
  const step = async () => {
    const m = parse(await text("/metrics")), now = performance.now() / 1000;
    for (const c of charts) {
      const v = c.value(m, before, before ? now - at : 0);
      c.points.push(v);
      if (c.points.length > 150) c.points.shift();
      const top = Math.max(1e-9, ...c.points) * 1.15, xy = c.points.map((p, i) => `${(300 * i) / 149},${100 - (100 * p) / top}`).join("L");
      c.line.setAttribute("d", `M${xy}`);
      c.area.setAttribute("d", `M0,100L${xy}L${(300 * (c.points.length - 1)) / 149},100Z`);
      c.now.textContent = v >= 100 ? v.toFixed(0) : v.toFixed(2);
    }
    before = m; at = now;
  };
  await step();
  const t = setInterval(() => step().catch(() => {}), 2000);
  signal.addEventListener("abort", () => clearInterval(t));
}
