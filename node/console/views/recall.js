import { get, post } from "/console/api.js";
import { asked, keep } from "/console/address.js";
import { attempt, count, day, empty, fill, folded, h, percent, pill, submit, toast } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";
import { arithmetic, cutAway, why } from "/console/views/why.js";

const step = 8, usual = 0.3; // results of a screen; the least score in per cent

/** Ask, and see how each score came about. Before anything is asked, the newest memories are shown. The address keeps the question and the filters. */
export async function recall(page, signal) {
  const now = asked();
  const field = (name, label, props = {}) => h("input", { name, "aria-label": label, placeholder: "any", value: now.get(name) ?? "", ...props });
  const q = field("q", "Question", { type: "search", placeholder: "Ask a question", class: "grow", autofocus: true });
  const least = field("least", "Least score", { type: "number", min: 0, max: 100, step: "any", value: now.get("least") ?? usual, "data-usual": usual });
  const days = h("select", { name: "days", "aria-label": "Created" }, ...[["any time", ""], ["last day", 1], ["last week", 7], ["last month", 31]].map(([t, v]) => h("option", { value: v, selected: String(v) === (now.get("days") ?? "") }, t)));
  const ns = field("namespace", "Namespace"), kind = field("memory_type", "Kind"), domain = field("domain", "Domain"), everywhere = h("input", { type: "checkbox", name: "compare", checked: now.has("compare") });
  let shown = Number(now.get("k")) || step;
  const out = h("div", { "aria-live": "polite" });
  const filters = () => [[ns.name, ns.value.trim()], [kind.name, kind.value.trim()], [domain.name, domain.value.trim()]];
  let flight = new AbortController();
  signal.addEventListener("abort", () => flight.abort());

  /** ask shows the answer; what was asked before and is not answered yet is cancelled. */
  const ask = async (push = false) => {
    flight.abort();
    const mine = (flight = new AbortController()).signal;
    keep("recall", [["q", q.value.trim()], ...filters(), ["days", days.value], ["least", Number(least.value) === usual ? "" : least.value], ["compare", everywhere.checked ? 1 : ""], ["k", shown === step ? "" : shown]], push);
    const said = await (q.value.trim() ? answer : newest)(mine);
    if (!mine.aborted) fill(out, ...said);
  };
  const more = (there) => there && h("button", { type: "button", onclick: attempt(() => { shown += step; return ask(); }) }, `Show ${step} more`);
  const since = () => (days.value ? Date.now() / 1000 - 86400 * days.value : undefined);

  async function answer(signal) {
    const set = Object.fromEntries(filters().filter(([, v]) => v !== ""));
    const body = { ...set, query: q.value.trim(), top_k: shown, min_score: (Number(least.value) || 0) / 100, time_window: days.value ? [since(), Date.now() / 1000 + 60] : undefined, skip_reinforce: true, explain: true };
    const start = performance.now(), r = await post("/v1/recall", { ...body, top_k: shown + 1 }, signal), took = performance.now() - start;
    const same = everywhere.checked ? await post("/v1/recall/compare", body, signal) : null, rows = r.results.slice(0, shown), further = r.results.length > shown;
    const rest = h("div", {}), cut = h("button", { type: "button", class: "quiet", name: "cut", onclick: attempt(async () => { rest.replaceChildren(await cutAway(body, rows, signal)); }) }, "What was cut");
    if (rows.length === 0) return [empty("Nothing is known about that.", r.considered > 0 ? `Of ${count(r.considered, "memory", "memories")} looked at, none matches the question${r.below_min_score > 0 ? ` with a score of ${least.value} %` : ""}.` : "No memory that passes the filters shares a word with the question or is close in meaning."), h("div", { class: "row" }, cut), rest];
    return [h("p", { class: "soft small answer-head" }, `${further ? "Best " : ""}${count(rows.length, "memory", "memories")} of ${r.considered} looked at${r.below_min_score > 0 ? `, ${r.below_min_score} below the least score` : ""} · confidence ${percent(r.confidence)} · ${took.toFixed(0)} ms · as of entry ${r.index}`),
      r.hints.length > 0 && h("p", { class: "soft small" }, "To narrow this down: ", r.hints.map((x) => x.suggestion).join("; "), "."),
      same && comparison(same), h("div", { class: "results" }, ...rows.map((m, i) => result(m, i, () => ask()))), h("div", { class: "row" }, more(further), cut), rest];
  }
  async function newest(signal) {
    const wanted = new URLSearchParams([...filters(), ["after", since() ?? ""], ["order", "desc"], ["limit", shown]].filter(([, v]) => v !== ""));
    const [r, gaps] = await Promise.all([get(`/v1/records?${wanted}`, signal), asking(signal, (text) => { q.value = text; return ask(true); })]);
    return [h("h2", { class: "answer-head" }, "Newest memories"), r.records.length === 0 ? empty("There is nothing here yet.", "Remember something below, or loosen the filters.")
      : h("div", { class: "results" }, ...r.records.map((m, i) => result(m, i, () => ask()))), h("div", { class: "row" }, more(r.next_cursor !== null)), gaps];
  }

  const note = h("input", { name: "memory", placeholder: "A sentence that stands by itself: who, what, when", class: "grow", "aria-label": "New memory", required: true });
  const form = h("form", { class: "ask", role: "search", onsubmit: attempt(() => { shown = step; return ask(true); }) }, h("div", { class: "row nowrap" }, q, h("button", { class: "primary" }, "Recall")),
    folded("Filters", label("namespace", ns), label("kind", kind), label("domain", domain), label("created", days), label("least score, %", least), h("label", { class: "inline" }, everywhere, "compare nodes")));
  for (const i of [ns, kind, domain, days, least, everywhere]) i.addEventListener("change", attempt(() => ask()));
  fill(page, h("h1", { class: "unseen" }, "Recall"), form, out,
    h("form", { class: "card", onsubmit: attempt(async () => { await post("/v1/remember", { text: note.value, namespace: ns.value || undefined }); note.value = ""; toast("Remembered"); await ask(); }) },
      h("h2", {}, "Remember something"), h("div", { class: "row nowrap" }, note, submit("Remember", {}, "write"))));
  await ask();
}

const label = (name, input) => h("label", {}, name, input);

/** result shows a memory by its text; one that was found says why, and opens the sum of its score. */
function result(m, i, again) {
  const sum = h("div", { class: "why", hidden: true });
  const score = m.score !== undefined && h("button", { type: "button", class: "quiet score", "aria-expanded": "false", "aria-label": `${percent(m.score)}: how memory ${i + 1} got its score`, onclick: (e) => {
    sum.hidden = !sum.hidden;
    e.currentTarget.setAttribute("aria-expanded", String(!sum.hidden));
    if (sum.children.length === 0) fill(sum, arithmetic(m));
  } }, percent(m.score), " ▾");
  return h("article", { class: "result" }, h("div", { class: "grow" }, h("button", { type: "button", class: "link text", onclick: () => openMemory(m.rid, again) }, m.text || "(no text)"),
    h("p", { class: "soft small" }, [...(m.why_retrieved ? why(m) : []), day(m.created_at), m.namespace, m.memory_type, m.emotional_state].filter(Boolean).join(" · "))), score, sum);
}

/** verdict compares the answers that came: a node that is down or behind is no node that answers otherwise. */
function verdict({ equal, nodes }) {
  if (equal) return pill("good", "● equal");
  const [first, ...others] = nodes.filter((n) => !n.error);
  if (others.every((n) => n.digest === first.digest)) return pill("warn", "▲ not every node answered");
  return pill("warn", others.every((n) => n.index === first.index) ? "▲ not equal" : "▲ not equal, as of different entries");
}

function comparison(c) {
  return h("div", { class: "card" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "Every node's answer"), verdict(c)),
    h("table", {}, h("thead", {}, h("tr", {}, ...["Node", "As of entry", "Results", "Answer"].map((t) => h("th", {}, t)))),
      h("tbody", {}, ...c.nodes.map((n) => h("tr", {}, h("td", {}, n.node_id), h("td", { class: "num" }, n.index ?? "–"), h("td", { class: "num" }, n.error ? "–" : n.total), h("td", { class: "mono" }, n.error ?? n.digest))))));
}

/** asking lists what others asked in vain. */
async function asking(signal, ask) {
  const { gaps } = await get("/v1/insights/gaps?limit=8", signal).catch(() => ({ gaps: [] }));
  return gaps.length > 0 && h("div", { class: "card" }, h("h2", {}, "Asked often, answered badly"), h("div", { class: "chips" }, ...gaps.map((g) =>
    h("button", { type: "button", class: "chip", onclick: attempt(() => ask(g.query)), title: `asked ${g.count} times, best score ${percent(g.avg_top_score)}` }, g.query, h("span", { class: "soft" }, ` ×${g.count}`)))));
}
