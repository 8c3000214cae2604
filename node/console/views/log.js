import { events, lines } from "/console/api.js";
import { fill, h } from "/console/dom.js";

/** What is applied, as it is applied: kinds and ids, never content. */
export async function log(main, signal) {
  const list = h("ol", { class: "log" }), only = h("input", { placeholder: "filter", "aria-label": "Filter" });
  const show = (li) => { li.hidden = only.value !== "" && !li.textContent.includes(only.value); };
  const add = (index, kind, id, at) => {
    const li = h("li", {}, h("span", { class: "mono" }, index), h("span", { class: "pill" }, kind), h("span", { class: "mono" }, id, h("span", { class: "soft" }, `  ${new Date(at * 1000).toLocaleTimeString()}`)));
    show(li);
    list.prepend(li);
    while (list.children.length > 500) list.lastChild.remove();
  };
  only.addEventListener("input", () => [...list.children].forEach(show));
  fill(main, h("h1", {}, "Log"), h("div", { class: "card row" }, h("p", { class: "grow soft" }, "Operations of this database as they are applied, newest first."), only), h("div", { class: "card" }, list));
  for (const l of await lines("/v1/admin/log?limit=100").catch(() => [])) for (const o of l.operations ?? []) add(l.index, o.kind, o.id ?? "", l.time);
  events((kind, e) => { if (e.id !== undefined) add(e.index, kind, e.id, e.at); }, signal).catch(() => {});
}
