import { text } from "/console/api.js";
import { chart } from "/console/chart.js";
import { h } from "/console/dom.js";
import { past, plain } from "/console/views/past.js";

const every = 2, keep = 150; // seconds, points: five minutes

// A chart: title, how a value is written, value of now from this sample, the one before and the seconds between, and how its scale is rounded.
const wanted = [
  ["Requests", plain("/s"), (m, b, dt) => rate(m, b, dt, "yantrikdb_requests_total")],
  ["Answer time, median", plain("ms"), (m, b) => millis(0.5, m, b, "yantrikdb_handler_duration_seconds", (l) => !l.includes("events"))],
  ["Answer time, 99th percentile", plain("ms"), (m, b) => millis(0.99, m, b, "yantrikdb_handler_duration_seconds", (l) => !l.includes("events"))],
  ["Operations", plain("/s"), (m, b, dt) => rate(m, b, dt, "yantrikdb_operations_total")],
  ["Commit, median", plain("ms"), (m, b) => millis(0.5, m, b, "cairn_stage_seconds", (l) => l.includes('"commit"'))],
  ["Search, median", plain("ms"), (m, b) => millis(0.5, m, b, "cairn_stage_seconds", (l) => l.includes('"search"'))],
  ["Not yet applied", plain("entries"), (m) => sum(m, "cairn_apply_lag_entries"), "whole"],
  ["Not yet in the index", plain("entries"), (m) => sum(m, "cairn_index_lag_entries"), "whole"],
  ["Connections", plain(""), (m) => sum(m, "cairn_connections"), "whole"],
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

/** The last day of all nodes; and throughput, latency and lag of this one from the moment the page is opened. */
export async function metrics(page, signal) {
  const charts = wanted.map(([title, say, value, base]) => ({ value, at: [], values: [], ...chart(title, say, base) }));
  let before = null, at = 0;
  const step = async () => {
    const m = parse(await text("/metrics")), now = performance.now() / 1000, clock = Date.now() / 1000;
    for (const c of charts) {
      c.at.push(clock);
      c.values.push(c.value(m, before, now - at));
      if (c.at.length > keep) { c.at.shift(); c.values.shift(); }
      c.draw([{ name: "this node", at: c.at, values: c.values }], clock - every * keep, clock);
    }
    before = m; at = now;
  };
  await step();
  page.append(h("h1", { class: "unseen" }, "Metrics"), await past(signal), h("h2", { class: "section" }, "This node, now"), h("div", { class: "grid charts live" }, ...charts.map((c) => c.el)), h("p", { class: "soft small" }, `Every ${every} seconds since you opened the page. All of them, for Prometheus: `, h("a", { href: "/metrics" }, "/metrics")));
  const t = setInterval(() => step().catch(() => {}), every * 1000);
  signal.addEventListener("abort", () => clearInterval(t));
}
