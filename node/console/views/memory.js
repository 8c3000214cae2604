import { get, post } from "/console/api.js";
import { confirmed, dialog, fill, h, toast, when } from "/console/dom.js";

/** What can be seen of one memory, and done to it. changed is called when it is not what it was. */
export async function openMemory(rid, changed = () => {}) {
  const body = h("div", {});
  const d = dialog("Memory", body);
  const draw = async () => {
    const [m, past, around] = await Promise.all([get(`/v1/memory/${encodeURIComponent(rid)}`), get(`/v1/memory/${encodeURIComponent(rid)}/revisions`), get(`/v1/memory/${encodeURIComponent(rid)}/timeline`)]);
    const edit = h("textarea", { "aria-label": "Text", value: m.text }), reason = h("input", { placeholder: "why it changes", "aria-label": "Reason", class: "grow" });
    fill(body, h("p", { class: "text" }, m.text),
      h("dl", {}, ...Object.entries({ Id: m.rid, Status: m.consolidation_status, Namespace: m.namespace, Kind: m.memory_type, Importance: m.importance, Certainty: m.certainty, Domain: m.domain || "–",
        Source: m.source, Created: when(m.created_at), Changed: when(m.updated_at), Recalled: `${m.access_count} times`, Metadata: m.metadata_json }).flatMap(([k, v]) => [h("dt", {}, k), h("dd", { class: k === "Id" || k === "Metadata" ? "mono" : "" }, v)])),
      m.consolidation_status === "active" && h("details", {}, h("summary", {}, "Correct or forget"),
        edit, h("div", { class: "row" }, reason,
          h("button", { class: "primary", type: "button", onclick: () => act(async () => {
            if (!reason.value.trim()) throw new Error("say why it changes");
            await post("/v1/correct", { rid, new_text: edit.value, reason: reason.value });
            toast("Corrected");
            await draw();
          }) }, "Correct"),
          h("button", { class: "danger", type: "button", onclick: () => act(async () => {
            if (!(await confirmed("Forget this memory for good?", "Forget"))) return;
            await post("/v1/forget", { rid });
            toast("Forgotten");
            d.close();
          }) }, "Forget"))),
      past.revisions.length > 0 && h("details", { open: true }, h("summary", {}, `${past.revisions.length} earlier`), ...past.revisions.toReversed().map((r) =>
        h("div", { class: "card" }, h("p", { class: "text" }, r.text), h("p", { class: "soft small" }, `until ${when(r.until)} · ${r.reason || "no reason given"}`)))),
      h("details", {}, h("summary", {}, "Around it"), ...around.memories.map((o) => h("p", { class: "text small" }, h("span", { class: "soft" }, `${when(o.created_at)}  `), o.rid === rid ? h("b", {}, o.text) : o.text))));
  };
  const act = async (f) => { try { await f(); changed(); } catch (e) { toast(e.leader ? `${e.message}. Open ${e.leader}` : e.message); } };
  try { await draw(); } catch (e) { d.close(); toast(e.message); }
}
