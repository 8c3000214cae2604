import { get } from "/console/api.js";
import { attempt, fill, h, when } from "/console/dom.js";

const every = 30_000, width = 600, height = 110; // milliseconds between two looks; the box of a chart
const bytes = (v) => { for (const [unit, size] of [["GB", 2 ** 30], ["MB", 2 ** 20], ["kB", 1024]]) if (v >= size) return `${(v / size).toFixed(1)} ${unit}`; return `${v.toFixed(0)} B`; };
const plain = (unit) => (v) => `${v >= 100 || Number.isInteger(v) ? v.toFixed(0) : v.toFixed(2)} ${unit}`.trim();

const charts = [["Requests", "requests_per_second", plain("/s")], ["Errors", "refused_per_second", plain("/s")], ["Answer time, median", "median_ms", plain("ms")], ["Answer time, 99th", "p99_ms", plain("ms")],
  ["Log entries applied", "entries_per_second", plain("/s")], ["Commit, median", "commit_ms", plain("ms")], ["Not yet applied", "lag_entries", plain("entries")], ["Not yet in the index", "index_lag_entries", plain("entries")],
  ["Disk", "disk_bytes", bytes], ["Memory", "heap_bytes", bytes]];

/** past draws what all nodes measured over the last hours, one line a node, and what happened to them. */
export async function past(signal) {
  const hours = h("select", { "aria-label": "How far back", onchange: attempt(() => draw()) }, ...[["last hour", 60], ["last 6 hours", 360], ["last 24 hours", 1440]].map(([t, v]) => h("option", { value: v, selected: v === 1440 }, t)));
  const legend = h("div", { class: "legend" }), grid = h("div", { class: "grid charts" }), events = h("ol", { class: "plain marks" });
  async function draw() {
    const { nodes } = await get(`/v1/cluster/metrics?minutes=${hours.value}`, signal);
    const heard = nodes.filter((n) => !n.error), now = Date.now() / 1000, first = Math.min(now - 60, ...heard.flatMap((n) => [...n.at.slice(0, 1), ...n.marks.map((m) => m.at)])), from = Math.max(now - 60 * hours.value, first);
    const marks = happened(heard, from);
    fill(legend, ...nodes.map((n, i) => h("span", {}, h("i", { class: `c${i % 6}` }), `node ${n.node_id}`, n.error && h("b", { class: "warn" }, ` ${n.error}`))), h("span", {}, h("i", { class: "markkey" }), "start or election"));
    fill(grid, ...charts.map((c) => chart(c, nodes, marks, from, now)));
    fill(events, ...marks.toReversed().slice(0, 20).map((m) => h("li", { "data-mark": m.kind }, h("span", { class: "soft" }, `${when(m.at)} `), m.text)));
  }
  await draw();
  const timer = setInterval(() => { if (!document.hidden) draw().catch(() => {}); }, every);
  signal.addEventListener("abort", () => clearInterval(timer));
  return h("section", { class: "past" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "All nodes"), hours), legend, grid,
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

function chart([title, name, say], nodes, marks, from, now) {
  const known = nodes.flatMap((n) => n[name] ?? []).filter((v) => v !== null), top = Math.max(1e-9, ...known) * 1.1, x = (at) => ((width * (at - from)) / (now - from)).toFixed(1);
  const lines = nodes.map((n, i) => {
    let d = "", begun = false;
    (n[name] ?? []).forEach((v, k) => {
      if (v === null) { begun = false; return; }
      d += begun ? `L${x(n.at[k])},${(height - 2 - ((height - 8) * v) / top).toFixed(1)}` : `M${x(n.at[k])},${(height - 2 - ((height - 8) * v) / top).toFixed(1)}h2`; // a point alone is seen too
      begun = true;
    });
    return h("path", { class: `n${i % 6}`, d: d || "M0,0", "data-node": n.node_id });
  });
  const last = nodes.map((n) => [n.node_id, n[name]?.findLast((v) => v !== null)]).filter(([, v]) => v !== undefined);
  return h("section", { class: "card chart" }, h("div", { class: "row" }, h("h3", { class: "grow" }, title), h("span", { class: "soft small nobreak" }, known.length > 0 ? `most ${say(Math.max(...known))}` : "nothing measured")),
    h("svg", { class: "chart tall", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img", "aria-label": `${title}: ${last.map(([id, v]) => `node ${id} ${say(v)}`).join(", ") || "nothing measured"}` },
      h("line", { x1: 0, x2: width, y1: height - 0.5, y2: height - 0.5 }), ...marks.map((m) => h("line", { class: "mark", x1: x(m.at), x2: x(m.at), y1: 0, y2: height }, h("title", {}, m.text))), ...lines),
    h("div", { class: "row axis" }, h("span", { class: "soft small grow" }, when(from)), h("span", { class: "soft small" }, "now")));
}
