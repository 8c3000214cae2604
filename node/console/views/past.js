import { get } from "/console/api.js";
import { chart } from "/console/chart.js";
import { attempt, fill, h, when } from "/console/dom.js";

const every = 30_000; // milliseconds between two looks
const bytes = (v) => { for (const [unit, size] of [["GB", 2 ** 30], ["MB", 2 ** 20], ["kB", 1024]]) if (v >= size) return `${(v / size).toFixed(v >= 10 * size ? 0 : 1)} ${unit}`; return `${v.toFixed(0)} B`; };
export const plain = (unit) => (v) => `${Number(v.toFixed(v >= 100 ? 0 : v >= 10 ? 1 : 2)).toLocaleString()} ${unit}`.trim();

const wanted = [["Requests", "requests_per_second", plain("/s")], ["Errors", "refused_per_second", plain("/s")], ["Answer time, median", "median_ms", plain("ms")], ["Answer time, 99th percentile", "p99_ms", plain("ms")],
  ["Log entries applied", "entries_per_second", plain("/s")], ["Commit, median", "commit_ms", plain("ms")], ["Not yet applied", "lag_entries", plain("entries"), "whole"], ["Not yet in the index", "index_lag_entries", plain("entries"), "whole"],
  ["Disk", "disk_bytes", bytes, 1024], ["Memory", "heap_bytes", bytes, 1024]];

/** past draws what all nodes measured over the last hours, one line a node, and what happened to them. */
export async function past(signal) {
  const hours = h("select", { "aria-label": "How far back", onchange: attempt(() => draw()) }, ...[["last hour", 60], ["last 6 hours", 360], ["last 24 hours", 1440]].map(([t, v]) => h("option", { value: v, selected: v === 1440 }, t)));
  const legend = h("div", { class: "legend" }), charts = wanted.map(([title, name, say, base]) => ({ name, ...chart(title, say, base) })), events = h("ol", { class: "plain marks" });
  let flight = new AbortController();
  signal.addEventListener("abort", () => flight.abort());

  /** draw shows the hours that are chosen; what was asked before and is not answered yet is cancelled. */
  async function draw() {
    flight.abort();
    const mine = (flight = new AbortController()).signal;
    const { nodes } = await get(`/v1/cluster/metrics?minutes=${hours.value}`, mine);
    if (mine.aborted) return;
    const heard = nodes.filter((n) => !n.error), now = Date.now() / 1000, first = Math.min(now - 60, ...heard.flatMap((n) => [...n.at.slice(0, 1), ...n.marks.map((m) => m.at)])), from = Math.max(now - 60 * hours.value, first);
    const marks = happened(heard, from);
    fill(legend, ...nodes.map((n, i) => h("span", {}, h("i", { class: `c${i % 6}` }), `node ${n.node_id}`, n.error && h("b", { class: "warn" }, ` ${n.error}`))), h("span", {}, h("i", { class: "markkey" }), "start or election"));
    for (const c of charts) c.draw(heard.map((n) => ({ colour: nodes.indexOf(n), name: `node ${n.node_id}`, at: n.at, values: n[c.name] ?? [] })), from, now, marks);
    fill(events, ...marks.toReversed().slice(0, 20).map((m) => h("li", { "data-mark": m.kind }, h("span", { class: "soft" }, `${when(m.at)} `), m.text)));
  }
  await draw();
  const timer = setInterval(() => { if (!document.hidden) draw().catch(() => {}); }, every);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h("section", { class: "past" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "All nodes"), hours), legend, h("div", { class: "grid charts" }, ...charts.map((c) => c.el)),
    h("details", { class: "card", open: true }, h("summary", {}, "Starts and elections"), events, h("p", { class: "soft small" }, "Each node keeps its own past in memory: it begins with the node's last start.")));
}

/** happened is what the nodes marked; an election that several of them saw is one. */
function happened(nodes, from) {
  const all = new Map();
  for (const n of nodes) for (const m of n.marks) {
    const key = m.kind === "election" ? `term ${m.term}` : `start ${n.node_id} ${m.at}`, old = all.get(key);
    if (m.at >= from && (!old || m.at < old.at)) all.set(key, { ...m, text: m.kind === "election" ? `Node ${m.leader_id} was elected in term ${m.term}` : `Node ${n.node_id} started` });
  }
  return [...all.values()].sort((a, b) => a.at - b.at);
}
