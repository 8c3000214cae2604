import { get } from "/console/api.js";
import { attempt, count, cut, empty, fill, h, when } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

const pageSize = 50;

/** Browse: newest first, or by what matters. */
export async function memories(page, signal) {
  const ns = h("input", { placeholder: "any", "aria-label": "Namespace", name: "namespace" }), domain = h("input", { placeholder: "any", "aria-label": "Domain" }), kind = h("input", { placeholder: "any", "aria-label": "Kind" });
  const sort = h("select", { "aria-label": "Sort" }, ...[["newest", "created_at"], ["most important", "importance"], ["last recalled", "last_access"]].map(([t, v]) => h("option", { value: v }, t)));
  const list = h("tbody", {}), more = h("button", { type: "button" }, "More"), total = h("span", { class: "soft small grow" }), nothing = h("div", {});
  let offset = 0;
  const load = async (fresh) => {
    if (fresh) offset = 0;
    const p = new URLSearchParams({ limit: pageSize, offset, namespace: ns.value, domain: domain.value, memory_type: kind.value, sort: sort.value });
    const r = await get(`/v1/memories?${p}`, signal);
    if (fresh) fill(list);
    offset += r.items.length;
    more.hidden = r.items.length < pageSize;
    total.textContent = `${count(r.total, "memory", "memories")} ${ns.value ? `in ${ns.value}` : "in the database"}`;
    list.append(...r.items.map((m) => row(m, () => load(true))));
    fill(nothing, offset === 0 && empty("There is nothing here.", "Remember something, or loosen the filters."));
    list.parentElement.hidden = offset === 0;
  };
  more.addEventListener("click", attempt(() => load(false)));
  for (const e of [sort]) e.addEventListener("change", attempt(() => load(true)));
  fill(page, h("h1", {}, "Memories"), h("form", { class: "card", onsubmit: attempt(() => load(true)) }, h("div", { class: "filters" }, h("label", {}, "namespace", ns), h("label", {}, "domain", domain), h("label", {}, "kind", kind), h("label", {}, "order", sort),
    h("button", {}, "Filter"))),
  h("div", { class: "card" }, h("div", { class: "row" }, total), h("table", { class: "stack" }, h("thead", {}, h("tr", {}, ...["Text", "Namespace", "Kind", "Importance", "Created"].map((t) => h("th", {}, t)))), list), nothing, h("div", { class: "row" }, more)));
  await load(true);
}

function row(m, changed) {
  const open = () => openMemory(m.rid, changed);
  return h("tr", { class: "click", onclick: open }, h("td", { class: "text" }, h("button", { type: "button", class: "link", onclick: (e) => { e.stopPropagation(); open(); } }, cut(m.text, 220) || "(no text)")), h("td", { class: "soft", "data-label": "namespace" }, m.namespace),
    h("td", { class: "soft", "data-label": "kind" }, m.memory_type), h("td", { class: "soft num", "data-label": "importance" }, m.importance.toFixed(2)), h("td", { class: "soft nobreak", "data-label": "created" }, when(m.created_at)));
}
