import { events, lines, may } from "/console/api.js";
import { empty, fill, h } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

const kept = 500;
const gone = new Set(["forgotten", "forget", "purged", "purge", "unrelated", "unrelate", "drop_database", "revoke_token"]);
const ofMemories = new Set(["stored", "remember", "corrected", "correct", "forgotten", "forget", "consolidated"]);

/** What is applied, as it is applied: kinds and ids, never content. */
export async function log(page, signal) {
  const list = h("ol", { class: "log" }), only = h("input", { placeholder: "filter by kind or id", "aria-label": "Filter", class: "grow" }), nothing = h("div", {}, empty("Nothing has happened yet.", "Operations show up here as they are applied."));
  const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause"), live = h("span", { class: "pill good" }, "● live");
  let held = null;
  const show = (li) => { li.hidden = only.value !== "" && !li.textContent.includes(only.value); };
  const line = (index, kind, id, at) => {
    const what = id && ofMemories.has(kind) ? h("button", { type: "button", class: "link mono", onclick: () => openMemory(id) }, id) : h("span", { class: "mono" }, id);
    const li = h("li", { class: gone.has(kind) ? "away" : "" }, h("span", { class: "mono soft num" }, index), h("span", { class: "pill" }, kind.replaceAll("_", " ")), what, h("span", { class: "soft small nobreak" }, new Date(at * 1000).toLocaleTimeString()));
    show(li);
    list.prepend(li);
    nothing.hidden = true;
    while (list.children.length > kept) list.lastChild.remove();
  };
  const add = (...a) => { if (held) { held.push(a); pause.textContent = `Resume (${held.length})`; if (held.length > kept) held.shift(); } else line(...a); };
  pause.addEventListener("click", () => {
    const waiting = held;
    held = held ? null : [];
    pause.setAttribute("aria-pressed", held ? "true" : "false");
    pause.textContent = held ? "Resume" : "Pause";
    live.className = `pill ${held ? "warn" : "good"}`;
    live.textContent = held ? "‖ paused" : "● live";
    for (const a of waiting ?? []) line(...a);
  });
  only.addEventListener("input", () => [...list.children].forEach(show));
  let last = ""; // what happens from here until the events come is not missed
  if (may("admin")) for (const l of await lines("/v1/admin/log?limit=200")) { last = Math.max(last, l.index); for (const o of l.operations ?? []) line(l.index, o.kind, o.id ?? "", l.time); }
  fill(page, h("h1", {}, "Log"), h("div", { class: "card row" }, only, live, pause), h("div", { class: "card" }, list, nothing),
    h("p", { class: "soft small" }, may("admin") ? "The newest 200 operations, and then those of this database as they are applied." : "Operations of this database as they are applied. Tokens with scope admin can read history."));
  events((kind, e) => { if (e.id !== undefined) add(e.index, kind, e.id, e.at); }, signal, last).catch(() => {});
}
