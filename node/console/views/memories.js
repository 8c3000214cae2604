import { get } from "/console/api.js";
import { fill, h, toast, when } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

/** Browse, newest first. */
export async function memories(main, signal) {
  const ns = h("input", { placeholder: "namespace", "aria-label": "Namespace" }), domain = h("input", { placeholder: "domain", "aria-label": "Domain" }), kind = h("input", { placeholder: "kind", "aria-label": "Kind" });
  const list = h("tbody", {}), more = h("button", { type: "button" }, "More");
  let offset = 0;
  const page = async (fresh) => {
    if (fresh) { offset = 0; fill(list); }
    const p = new URLSearchParams({ limit: 50, offset, namespace: ns.value, domain: domain.value, memory_type: kind.value });
    const r = await get(`/v1/memories?${p}`, signal);
    offset += r.items.length;
    more.hidden = r.items.length < 50;
    list.append(...r.items.map((m) => h("tr", {}, h("td", { class: "small soft" }, when(m.created_at)), h("td", {}, h("span", { class: "pill" }, m.namespace)), h("td", { class: "small soft" }, m.memory_type),
      h("td", { class: "text" }, m.text.length > 220 ? `${m.text.slice(0, 220)}…` : m.text), h("td", {}, h("button", { type: "button", "aria-label": `Open ${m.rid}`, onclick: () => openMemory(m.rid, () => page(true)) }, "Open")))));
    if (fresh && r.items.length === 0) list.append(h("tr", {}, h("td", { class: "soft", colspan: 5 }, "There is nothing here.")));
  };
  more.addEventListener("click", () => page(false).catch((e) => toast(e.message)));
  await page(true);
  fill(main, h("h1", {}, "Memories"), h("form", { class: "card row", onsubmit: (e) => { e.preventDefault(); page(true).catch((err) => toast(err.message)); } }, ns, domain, kind, h("button", {}, "Filter")),
    h("div", { class: "card scroll" }, h("table", {}, h("thead", {}, h("tr", {}, ...["Created", "Namespace", "Kind", "Text", ""].map((t) => h("th", {}, t)))), list), more));
}
