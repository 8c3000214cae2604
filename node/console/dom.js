// Elements are made here and nowhere else: what users wrote becomes text, never markup.

const svgTags = new Set(["svg", "g", "line", "circle", "text", "path", "title"]);

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
export function toast(text) {
  const t = document.getElementById("toast");
  t.textContent = text;
  t.classList.add("on");
  clearTimeout(timer);
  timer = setTimeout(() => t.classList.remove("on"), 4000);
}

/** dialog opens a window over the page and returns it; Escape and the button close it. */
export function dialog(title, ...children) {
  const d = h("dialog", { "aria-label": title }, h("div", { class: "row" }, h("h2", { class: "grow" }, title), h("button", { type: "button", onclick: () => d.close() }, "Close")), ...children);
  d.addEventListener("close", () => d.remove());
  document.body.append(d);
  d.showModal();
  return d;
}

/** confirmed asks before something that cannot be undone. */
export function confirmed(question, verb) {
  return new Promise((resolve) => {
    const d = dialog(question, h("div", { class: "row" },
      h("button", { class: "danger", type: "button", onclick: () => { resolve(true); d.close(); } }, verb),
      h("button", { type: "button", onclick: () => d.close() }, "Cancel")));
    d.addEventListener("close", () => resolve(false));
  });
}

/** bar is a row of coloured parts; the widths are set as properties, which the content policy allows. */
export function bar(parts, total) {
  const b = h("div", { class: "bar", role: "img", "aria-label": parts.map(([n, v]) => `${n} ${v.toFixed(2)}`).join(", ") });
  parts.forEach(([, v], i) => { const s = h("i", { class: `c${i % 6}` }); s.style.width = `${(100 * Math.max(0, v)) / (total || 1)}%`; b.append(s); });
  return b;
}

export const when = (seconds) => new Date(seconds * 1000).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });

export function ago(seconds) {
  for (const [name, size] of [["d", 86400], ["h", 3600], ["min", 60]]) if (seconds >= size) return `${Math.floor(seconds / size)} ${name}`;
  return `${Math.max(0, Math.floor(seconds))} s`;
}
