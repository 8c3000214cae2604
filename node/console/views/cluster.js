import { get, events } from "/console/api.js";
import { ago, fill, h } from "/console/dom.js";

/** The nodes as the one that serves the page sees them, live. */
export async function cluster(main, signal) {
  const head = h("div", { class: "card" }), nodes = h("div", { class: "grid" }), stats = h("div", { class: "grid stats" });
  let drawn = false;
  async function refresh() {
    const [s, st] = await Promise.all([get("/v1/cluster", signal), get("/v1/stats?verbose=1", signal)]);
    if (signal.aborted) return;
    const me = { node_id: s.node_id, state: s.role, reachable: true, applied_index: s.applied_index, lag_entries: Math.max(0, s.commit_index - s.applied_index), wire: s.wire,
      http: s.http, version: s.version, uptime_secs: s.uptime_secs, state_hash: s.state_hash, state_hash_index: s.state_hash_index, voter: true, here: true };
    const all = [me, ...s.peers].sort((a, b) => a.node_id - b.node_id);
    fill(head, h("div", { class: "row" },
      h("h2", { class: "grow" }, s.clustered ? `Cluster of ${all.length}` : "Single node"),
      pill(s.healthy, "healthy", "no leader"), pill(s.state_agreement !== "diverged", `states ${s.state_agreement}`, "states diverged")),
    h("dl", {}, h("dt", {}, "Leader"), h("dd", {}, s.leader_id ? `node ${s.leader_id}` : "none"), h("dt", {}, "Term"), h("dd", {}, s.current_term),
      h("dt", {}, "Committed"), h("dd", {}, `entry ${s.commit_index}`), h("dt", {}, "Id"), h("dd", { class: "mono" }, s.cluster_id)));
    fill(nodes, ...all.map((n) => card(n, s)));
    fill(stats, ...[["Memories", st.active_memories], ["Relations", st.edges], ["Entities", st.entities], ["Operations", st.operations], ["Open conflicts", st.open_conflicts]].map(([k, v]) =>
      h("div", { class: "card" }, h("div", { class: "soft small" }, k), h("div", { class: "big" }, Number(v).toLocaleString()))));
    if (!drawn) { fill(main, h("h1", {}, "Cluster"), head, nodes, h("h2", {}, "This database"), stats); drawn = true; }
  }
  await refresh();
  const t = setInterval(() => refresh().catch((e) => { if (!signal.aborted) fill(head, h("p", { class: "pill bad" }, `this node does not answer: ${e.message}`)); }), 1000);
  signal.addEventListener("abort", () => clearInterval(t));
  events(() => refresh().catch(() => {}), signal).catch(() => {});
}

const pill = (ok, good, bad) => h("span", { class: `pill ${ok ? "good" : "bad"}` }, ok ? `● ${good}` : `▲ ${bad}`);

function card(n, s) {
  const leads = s.leader_id === n.node_id;
  const same = n.state_hash_index !== s.state_hash_index ? "soft" : n.state_hash === s.state_hash ? "good" : "bad";
  return h("section", { class: "card", "data-node": n.node_id, "data-role": n.reachable ? n.state : "unreachable" },
    h("div", { class: "row" }, h("h2", { class: "grow" }, `Node ${n.node_id}`, n.here && h("span", { class: "soft small" }, "  serves this page")),
      n.reachable ? h("span", { class: `pill ${leads ? "brand" : "good"}` }, leads ? "Leader" : n.voter ? n.state : "replica") : h("span", { class: "pill bad" }, "▲ unreachable")),
    h("dl", {}, h("dt", {}, "Applied"), h("dd", {}, n.reachable ? n.applied_index : "–"), h("dt", {}, "Behind"), h("dd", {}, n.reachable ? `${n.lag_entries} entries` : "–"),
      h("dt", {}, "State"), h("dd", {}, n.reachable ? h("span", { class: `pill ${same} mono` }, (n.state_hash ?? "").slice(0, 10)) : "–"),
      h("dt", {}, "Wire"), h("dd", { class: "mono" }, n.wire || "–"), h("dt", {}, "Up"), h("dd", {}, n.reachable ? ago(n.uptime_secs) : "–"), h("dt", {}, "Version"), h("dd", { class: "mono" }, n.version || "–")));
}
