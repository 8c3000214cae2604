import { get, may, post } from "/console/api.js";
import { diff } from "/console/diff.js";
import { attempt, button, confirmed, count, dialog, fill, h, pairs, pill, toast, when } from "/console/dom.js";

/** What can be seen of one memory, and done to it. changed is called, and waited for, when it is not what it was. */
export async function openMemory(rid, changed = () => {}) {
  const body = h("div", { class: "memory" });
  const d = dialog("Memory", body);
  const at = (path = "") => get(`/v1/memory/${encodeURIComponent(rid)}${path}`);
  const draw = async () => {
    const [m, past] = await Promise.all([at(), at("/revisions")]);
    fill(body, h("p", { class: "text lead" }, m.text), facts(m), h("a", { href: `#memory/${encodeURIComponent(rid)}` }, "Its whole life"),
      m.consolidation_status === "active" && editing(m, draw, async () => { d.close(); await changed(); }, changed),
      past.revisions.length > 0 && h("details", { open: true }, h("summary", {}, count(past.revisions.length, "earlier version")), ...past.revisions.map((r, i) => [r, past.revisions[i + 1] ?? m]).toReversed().map(([r, next]) =>
        h("div", { class: "card was" }, h("p", { class: "text" }, diff(r.text, next.text)), h("p", { class: "soft small" }, `changed ${when(r.until)} · ${r.reason || "no reason given"}`)))));
  };
  try { await draw(); } catch (e) { d.close(); toast(e.message, true); }
}

/** facts are what is stored of a memory beside its text. */
export function facts(m) {
  const status = { active: "good", consolidated: "warn", tombstoned: "bad" }[m.consolidation_status] ?? "";
  return h("div", {}, h("div", { class: "chips" }, pill(status, m.consolidation_status), pill("", m.memory_type), pill("", m.namespace), m.domain && pill("", m.domain), m.emotional_state && pill("", m.emotional_state),
    ...m.entities.map((e) => h("a", { class: "pill", href: `#graph/${encodeURIComponent(e)}` }, e))),
  pairs({ Importance: m.importance.toFixed(2), Certainty: m.certainty !== 1 && m.certainty.toFixed(2), Valence: m.valence !== 0 && m.valence.toFixed(2), Source: m.source, Created: when(m.created_at), Changed: m.updated_at !== m.created_at ? when(m.updated_at) : "",
    Recalled: `${count(m.access_count, "time")}${m.access_count > 0 ? `, last ${when(m.last_access)}` : ""}`, "Half-life": `${Math.round(m.half_life)} h`, Due: m.due_at && when(m.due_at), Session: m.session_id,
    Forgotten: m.tombstone_reason, Vector: m.embedding_bytes && `${m.embedding_bytes / 4} dimensions${m.embedding_model ? ` by ${m.embedding_model}` : ""}`, Metadata: m.metadata_json !== "{}" && h("span", { class: "mono" }, m.metadata_json),
    Id: h("span", { class: "mono" }, m.rid) }));
}

/** editing corrects a memory, after which it is drawn anew, or forgets it, after which it is gone. */
export function editing(m, draw, gone, changed = () => {}) {
  const edit = h("textarea", { "aria-label": "Text", value: m.text }), weight = h("input", { type: "number", min: 0, max: 1, step: 0.05, value: m.importance.toFixed(2), "aria-label": "Importance" }), reason = h("input", { placeholder: "why it changes", "aria-label": "Reason", class: "grow" });
  const before = edit.value; // a field ends lines in its own way
  const correct = async () => {
    if (!reason.value.trim()) { reason.focus(); throw new Error("Say why it changes."); }
    await post("/v1/correct", { rid: m.rid, new_text: edit.value === before ? undefined : edit.value, new_importance: weight.value === m.importance.toFixed(2) ? undefined : Number(weight.value), reason: reason.value });
    toast("Corrected");
    await draw();
    await changed();
  };
  const forget = async () => {
    if (!(await confirmed("Forget this memory? Recall and lists leave it out from then on; it can still be read by its id.", "Forget"))) return;
    await post("/v1/forget", { rid: m.rid, reason: reason.value || undefined });
    toast("Forgotten");
    await gone();
  };
  return h("details", {}, h("summary", {}, "Correct or forget", !may("write") && h("span", { class: "soft" }, " – this token may not")), edit,
    h("div", { class: "row" }, h("label", { class: "inline" }, "importance", weight), reason, button("Correct", { class: "primary" }, correct, "write"), button("Forget", { class: "danger" }, forget, "write")));
}
