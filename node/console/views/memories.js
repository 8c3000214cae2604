import { get, post } from "/console/api.js";
import { asked as inAddress, keep } from "/console/address.js";
import { attempt, count, cut, day as date, empty, fill, folded, h, toast } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

const pageSize = 25, mostFound = 1000; // rows of a page; results of a recall
const orders = [["stored last", ""], ["created last", "created_at"], ["most important", "importance"], ["last recalled", "last_access"]];
const pause = 220; // milliseconds without a key before it asks

/** Memories, found while one types or page by page. The address keeps what is asked, so that it can be sent and gone back to. */
export async function memories(page, signal) {
  const asked = inAddress();
  const field = (name, label, props = {}) => h("input", { name, "aria-label": label, value: asked.get(name) ?? "", placeholder: "any", ...props });
  const query = field("q", "Search", { type: "search", placeholder: "Search in memories", class: "grow" });
  const sort = h("select", { name: "sort", "aria-label": "Order" }, ...orders.map(([t, v]) => h("option", { value: v, selected: v === (asked.get("sort") ?? "") }, t)));
  const inputs = [query, field("namespace", "Namespace"), field("memory_type", "Kind"), field("domain", "Domain"), field("source", "Source"), field("from", "Created from", { type: "date" }), field("to", "Created to", { type: "date" }), sort];
  const list = h("tbody", {}), table = h("table", { class: "stack" }, h("thead", {}, h("tr", {}, ...["Text", "Namespace", "Kind", "Importance", "Created"].map((t) => h("th", {}, t)))), list);
  const total = h("span", { class: "soft small grow", role: "status" }), nothing = h("div", {});
  const turn = (label, at) => h("button", { type: "button", onclick: attempt(() => go(at(), true)) }, label);
  const previous = turn("Previous", () => places.previous), next = turn("Next", () => places.next);
  let at = asked.get("at") ?? "", places = {}, flight = new AbortController(), typing;
  signal.addEventListener("abort", () => { flight.abort(); clearTimeout(typing); });

  /** go asks for the page at a place; what was asked before and is not answered yet is cancelled. */
  async function go(place, push = false) {
    clearTimeout(typing);
    flight.abort();
    const mine = (flight = new AbortController());
    at = place;
    const wanted = keep("memories", [...inputs.map((i) => [i.name, i.value.trim()]), ["at", at]], push);
    table.setAttribute("aria-busy", "true");
    sort.disabled = wanted.has("q"); // what is searched for comes best first
    try {
      const found = await (wanted.has("q") ? search : sort.value ? sorted : walk)(wanted, at, mine.signal);
      if (mine.signal.aborted) return;
      places = found;
      previous.disabled = found.previous === undefined;
      next.disabled = found.next === undefined;
      total.textContent = found.said;
      fill(list, ...found.rows.map((m) => row(m, () => go(at))));
      table.hidden = found.rows.length === 0;
      fill(nothing, found.rows.length === 0 && empty("There is nothing here.", wanted.size > 0 ? "Loosen the filters, or ask in other words." : "Remember something first."));
    } finally {
      if (!mine.signal.aborted) table.removeAttribute("aria-busy");
    }
  }
  const quietly = (place) => go(place).catch((e) => { if (e.name !== "AbortError") toast(e.message, true); });
  for (const i of inputs) i.addEventListener(i === sort ? "change" : "input", () => { clearTimeout(typing); typing = setTimeout(() => quietly(""), pause); });

  fill(page, h("h1", { class: "unseen" }, "Memories"), h("form", { class: "ask", role: "search", onsubmit: attempt(() => go("")) }, h("div", { class: "row" }, query),
    folded("Filters", ...inputs.slice(1).map((i) => h("label", {}, i.getAttribute("aria-label").toLowerCase(), i)))),
  h("div", { class: "row" }, total), table, nothing, h("nav", { class: "row pages", "aria-label": "Pages" }, previous, next));
  await go(at);
}

const filters = (wanted) => ["namespace", "memory_type", "domain", "source"].filter((k) => wanted.has(k)).map((k) => [k, wanted.get(k)]);
/** The beginning of a day here, and of the day after it. */
const day = (text, days = 0) => { const d = new Date(`${text}T00:00`); d.setDate(d.getDate() + days); return d.getTime() / 1000; };
const dates = (wanted) => [wanted.has("from") ? day(wanted.get("from")) : null, wanted.has("to") ? day(wanted.get("to"), 1) : null];

/** search asks a recall that strengthens nothing; its places are ranks. */
async function search(wanted, at, signal) {
  const from = Number(at) || 0, window = dates(wanted);
  const r = await post("/v1/recall", { ...Object.fromEntries(filters(wanted)), query: wanted.get("q"), top_k: Math.min(mostFound, from + pageSize + 1), skip_reinforce: true, time_window: window.some((d) => d !== null) ? window : undefined }, signal);
  const rows = r.results.slice(from, from + pageSize), more = r.results.length > from + pageSize;
  return { rows, previous: from > 0 ? String(Math.max(0, from - pageSize) || "") : undefined, next: more ? String(from + pageSize) : undefined,
    said: rows.length === 0 ? `None of ${count(r.considered, "memory", "memories")} looked at` : `${from + 1} to ${from + rows.length}${more ? "" : ` of ${r.results.length}`}, best first` };
}

const listed = (wanted, more) => {
  const [after, before] = dates(wanted);
  return new URLSearchParams([...filters(wanted), ...[["after", after], ["before", before]].filter(([, v]) => v !== null), ...Object.entries({ limit: pageSize, ...more })]);
};

/** walk goes through memories in the order of their ids; its places are ids, with a minus before one that a page ends before. */
async function walk(wanted, at, signal) {
  const back = at.startsWith("-"), since = back ? at.slice(1) : at;
  const r = await get(`/v1/records?${listed(wanted, { order: back ? "asc" : "desc", since_rid: since })}`, signal);
  const rows = back ? r.records.toReversed() : r.records;
  const newer = back ? r.next_cursor !== null : since !== "", older = back || r.next_cursor !== null;
  return { rows, previous: newer && rows.length > 0 ? `-${rows[0].rid}` : since === "" ? undefined : "", next: older && (rows.length > 0 || !back) ? (back ? rows.at(-1).rid : r.next_cursor) : undefined,
    said: `${count(rows.length, "memory", "memories")} on this page, stored last first` };
}

/** sorted pages through another order among the newest; its places are numbers of rows. */
async function sorted(wanted, at, signal) {
  const from = Number(at) || 0;
  const r = await get(`/v1/memories?${listed(wanted, { sort: wanted.get("sort"), offset: from, limit: pageSize + 1 })}`, signal);
  const rows = r.items.slice(0, pageSize);
  return { rows, previous: from > 0 ? String(Math.max(0, from - pageSize) || "") : undefined, next: r.items.length > pageSize ? String(from + pageSize) : undefined,
    said: rows.length === 0 ? "" : `${from + 1} to ${from + rows.length}` };
}

function row(m, changed) {
  const open = () => openMemory(m.rid, changed);
  return h("tr", { class: "click", onclick: open }, h("td", { class: "text" }, h("button", { type: "button", class: "link", onclick: (e) => { e.stopPropagation(); open(); } }, cut(m.text, 220) || "(no text)")), h("td", { class: "soft", "data-label": "namespace" }, m.namespace),
    h("td", { class: "soft", "data-label": "kind" }, m.memory_type), h("td", { class: "soft num", "data-label": "importance" }, m.importance.toFixed(2)), h("td", { class: "soft nobreak", "data-label": "created" }, date(m.created_at)));
}
