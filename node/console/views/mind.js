import { get, post } from "/console/api.js";
import { confirmed, fill, h, toast, when } from "/console/dom.js";

/** What the memory makes of itself: contradictions to settle, and what deserves attention. */
export async function mind(main, signal) {
  const open = h("div", {}), duplicates = h("div", {});
  const draw = async () => {
    const { conflicts } = await get("/v1/conflicts?status=open&limit=50", signal);
    fill(open, ...conflicts.map((c) => conflict(c, draw)), conflicts.length === 0 && h("p", { class: "soft" }, "No open conflicts."));
    const triggers = await get("/v1/triggers", signal).then((r) => r.triggers, () => []);
    fill(duplicates, ...triggers.map((t) => h("div", { class: "card" }, h("div", { class: "row" }, h("span", { class: "pill warn" }, t.trigger_type), h("span", { class: "soft small" }, `urgency ${Number(t.urgency).toFixed(2)}`)), h("p", { class: "text" }, t.reason))),
      triggers.length === 0 && h("p", { class: "soft" }, "Nothing asks for attention."));
  };
  fill(main, h("h1", {}, "Mind"), h("div", { class: "card row" }, h("p", { class: "grow soft" }, "Thinking looks for contradictions and duplicates. It runs on the leader and changes nothing it is not sure of."),
    h("button", { class: "primary", type: "button", onclick: async () => {
      try { const r = await post("/v1/think", { run_consolidation: false }); toast(`${r.conflicts_found} conflicts, ${r.triggers.length} triggers in ${r.duration_ms} ms`); await draw(); } catch (e) { toast(e.message); }
    } }, "Think now")), h("h2", {}, "Conflicts"), open, h("h2", {}, "Triggers"), duplicates);
  await draw();
}

function conflict(c, again) {
  const sides = h("div", { class: "two" }, ...["a", "b"].map((s) => h("div", { class: "card" }, h("h2", {}, s.toUpperCase()), h("p", { class: "text", "data-side": s }, "…"))));
  for (const s of ["a", "b"]) {
    get(`/v1/memory/${encodeURIComponent(c[`memory_${s}`])}`).then((m) => { sides.querySelector(`[data-side=${s}]`).textContent = `${m.text}\n${when(m.created_at)}`; }, () => {});
  }
  const settle = (strategy, label, cls) => h("button", { class: cls, type: "button", onclick: async () => {
    if (!(await confirmed(`${label}? The other one stays readable as history.`, label))) return;
    try { await post(`/v1/conflicts/${encodeURIComponent(c.conflict_id)}/resolve`, { strategy }); toast("Resolved"); again(); } catch (e) { toast(e.message); }
  } }, label);
  return h("article", { class: "card" }, h("div", { class: "row" }, h("span", { class: "pill warn" }, c.priority), h("b", {}, c.entity ?? c.conflict_type), h("span", { class: "soft small" }, c.detection_reason)), sides,
    h("div", { class: "row" }, settle("keep_a", "Keep A"), settle("keep_b", "Keep B"), settle("keep_both", "Keep both"), settle("dismiss", "Dismiss")));
}
