import { get } from "/console/api.js";
import { attempt, count, fill, h, toast } from "/console/dom.js";

const pause = 120; // milliseconds without a key before it asks

/** finder is a field that suggests entities while one types, in any case, and hands the chosen one over. */
export function finder(signal, chosen, value = "") {
  const list = h("ul", { class: "choices", id: "choices", role: "listbox", "aria-label": "Entities" });
  const input = h("input", { type: "search", name: "entity", value, placeholder: "Find an entity", "aria-label": "Find an entity", role: "combobox", "aria-expanded": "false", "aria-controls": "choices", "aria-autocomplete": "list", autocomplete: "off" });
  let at = -1, typing, flight = new AbortController();
  signal.addEventListener("abort", () => { clearTimeout(typing); flight.abort(); });
  const close = () => { at = -1; clearTimeout(typing); flight.abort(); fill(list); input.setAttribute("aria-expanded", "false"); input.removeAttribute("aria-activedescendant"); };
  const choose = attempt(async (name) => { close(); input.value = name; await chosen(name); });
  const mark = (to) => {
    at = Math.max(0, Math.min(list.children.length - 1, to));
    [...list.children].forEach((li, i) => li.setAttribute("aria-selected", String(i === at)));
    list.children[at]?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", `choice-${at}`);
  };
  async function suggest() {
    flight.abort();
    const mine = (flight = new AbortController()), { entities } = await get(`/v1/entities?sort=mentions&limit=20&search=${encodeURIComponent(input.value.trim())}`, mine.signal);
    if (mine.signal.aborted) return;
    fill(list, ...entities.map((e, i) => h("li", { role: "option", id: `choice-${i}`, "aria-selected": "false", onpointerdown: (ev) => { ev.preventDefault(); choose(e.name); } }, h("span", { class: "grow" }, e.name), h("span", { class: "soft small" }, count(e.mentions, "mention")))));
    input.setAttribute("aria-expanded", String(entities.length > 0));
    at = -1;
  }
  input.addEventListener("input", () => { clearTimeout(typing); typing = setTimeout(() => suggest().catch((e) => { if (e.name !== "AbortError") toast(e.message, true); }), pause); });
  input.addEventListener("blur", close);
  input.addEventListener("keydown", async (e) => {
    if (e.key === "ArrowDown" || e.key === "ArrowUp") { e.preventDefault(); if (list.children.length > 0) mark(at + (e.key === "ArrowDown" ? 1 : -1)); }
    else if (e.key === "Escape") close();
    else if (e.key === "Enter" && input.value.trim()) {
      e.preventDefault();
      clearTimeout(typing); // or it would end the look that follows
      const marked = list.children[at]?.firstChild.textContent;
      await attempt(async () => {
        if (!marked) await suggest();
        const names = [...list.children].map((li) => li.firstChild.textContent), typed = input.value.trim().toLowerCase();
        const name = marked ?? names.find((n) => n.toLowerCase() === typed) ?? names[0];
        if (!name) throw new Error(`No entity has “${input.value.trim()}” in its name.`);
        await choose(name);
      })();
    }
  });
  return h("div", { class: "find" }, input, list);
}
