import { get, post } from "/console/api.js";
import { attempt, button, confirmed, count, cut, empty, fill, h, pill, toast, when } from "/console/dom.js";
import { diff } from "/console/diff.js";
import { editing, facts } from "/console/views/memory.js";
import { whyNot } from "/console/views/why.js";

const memoryLink = (rid, text) => h("a", { class: "text", href: `#memory/${encodeURIComponent(rid)}` }, cut(text, 160));

/** life is one memory from when it was written until now: each change of it, what it came from and what depends on it. */
export async function life(page, signal, rid) {
  if (!rid) return fill(page, h("h1", {}, "Memory"), empty("No memory is chosen.", h("a", { href: "#memories" }, "Choose one from the list.")));
  const path = `/v1/memory/${encodeURIComponent(rid)}`;
  const draw = async () => {
    const [m, past, around, disputes] = await Promise.all([get(path, signal), get(`${path}/revisions`, signal), get(`${path}/timeline?limit=4`, signal), get(`/v1/conflicts?limit=200&memory=${encodeURIComponent(rid)}`, signal)]);
    const named = async (id) => [id, await get(`/v1/memory/${encodeURIComponent(id)}`, signal).then((o) => o.text, () => id)];
    const texts = new Map(await Promise.all([...new Set([...m.consolidation_sources.slice(0, 20), ...(m.consolidated_into ? [m.consolidated_into] : [])])].map(named)));
    const events = happened(m, past.revisions, disputes.conflicts, texts);
    fill(page, h("h1", { class: "unseen" }, "Memory"),
      h("article", { class: "card memory" }, h("p", { class: "text lead" }, m.text), facts(m), m.consolidation_status === "active" && editing(m, draw, draw)),
      h("div", { class: "two lives" },
        h("section", { class: "card" }, h("h2", {}, "What happened to it"), h("ol", { class: "timeline life" }, ...events.map((e) => h("li", { "data-event": e.kind }, h("span", { class: "soft small" }, when(e.at)), h("b", {}, e.title), ...e.more,
          e.before && m.consolidation_status === "active" && h("div", {}, button("Undo it", { class: "chip" }, again(m, e, draw), "write")))))),
        h("div", {}, h("section", { class: "card" }, h("h2", {}, "What depends on it"), ...(await dependents(m, signal))),
          h("section", { class: "card" }, h("h2", {}, "Around it in time"), h("ol", { class: "timeline" }, ...around.memories.map((o) => h("li", { class: o.rid === rid ? "here" : "" }, h("span", { class: "soft small" }, when(o.created_at)), o.rid === rid ? h("b", { class: "text" }, cut(o.text, 160)) : memoryLink(o.rid, o.text))))))),
      whyNot(m, signal));
  };
  await draw();
}

const again = (m, e, draw) => async () => {
  const { revision, text, importance } = e.before;
  if (!(await confirmed("Take the memory back to what it was before this correction?", "Undo", h("p", { class: "soft small" }, "It will say again:"), h("p", { class: "card was text", "data-returns": revision }, text),
    importance !== m.importance && h("p", { class: "soft small" }, `importance ${m.importance.toFixed(2)} → ${importance.toFixed(2)}`), h("p", { class: "soft small" }, "What it says now stays as an earlier version.")))) return;
  await post("/v1/undo", { rid: m.rid, revision, expected_revision: m.revision });
  toast("Undone");
  await draw();
};

/** happened is what is known to have happened to a memory, oldest first. */
function happened(m, revisions, conflicts, texts) {
  const first = revisions[0]?.text ?? m.text, events = [];
  const add = (kind, at, title, ...more) => events.push({ kind, at, title, more });
  const stored = revisions.length === 0 && m.consolidation_status === "active" ? m.updated_at : m.created_at;
  add("written", m.created_at, `Written by ${m.source || "an unnamed source"}`, h("p", { class: "text" }, cut(first, 400)), m.session_id && h("p", { class: "soft small" }, `in session ${m.session_id}`), m.embedding_model && h("p", { class: "soft small" }, `vector by ${m.embedding_model}`));
  if (stored - m.created_at > 60) add("stored", stored, "Stored", h("p", { class: "soft small" }, "It is about an earlier time than the one at which it was stored."));
  for (const [i, r] of revisions.entries()) {
    const now = revisions[i + 1] ?? m;
    add("corrected", r.until, "Corrected", now.text !== r.text && h("p", { class: "text" }, diff(r.text, now.text)),
      now.importance !== r.importance && h("p", { class: "soft small" }, `importance ${r.importance.toFixed(2)} → ${now.importance.toFixed(2)}`), h("p", { class: "soft small" }, r.reason || "no reason given"));
    if (r.text !== m.text || r.importance !== m.importance) events.at(-1).before = r;
  }
  if (m.consolidation_sources.length > 0) add("merged", m.created_at, `Merged from ${count(m.consolidation_sources.length, "memory", "memories")}`, ...m.consolidation_sources.slice(0, 20).map((rid) => h("div", {}, memoryLink(rid, texts.get(rid)))));
  for (const c of conflicts) {
    add("conflict", c.detected_at, "Found in conflict", h("p", { class: "text" }, c.detection_reason), ...[["A", c.memory_a, c.side_a], ["B", c.memory_b, c.side_b]].filter(([, id]) => id !== m.rid).map(([, id, side]) =>
      h("p", {}, "with ", side?.kind === "memory" ? memoryLink(id, side.text ?? id) : h("span", {}, side?.text ?? id))), c.status === "open" && h("a", { href: "#mind" }, "Resolve it"));
    if (c.resolved_at) add("resolved", c.resolved_at, c.status === "dismissed" ? "Conflict dismissed" : `Conflict resolved: ${(c.strategy ?? "").replaceAll("_", " ")}`, c.resolution_note && h("p", { class: "soft small" }, c.resolution_note));
  }
  if (m.access_count > 0) add("recalled", m.last_access, `Recalled ${count(m.access_count, "time")}; this is the latest`, h("p", { class: "soft small" }, "Each recall that returns it keeps it from fading."));
  if (m.consolidated_into) add("merged", m.updated_at, "Merged into another memory", h("div", {}, memoryLink(m.consolidated_into, texts.get(m.consolidated_into))));
  if (m.consolidation_status === "tombstoned") add("forgotten", m.updated_at, "Forgotten", h("p", { class: "soft small" }, m.tombstone_reason || "no reason given"));
  return events.sort((a, b) => a.at - b.at);
}

/** dependents are what would lose its ground without the memory. */
async function dependents(m, signal) {
  const claims = new Map();
  for (const { claims: list } of await Promise.all(m.entities.slice(0, 12).map((e) => get(`/v1/claims?entity=${encodeURIComponent(e)}`, signal).catch(() => ({ claims: [] }))))) for (const c of list) if (c.source_memory_rid === m.rid) claims.set(c.claim_id, c);
  const rows = [...claims.values()].map((c) => h("li", {}, pill("", "claim"), ` ${c.src} ${c.polarity < 0 ? "not " : ""}${c.rel_type.replaceAll("_", " ")} ${c.dst}`, c.status_suggestion !== "active" && h("span", { class: "soft" }, ` (${c.status_suggestion})`)));
  if (m.consolidated_into) rows.push(h("li", {}, pill("", "memory"), " ", memoryLink(m.consolidated_into, "the memory that it was merged into")));
  return [m.entities.length > 0 && h("div", { class: "chips" }, h("span", { class: "soft small" }, "It mentions"), ...m.entities.map((e) => h("a", { class: "pill", href: `#graph/${encodeURIComponent(e)}` }, e))),
    rows.length > 0 ? h("ul", { class: "plain" }, ...rows) : h("p", { class: "soft" }, "No claim was read from it, and no memory was made of it.")];
}
