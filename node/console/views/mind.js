import { get, post } from "/console/api.js";
import { button, confirmed, count, cut, dialog, empty, fill, h, pill, toast, when } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

/** What the memory makes of itself: contradictions to settle, what deserves attention, and what is there twice. */
export async function mind(page, signal) {
  const open = h("div", {}), attention = h("div", {}), twice = h("div", {}), traits = h("div", { class: "card" }), numbers = h("span", { class: "soft small" });
  const draw = async () => {
    const [{ conflicts }, { triggers }, st, self] = await Promise.all([get("/v1/conflicts?status=open&limit=50", signal), get("/v1/triggers?limit=200", signal), get("/v1/stats?verbose=1", signal), get("/v1/personality", signal)]);
    const same = triggers.filter((t) => t.trigger_type === "redundancy"), others = triggers.filter((t) => t.trigger_type !== "redundancy");
    const cards = await Promise.all(conflicts.map((c) => conflict(c, draw, signal)));
    fill(open, ...cards, conflicts.length === 0 && empty("No open conflicts.", `${st.resolved_conflicts} settled so far.`));
    const kinds = Map.groupBy(others, (t) => t.trigger_type), cards2 = (await Promise.all([...kinds.values()].map((all) => (all.length > 1 ? group(all, draw, signal) : trigger(all[0], draw, signal))))).map((card, i) => [card, routine.has([...kinds.keys()][i])]);
    const worth = cards2.filter(([, usual]) => !usual).map(([card]) => card), usual = cards2.filter(([, usual]) => usual).map(([card]) => card);
    fill(attention, ...worth, worth.length === 0 && empty("Nothing asks for attention."), usual.length > 0 && h("details", { class: "routine" }, h("summary", {}, `Upkeep · ${count(others.filter((t) => routine.has(t.trigger_type)).length, "suggestion")}`), ...usual));
    fill(twice, ...(await Promise.all(same.map((t) => duplicate(t, draw, signal)))), same.length === 0 && empty("No duplicates in sight.", `${count(st.consolidated_memories, "memory was", "memories were")} merged into others so far.`));
    fill(traits, h("h2", {}, "Personality"), ...self.traits.map((t) => { const i = h("i", { class: "c0" }); i.style.width = `${100 * t.score}%`; return h("div", { class: "trait" }, h("span", {}, t.name), h("div", { class: "bar", role: "meter", "aria-label": t.name, "aria-valuenow": t.score.toFixed(2), "aria-valuemin": 0, "aria-valuemax": 1 }, i), h("span", { class: "num soft" }, t.score.toFixed(2))); }));
    numbers.textContent = `${count(conflicts.length, "open conflict")} · ${count(triggers.length, "trigger")}`;
  };
  const think = (merge) => async () => {
    if (merge && !(await confirmed("Merge duplicates now? The sources stay readable as history.", "Merge"))) return;
    const r = await post("/v1/think", { run_consolidation: merge });
    toast(`${count(r.conflicts_found, "conflict")}, ${count(r.triggers.length, "trigger")}, ${count(r.consolidation_count, "merge")} in ${r.duration_ms} ms`);
    await draw();
  };
  await draw();
  fill(page, h("h1", { class: "unseen" }, "Mind"), h("div", { class: "ask row" }, h("div", { class: "grow wide" }, h("p", {}, "Thinking looks for contradictions, duplicates and what deserves attention. It changes nothing it is not sure of."), numbers),
    button("Merge duplicates", {}, think(true), "write"), button("Think now", { class: "primary" }, think(false), "write")),
  h("h2", { class: "section" }, "Conflicts"), open, h("h2", { class: "section" }, "Duplicates"), twice, h("h2", { class: "section" }, "Worth attention"), attention, traits);
}

/** side shows what a conflict or a duplicate is about: a memory, or a relation, which has no page of its own. */
async function side(title, rid, again, signal, tools, said) {
  const m = said && said.kind !== "memory" ? null : await get(`/v1/memory/${encodeURIComponent(rid)}`, signal).catch(() => null);
  const text = m?.text ?? said?.text, from = m?.created_at ?? said?.created_at;
  return h("div", { class: "card side-by-side" }, h("div", { class: "row" }, h("h3", { class: "grow" }, title), said && said.kind !== "memory" && pill("", said.kind), m && h("button", { type: "button", class: "quiet", onclick: () => openMemory(rid, again) }, "Open")),
    text == null ? h("p", { class: "soft" }, "This side no longer exists.") : h("p", { class: "text" }, text), from != null && h("p", { class: "soft small" }, when(from), m && ` · importance ${m.importance.toFixed(2)} · ${m.source}`), text != null && tools);
}

async function conflict(c, again, signal) {
  const settle = async (body, done) => { await post(`/v1/conflicts/${encodeURIComponent(c.conflict_id)}/resolve`, body); toast(done); await again(); };
  const keep = (strategy, label, loser) => button(label, {}, async () => { if (await confirmed(loser.text == null ? `${label}? The other side is gone already.` : `${label}? The other side is forgotten: “${loser.text}”`, label)) await settle({ strategy }, "Settled"); }, "write");
  const { side_a: a, side_b: b } = c;
  const sides = await Promise.all([side("A", c.memory_a, again, signal, keep("keep_a", "Keep A", b), a), side("B", c.memory_b, again, signal, keep("keep_b", "Keep B", a), b)]);
  return h("article", { class: "card conflict", "data-conflict": c.conflict_id }, h("div", { class: "row" }, pill(["critical", "high"].includes(c.priority) ? "bad" : "warn", c.priority), h("b", {}, c.entity ?? c.conflict_type.replaceAll("_", " ")), h("span", { class: "soft small grow" }, c.detection_reason), h("span", { class: "soft small" }, when(c.detected_at))),
    h("div", { class: "two" }, ...sides),
    h("div", { class: "row end" }, button("Dismiss", { class: "quiet" }, () => settle({ strategy: "dismiss" }, "Dismissed"), "write"), button("Keep both", {}, () => settle({ strategy: "keep_both" }, "Both are kept"), "write"),
      button("Merge…", {}, () => merging([a.text, b.text], settle), "write")));
}

function merging(texts, settle) {
  const text = h("textarea", { "aria-label": "Merged text", value: [...new Set(texts.filter((t) => t != null))].join("\n") });
  const d = dialog("Merge into one memory", h("p", { class: "soft" }, "Both sides are replaced by what you write."), text, h("div", { class: "row end" },
    button("Merge", { class: "primary" }, async () => { await settle({ strategy: "merge", new_text: text.value }, "Merged"); d.close(); }, "write")));
}

const verbs = [["dismiss", "Dismiss", "quiet"], ["acknowledge", "Noted", ""], ["act", "Done", ""]];

const tools = (t, again) => verbs.map(([verb, label, cls]) => button(label, { class: cls }, async () => { await post(`/v1/triggers/${encodeURIComponent(t.trigger_id)}/${verb}`); await again(); }, "write"));

// Kinds that come up in any memory that is used: they are kept apart from what is worth attention.
const routine = new Set(["temporal_drift", "consolidation_ready", "session_awareness", "weights_updated"]);
const titles = { temporal_drift: "not looked at for long", decay_review: "important and fading", consolidation_ready: "ready to merge", conflict_escalation: "open conflicts", relationship_insight: "much related", entity_anomaly: "several values", valence_trend: "mood", session_awareness: "sessions", weights_updated: "recall has learned", pattern_discovered: "pattern", entity_bridge_discovered: "bridge", surprise_connection: "unexpected connection", gossip_expand_category: "belongs together" };
const title = (t) => titles[t.trigger_type] ?? t.trigger_type.replaceAll("_", " ");

/** sources are the memories that a trigger is about, by their texts. */
const sources = async (t, again, signal) => Promise.all(t.source_rids.slice(0, 4).map(async (rid) => {
  const text = await get(`/v1/memory/${encodeURIComponent(rid)}`, signal).then((m) => m.text, () => "a memory that is gone");
  return h("p", {}, h("button", { type: "button", class: "link text", onclick: () => openMemory(rid, again) }, cut(text, 200)));
}));

async function trigger(t, again, signal) {
  return h("article", { class: "card", "data-trigger": t.trigger_type }, h("div", { class: "row" }, pill(t.urgency > 0.7 && !routine.has(t.trigger_type) ? "bad" : "warn", title(t)), h("span", { class: "soft small grow" }, when(t.created_at)), t.entity && h("a", { class: "pill", href: `#graph/${encodeURIComponent(t.entity)}` }, t.entity)),
    h("p", { class: "text" }, t.reason), ...(await sources(t, again, signal)), h("div", { class: "row end" }, ...tools(t, again)));
}

/** group is several triggers of one kind: one card, with a line for each. */
async function group(all, again, signal) {
  const rows = await Promise.all(all.map(async (t) => h("li", { class: "row" }, h("div", { class: "grow" }, ...(await sources(t, again, signal)), h("p", { class: "soft small" }, t.reason)), ...tools(t, again))));
  const each = (verb, label, cls) => button(label, { class: cls }, async () => { for (const t of all) await post(`/v1/triggers/${encodeURIComponent(t.trigger_id)}/${verb}`); await again(); }, "write");
  return h("article", { class: "card", "data-trigger": all[0].trigger_type }, h("div", { class: "row" }, pill("warn", title(all[0])), h("b", { class: "grow" }, count(all.length, "trigger")), each("dismiss", "Dismiss all", "quiet")), h("details", { open: all.length < 4 }, h("summary", {}, "Show them"), h("ul", { class: "plain" }, ...rows)));
}

async function duplicate(t, again, signal) {
  const forget = (rid) => button("Forget this one", { class: "danger" }, async () => {
    if (!(await confirmed("Forget this memory? The other one stays.", "Forget"))) return;
    await post("/v1/forget", { rid, reason: "duplicate" });
    await post(`/v1/triggers/${encodeURIComponent(t.trigger_id)}/act`);
    toast("Forgotten");
    await again();
  }, "write");
  return h("article", { class: "card" }, h("div", { class: "row" }, pill("warn", "duplicate"), h("span", { class: "soft small grow" }, `alike to ${Math.round(100 * t.urgency)} %`)),
    h("div", { class: "two" }, ...(await Promise.all(t.source_rids.slice(0, 2).map((rid, i) => side("AB"[i], rid, again, signal, forget(rid)))))), h("div", { class: "row end" }, ...tools(t, again)));
}
