import { text } from "/console/api.js";
import { fill, h } from "/console/dom.js";
import { past } from "/console/views/past.js";

const every = 2, keep = 150; // seconds, points: five minutes

// A chart: title, unit, value of now from this sample, the one before and the seconds between.
const wanted = [
  ["Requests", "/s", (m, b, dt) => rate(m, b, dt, "yantrikdb_requests_total")],
  ["Answer time, median", "ms", (m, b) => millis(0.5, m, b, "yantrikdb_handler_duration_seconds", (l) => !l.includes("events"))],
  ["Answer time, 99th", "ms", (m, b) => millis(0.99, m, b, "yantrikdb_handler_duration_seconds", (l) => !l.includes("events"))],
  ["Operations", "/s", (m, b, dt) => rate(m, b, dt, "yantrikdb_operations_total")],
  ["Commit, median", "ms", (m, b) => millis(0.5, m, b, "cairn_stage_seconds", (l) => l.includes('"commit"'))],
  ["Search, median", "ms", (m, b) => millis(0.5, m, b, "cairn_stage_seconds", (l) => l.includes('"search"'))],
  ["Not yet applied", "entries", (m) => sum(m, "cairn_apply_lag_entries")],
  ["Not yet in the index", "entries", (m) => sum(m, "cairn_index_lag_entries")],
  ["Connections", "", (m) => sum(m, "cairn_connections")],
];

const rows = (m, name, pick = () => true) => (m.get(name) ?? []).filter(([labels]) => pick(labels));
const sum = (m, name, pick) => rows(m, name, pick).reduce((a, [, v]) => a + v, 0);
const rate = (m, before, dt, name) => (before && dt > 0 ? (sum(m, name) - sum(before, name)) / dt : null);

const millis = (...a) => { const s = quantile(...a); return s === null ? null : 1000 * s; };

/** quantile of what a histogram counted between two samples, in its own unit; the bound of the bucket, drawn out evenly. */
function quantile(q, m, before, name, pick) {
  if (!before) return null;
  const counts = new Map();
  for (const [sample, sign] of [[m, 1], [before, -1]]) for (const [labels, v] of rows(sample, `${name}_bucket`, pick)) {
    const le = Number(/le="([^"]+)"/.exec(labels)[1].replace("+Inf", "Infinity"));
    counts.set(le, (counts.get(le) ?? 0) + sign * v);
  }
  const all = [...counts].sort(([a], [b]) => a - b), n = all.at(-1)?.[1] ?? 0;
  if (n <= 0) return null;
  let low = 0, below = 0;
  for (const [le, upTo] of all) {
    if (upTo >= q * n) return le === Infinity ? low : low + ((le - low) * (q * n - below)) / (upTo - below || 1);
    [low, below] = [le, upTo];
  }
  return low;
}

function parse(all) {
  const m = new Map();
  for (const line of all.split("\n")) {
    const x = /^([a-zA-Z_:]+)(\{.*\})? (\S+)$/.exec(line);
    if (x) (m.get(x[1]) ?? m.set(x[1], []).get(x[1])).push([x[2] ?? "", Number(x[3])]);
  }
  return m;
}

const shown = (v) => (v === null ? "–" : Number.isInteger(v) ? v.toLocaleString() : v >= 100 ? v.toFixed(0) : v >= 10 ? v.toFixed(1) : v.toFixed(2));

/** The last day of all nodes; and throughput, latency and lag of this one from the moment the page is opened. */
export async function metrics(page, signal) {
  const charts = wanted.map(([title, unit, value]) => {
    const line = h("path", {}), area = h("path", { class: "area" }), now = h("b", { class: "big" }, "–"), top = h("span", { class: "soft small" });
    return { value, points: [], line, area, now, top, el: h("section", { class: "card chart" }, h("div", { class: "row" }, h("h2", { class: "grow" }, title), h("div", { class: "nobreak" }, now, h("span", { class: "soft small" }, ` ${unit}`))),
      h("svg", { class: "chart", viewBox: "0 0 300 80", preserveAspectRatio: "none", role: "img", "aria-label": title }, h("line", { x1: 0, x2: 300, y1: 79.5, y2: 79.5 }), area, line), h("div", { class: "row axis" }, h("span", { class: "soft small grow" }, "5 min ago"), top, h("span", { class: "soft small" }, "now"))) };
  });
  let before = null, at = 0;
  const step = async () => {
    const m = parse(await text("/metrics")), now = performance.now() / 1000;
    for (const c of charts) {
      const v = c.value(m, before, now - at);
      c.points.push(v);
      if (c.points.length > keep) c.points.shift();
      draw(c, v);
    }
    before = m; at = now;
  };
  await step();
  fill(page, h("h1", {}, "Metrics"), await past(signal), h("h2", { class: "section" }, "This node, now"), h("div", { class: "grid charts live" }, ...charts.map((c) => c.el)), h("p", { class: "soft small" }, `Every ${every} seconds since you opened the page. All of them, for Prometheus: `, h("a", { href: "/metrics" }, "/metrics")));
  const t = setInterval(() => step().catch(() => {}), every * 1000);
  signal.addEventListener("abort", () => clearInterval(t));
}

/** draw puts the newest point at the right edge; where nothing was measured the line has a gap. */
function draw(c, v) {
  const known = c.points.filter((p) => p !== null), top = Math.max(1e-9, ...known) * 1.15, from = keep - c.points.length;
  let d = "", area = "", begun = -1;
  c.points.forEach((p, i) => {
    if (p === null) { begun = -1; return; }
    const x = (300 * (from + i)) / (keep - 1), y = 79 - (76 * p) / top;
    d += `${begun < 0 ? "M" : "L"}${x.toFixed(1)},${y.toFixed(1)}`;
    area += begun < 0 ? `M${x.toFixed(1)},79L${x.toFixed(1)},${y.toFixed(1)}` : `L${x.toFixed(1)},${y.toFixed(1)}`;
    if (i === c.points.length - 1 || c.points[i + 1] === null) area += `L${x.toFixed(1)},79Z`;
    begun = i;
  });
  c.line.setAttribute("d", d || "M0,79");
  c.area.setAttribute("d", area || "M0,79");
  c.now.textContent = shown(v);
  c.top.textContent = known.length > 0 ? `most ${shown(Math.max(...known))}` : "";
}
