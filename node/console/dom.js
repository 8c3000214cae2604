import { may } from "/console/api.js";

// Elements are made here and nowhere else: what users wrote becomes text, never markup.

const svgTags = new Set(["svg", "g", "line", "circle", "text", "path", "title", "rect"]);

/** h makes an element. Properties that begin with "on" are listeners; the others are attributes, left out when false. */
export function h(tag, props = {}, ...children) {
  const e = svgTags.has(tag) ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(props ?? {})) {
    if (v === false || v === null || v === undefined) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else if (k === "value") e.value = v;
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat().filter((c) => c !== null && c !== undefined && c !== false).map((c) => (c instanceof Node ? c : String(c))));
  return e;
}

export const fill = (e, ...children) => { e.replaceChildren(...children.flat().filter(Boolean)); return e; };

let timer;
export function toast(text, bad = false) {
  const t = document.getElementById("toast");
  t.textContent = text;
  if (t.matches(":popover-open")) t.hidePopover();
  t.showPopover(); // over a window that is open
  t.className = bad ? "on bad" : "on";
  clearTimeout(timer);
  timer = setTimeout(() => { t.className = ""; t.hidePopover(); }, 4000);
}

/** attempt runs what a click asks for and says what went wrong. */
export const attempt = (f) => async (e) => {
  e?.preventDefault?.();
  const b = e?.submitter ?? e?.currentTarget;
  if (b instanceof HTMLButtonElement) b.disabled = true;
  try { await f(e); } catch (err) { if (err.name !== "AbortError") toast(err.message, true); }
  if (b instanceof HTMLButtonElement) b.disabled = false;
};

/** button does something when it is clicked, if the token has the right; otherwise it says which one is missing. */
export function button(label, props, f, scope = "read") {
  const allowed = may(scope);
  return h("button", { type: "button", disabled: !allowed, title: allowed ? props.title : `this token may not ${scope}`, ...props, onclick: attempt(f) }, label);
}

/** submit is the button of a form, for tokens that have the right. */
export const submit = (label, props, scope = "read") => h("button", { disabled: !may(scope), title: may(scope) ? false : `this token may not ${scope}`, ...props }, label);

/** dialog opens a window over the page and returns it; Escape, the button and a click beside it close it. */
export function dialog(title, ...children) {
  const d = h("dialog", { "aria-label": title }, h("div", { class: "row head" }, h("h2", { class: "grow" }, title), h("button", { type: "button", class: "quiet", "aria-label": "Close", onclick: () => d.close() }, "✕")), ...children);
  d.addEventListener("close", () => d.remove());
  d.addEventListener("click", (e) => { if (e.target === d) d.close(); });
  document.body.append(d);
  d.showModal();
  return d;
}

/** confirmed asks before something that cannot be undone, or that changes what others read. */
export function confirmed(question, verb, ...more) {
  return new Promise((resolve) => {
    const no = h("button", { type: "button", onclick: () => d.close() }, "Cancel");
    const d = dialog(question, ...more, h("div", { class: "row end" }, no, h("button", { class: "danger", type: "button", onclick: () => { resolve(true); d.close(); } }, verb)));
    d.classList.add("small-dialog");
    d.addEventListener("close", () => resolve(false));
    no.focus();
  });
}

/** confirmedByName asks for the name of what a request is about before it runs. */
export function confirmedByName(question, name, verb) {
  return new Promise((resolve) => {
    const typed = h("input", { name: "confirm", autocomplete: "off", spellcheck: "false", "aria-label": `Type ${name}`, oninput: () => { go.disabled = typed.value !== name; } });
    const go = h("button", { class: "danger", disabled: true }, verb);
    const d = dialog(question, h("form", { onsubmit: (e) => { e.preventDefault(); if (typed.value === name) { resolve(true); d.close(); } } },
      h("label", {}, h("span", {}, "Type ", h("code", {}, name), " to go on"), typed), h("div", { class: "row end" }, h("button", { type: "button", onclick: () => d.close() }, "Cancel"), go)));
    d.classList.add("small-dialog");
    d.addEventListener("close", () => resolve(false));
    typed.focus();
  });
}

/** bar is a row of coloured parts; the widths are set as properties, which the content policy allows. */
export function bar(parts, total) {
  const b = h("div", { class: "bar", role: "img", "aria-label": parts.map(([n, v]) => `${n} ${v.toFixed(2)}`).join(", ") });
  parts.forEach(([n, v, c], i) => { const s = h("i", { class: `c${c ?? i % 6}`, title: `${n} ${v.toFixed(3)}` }); s.style.width = `${(100 * Math.max(0, v)) / (total || 1)}%`; b.append(s); });
  return b;
}

/** scrolls marks a row of links on the sides where it goes on behind its edge, and brings the current one into view. */
export function scrolls(row) {
  const mark = () => {
    row.classList.toggle("before", row.scrollLeft > 4);
    row.classList.toggle("behind", row.scrollLeft + row.clientWidth < row.scrollWidth - 4);
  };
  const here = () => { row.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); mark(); };
  row.addEventListener("scroll", mark);
  new ResizeObserver(here).observe(row); // also when it is put into the page
  return here;
}

/** folded puts fields behind a line of their own where there is little room; the line says how many are set. */
export function folded(name, ...fields) {
  const wide = matchMedia("(min-width: 46.01rem)"), line = h("summary", {}, name);
  const d = h("details", { class: "folds", open: wide.matches }, line, h("div", { class: "filters" }, ...fields));
  const tell = () => {
    const set = [...d.querySelectorAll("input, select")].filter((i) => (i.type === "checkbox" ? i.checked : i.value !== "" && i.value !== i.dataset.usual)).length;
    line.textContent = set > 0 ? `${name} · ${set} set` : name;
  };
  wide.addEventListener("change", () => { d.open = wide.matches; });
  d.addEventListener("input", tell);
  tell();
  return d;
}

export const pill = (kind, ...text) => h("span", { class: `pill ${kind}` }, ...text);
export const empty = (title, ...more) => h("div", { class: "empty" }, h("p", {}, title), more.length > 0 && h("p", { class: "soft small" }, ...more));
export const count = (n, one, many = `${one}s`) => `${Number(n).toLocaleString()} ${n === 1 ? one : many}`;
export const cut = (text, n) => (text.length > n ? `${text.slice(0, n).trimEnd()}…` : text);
export const pairs = (all) => h("dl", {}, ...Object.entries(all).filter(([, v]) => v !== null && v !== undefined && v !== "" && v !== false).flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));
export const percent = (v) => `${(100 * v).toFixed(1)} %`;
export const when = (seconds) => new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
export const day = (seconds) => new Date(seconds * 1000).toLocaleDateString(undefined, { dateStyle: "medium" });

export function ago(seconds) {
  for (const [name, size] of [["d", 86400], ["h", 3600], ["min", 60]]) if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
  return `${Math.max(0, Math.floor(seconds))} s`;
}
