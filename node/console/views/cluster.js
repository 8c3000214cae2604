import { get, events } from "/console/api.js";
import { ago, fill, h, pairs, pill } from "/console/dom.js";

/** The nodes as the one that serves the page sees them, live. */
export async function cluster(page, signal) {
  const head = h("div", { class: "card hero" }), nodes = h("div", { class: "grid" }), stats = h("div", { class: "grid stats" });
  async function refresh() {
    const [s, st] = await Promise.all([get("/v1/cluster", signal), get("/v1/stats", signal)]);
    if (signal.aborted) return;
    const here = { node_id: s.node_id, state: s.role, reachable: true, applied_index: s.applied_index, lag_entries: s.lag_entries, wire: s.wire,
      http: s.http, version: s.version, uptime_secs: s.uptime_secs, state_hash: s.state_hash, state_hash_index: s.state_hash_index, voter: s.voter, here: true };
    const all = [here, ...s.peers].sort((a, b) => a.node_id - b.node_id);
    fill(head, ...summary(s, all));
    fill(nodes, ...all.map((n) => card(n, s)));
    fill(stats, ...[["Memories", st.active_memories], ["Merged", st.consolidated_memories], ["Relations", st.edges], ["Entities", st.entities], ["Open conflicts", st.open_conflicts], ["Operations", st.operations]].map(([k, v]) =>
      h("div", { class: "card" }, h("div", { class: "soft small" }, k), h("div", { class: "big" }, Number(v).toLocaleString()))));
  }
  await refresh();
  fill(page, h("h1", { class: "unseen" }, "Cluster"), head, nodes, h("h2", { class: "section" }, "This database"), stats);
  const t = setInterval(() => refresh().catch((e) => { if (!signal.aborted) fill(head, h("div", { class: "row" }, h("span", { class: "dot bad" }), h("div", {}, h("div", { class: "headline" }, "This node does not answer"), h("div", { class: "soft" }, e.message)))); }), 1000);
  signal.addEventListener("abort", () => clearInterval(t));
  events(() => refresh().catch(() => {}), signal).catch(() => {});
}

function summary(s, all) {
  const up = all.filter((n) => n.reachable).length;
  const mood = !s.healthy || s.state_agreement === "diverged" ? "bad" : s.condition === "healthy" ? "good" : "warn";
  const headline = s.condition[0].toUpperCase() + s.condition.slice(1);
  const agree = { agree: pill("good", "● states agree"), diverged: pill("bad", "▲ states differ"), unknown: pill("", "○ states not compared") }[s.state_agreement];
  return [h("div", { class: "row" }, h("span", { class: `dot ${mood}` }), h("div", { class: "grow" }, h("div", { class: "headline" }, headline),
    h("div", { class: "soft" }, s.leader_id ? `Node ${s.leader_id} leads` : "Writes are refused; reads go on", ` · ${up} of ${all.length} reachable · quorum ${s.quorum_size}`)), s.clustered && agree),
  h("div", { class: "facts" }, ...[["Term", s.current_term], ["Committed", s.commit_index.toLocaleString()], ["Cluster", h("span", { class: "mono" }, s.cluster_id)]].map(([k, v]) => h("div", {}, h("span", { class: "soft small" }, k), h("span", {}, v))))];
}

function card(n, s) {
  const leads = s.leader_id === n.node_id, role = !n.reachable ? "unreachable" : leads ? "Leader" : n.voter ? n.state : "Replica";
  const comparable = n.reachable && n.state_hash_index === s.state_hash_index, same = n.state_hash === s.state_hash;
  const done = h("i", { class: n.lag_entries > 100 ? "c1" : "c0" });
  done.style.width = `${n.reachable ? Math.max(2, (100 * n.applied_index) / (n.applied_index + n.lag_entries)) : 0}%`;
  return h("section", { class: `card node ${n.reachable ? "" : "gone"}`, "data-node": n.node_id, "data-role": n.reachable ? n.state : "unreachable" },
    h("div", { class: "row" }, h("h2", { class: "grow" }, `Node ${n.node_id}`), pill(!n.reachable ? "bad" : leads ? "brand" : "", n.reachable ? role : "▲ unreachable")),
    h("div", { class: "bar", role: "img", "aria-label": `applied ${n.applied_index}, ${n.lag_entries ?? "unknown"} behind` }, done),
    pairs({ Applied: n.reachable ? h("span", { class: "num" }, n.applied_index.toLocaleString(), n.lag_entries == null ? h("span", { class: "soft" }, " lag unknown") : n.lag_entries > 0 && h("span", { class: "warn" }, ` ${n.lag_entries} behind`)) : "–",
      State: n.reachable ? h("span", { class: `mono ${!comparable ? "soft" : same ? "good" : "bad"}`, title: comparable ? (same ? "the same as this node's" : "differs from this node's") : `at entry ${n.state_hash_index}` }, (n.state_hash ?? "").slice(0, 10), comparable && !n.here && (same ? " =" : " ≠")) : "–",
      Wire: h("span", { class: "mono" }, n.wire || "–"), Gateway: h("span", { class: "mono" }, n.http || "–"),
      Up: n.reachable ? ago(n.uptime_secs) : n.last_seen_secs_ago != null ? `seen ${ago(n.last_seen_secs_ago)} ago` : "–", Version: h("span", { class: "mono" }, n.version || "–") }),
    n.here && h("p", { class: "soft small" }, "serves this page"));
}
