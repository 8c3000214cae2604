import { database, events, get, lines, may } from "/console/api.js";
import { count, cut, empty, fill, h, toast } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

const kept = 300, first = 3; // entries; memories of an entry that are shown at once
// What an operation of the log does, as events name it.
const done = { remember: "stored", correct: "corrected", forget: "forgotten", sweep: "forgotten", relate: "related", unrelate: "unrelated", claim: "claimed", reinforce: "reinforced", cognition: "thought", session_start: "session started", session_end: "session ended", purge: "purged" };
const ofRelations = new Set(["related", "unrelated"]), ofMemories = new Set(["stored", "corrected", "forgotten", "consolidated"]), gone = new Set(["forgotten", "purged", "unrelated", "drop_database", "revoke_token"]);

/** What is applied, entry by entry, as it is applied. Texts are shown to tokens that may read them. */
export async function log(page, signal) {
  const list = h("ol", { class: "log" }), only = h("input", { type: "search", placeholder: "filter by kind, id or text", "aria-label": "Filter", class: "grow" }), nothing = h("div", {}, empty("Nothing has happened yet.", "Operations show up here as they are applied."));
  const pause = h("button", { type: "button", "aria-pressed": "false" }, "Pause"), live = h("span", { class: "pill good" }, "● live"), entries = new Map();
  let held = null;
  const show = (li) => { li.hidden = only.value !== "" && !li.textContent.toLowerCase().includes(only.value.trim().toLowerCase()); };

  // What an id stands for is asked for when its line comes into view, once.
  const texts = new Map();
  const seen = new IntersectionObserver((all) => all.filter((e) => e.isIntersecting).forEach(({ target: b }) => { seen.unobserve(b); tell(b); }), { rootMargin: "200px" });
  signal.addEventListener("abort", () => seen.disconnect());
  async function tell(b) {
    const id = b.dataset.id, of = b.dataset.of;
    if (!texts.has(id)) texts.set(id, get(`/v1/${of}/${encodeURIComponent(id)}`, signal).then((m) => m.text ?? `${m.src} ${m.rel_type.replaceAll("_", " ")} ${m.dst}`, () => null));
    const text = await texts.get(id);
    if (text !== null) { b.textContent = cut(text, 200) || "(no text)"; b.classList.remove("mono"); }
    show(b.closest("li"));
  }
  const told = (b) => { if (may("read")) seen.observe(b); return b; };
  const memory = (id) => told(h("button", { type: "button", class: "link mono", "data-id": id, "data-of": "memory", title: id, onclick: () => openMemory(id) }, id));
  const relation = (id) => told(h("span", { class: "mono soft", "data-id": id, "data-of": "edges", title: id }, id));

  /** draw writes an entry: what it does, how often, and to which memories. */
  function draw(e) {
    const kinds = new Map();
    for (const o of e.operations) kinds.set(o.kind, [...(kinds.get(o.kind) ?? []), o.id].filter(Boolean));
    const here = !e.database || e.database === database();
    const rows = [...kinds].flatMap(([kind, ids]) => {
      if (here && ofRelations.has(kind)) return ids.slice(0, first).map(relation);
      if (!ofMemories.has(kind) || !here) return ids.slice(0, first).map((id) => h("span", { class: "mono soft" }, id));
      const rest = ids.slice(first), more = rest.length > 0 && h("button", { type: "button", class: "link soft", onclick: () => more.replaceWith(...rest.map(memory)) }, `and ${count(rest.length, "more", "more")}`);
      return [...ids.slice(0, first).map(memory), more].filter(Boolean);
    });
    e.row.className = [...kinds.keys()].some((k) => gone.has(k)) ? "away" : "";
    const times = (kind) => e.operations.filter((o) => o.kind === kind).length;
    fill(e.row, h("span", { class: "mono soft num" }, e.index), h("span", { class: "chips" }, ...[...kinds.keys()].map((k) => h("span", { class: "pill" }, k.replaceAll("_", " "), times(k) > 1 && ` ×${times(k)}`))), h("div", { class: "what" }, ...rows, !here && h("span", { class: "soft small" }, `in database ${e.database}`)),
      h("span", { class: "soft small nobreak" }, new Date(e.time * 1000).toLocaleTimeString()));
    show(e.row);
  }
  function line({ index, time, database: db, operations }) {
    let e = entries.get(index);
    if (!e) {
      entries.set(index, (e = { index, time, database: db, operations: [], row: h("li", {}) }));
      list.prepend(e.row);
    }
    e.operations.push(...operations.map((o) => ({ kind: done[o.kind] ?? o.kind, id: o.id })));
    draw(e);
    nothing.hidden = true;
    while (list.children.length > kept) { entries.delete(entries.keys().next().value); list.lastChild.remove(); }
  }
  const add = (e) => { if (held) { held.push(e); pause.textContent = `Resume (${held.length})`; if (held.length > kept) held.shift(); } else line(e); };
  pause.addEventListener("click", () => {
    const waiting = held;
    held = held ? null : [];
    pause.setAttribute("aria-pressed", held ? "true" : "false");
    pause.textContent = held ? "Resume" : "Pause";
    live.className = `pill ${held ? "warn" : "good"}`;
    live.textContent = held ? "‖ paused" : "● live";
    for (const e of waiting ?? []) line(e);
  });
  only.addEventListener("input", () => [...list.children].forEach(show));
  fill(page, h("h1", { class: "unseen" }, "Log"), h("div", { class: "ask row nowrap" }, only, live, pause), h("div", { class: "card" }, list, nothing),
    h("p", { class: "soft small" }, may("admin") ? "The newest 200 entries, and then those of this database as they are applied." : "The newest entries of this database, and those that are applied from now on."));
  let last = ""; // what happens from here until the events come is not missed
  if (may("admin")) for (const l of await lines("/v1/admin/log?limit=200")) { last = Math.max(last, l.index); line({ ...l, operations: l.operations ?? [] }); }
  else last = await get("/v1/cluster", signal).then((s) => Math.max(1, s.applied_index - 200), (e) => { if (e.status === 403) return ""; throw e; });
  events((kind, e) => { if (e.id !== undefined) add({ index: e.index, time: e.at, operations: [{ kind, id: e.id }] }); }, signal, last).catch((e) => { if (!signal.aborted) { live.className = "pill bad"; live.textContent = "▲ ended"; toast(e.message, true); } });
}
