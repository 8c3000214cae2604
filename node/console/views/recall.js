import { get, post } from "/console/api.js";
import { attempt, bar, count, empty, fill, h, pill, submit, toast, when } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

/** Ask, and see how each score came about. */
export async function recall(page, signal, first) {
  const q = h("input", { type: "search", name: "query", placeholder: "What do you want to know?", class: "grow", "aria-label": "Question", autofocus: true, value: first });
  const k = h("input", { type: "number", min: 1, max: 200, value: 10, "aria-label": "How many" });
  const ns = h("input", { placeholder: "any", "aria-label": "Namespace" }), kind = h("input", { placeholder: "any", "aria-label": "Kind" }), domain = h("input", { placeholder: "any", "aria-label": "Domain" });
  const days = h("select", { "aria-label": "Since" }, ...[["any time", ""], ["last day", 1], ["last week", 7], ["last month", 31]].map(([t, v]) => h("option", { value: v }, t)));
  const everywhere = h("input", { type: "checkbox", name: "compare" });
  const out = h("div", { "aria-live": "polite" });
  const note = h("input", { name: "memory", placeholder: "A sentence that stands by itself: who, what, when", class: "grow", "aria-label": "New memory", required: true });
  const ask = async (e) => {
    e?.preventDefault();
    if (!q.value.trim()) return fill(out, await gaps(signal, (text) => { q.value = text; return ask(); }));
    const now = Date.now() / 1000;
    const body = { query: q.value, top_k: Number(k.value) || 10, namespace: ns.value, memory_type: kind.value || undefined, domain: domain.value || undefined,
      time_window: days.value ? [now - 86400 * days.value, now + 60] : undefined, explain: true };
    const start = performance.now();
    const r = await post("/v1/recall", body, signal);
    const took = performance.now() - start;
    const same = everywhere.checked ? await post("/v1/recall/compare", body, signal) : null;
    const top = Math.max(1, ...r.results.map((m) => m.score));
    fill(out, h("div", { class: "row answer-head" }, h("span", { class: "soft small grow" }, `${count(r.total, "memory", "memories")} in ${took.toFixed(0)} ms · as of entry ${r.index}`),
      h("span", { class: "soft small" }, "confidence"), meter(r.confidence)),
    r.hints.length > 0 && r.results.length > 0 && h("p", { class: "soft small" }, "To narrow this down: ", r.hints.map((x) => x.suggestion).join("; "), "."),
    same && comparison(same), ...r.results.map((m, i) => result(m, i, top, () => ask())), r.total === 0 && empty("Nothing is known about that.",
      r.considered > 0 ? `Of ${count(r.considered, "memory", "memories")} looked at, none matches the question.` : "No memory that passes the filters has a word of it or is like it."));
  };
  fill(page, h("h1", {}, "Recall"),
    h("form", { class: "card", onsubmit: attempt(ask) }, h("div", { class: "row nowrap" }, q, h("button", { class: "primary" }, "Recall")),
      h("div", { class: "filters" }, field("results", k), field("namespace", ns), field("kind", kind), field("domain", domain), field("created", days), h("label", { class: "inline" }, everywhere, "compare nodes"))),
    out,
    h("form", { class: "card", onsubmit: attempt(async () => { await post("/v1/remember", { text: note.value, namespace: ns.value }); note.value = ""; toast("Remembered"); }) },
      h("h2", {}, "Remember something"), h("div", { class: "row nowrap" }, note, submit("Remember", {}, "write"))));
  await ask();
}

const field = (name, input) => h("label", {}, name, input);

function meter(v) {
  const m = h("span", { class: "meter", role: "meter", "aria-valuenow": v.toFixed(2), "aria-valuemin": 0, "aria-valuemax": 1, "aria-label": "confidence", title: v.toFixed(2) }, h("i", { class: v >= 0.6 ? "c0" : "c1" }));
  m.firstChild.style.width = `${100 * v}%`;
  return m;
}

// One colour a signal, the same on every row.
const colours = { words: 0, passage: 1, around: 4, session: 5, vector: 2, graph: 3 };

function result(m, i, top, again) {
  const parts = Object.entries(m.scores ?? {}).filter(([, v]) => v > 0.0005);
  const factors = Object.entries(m.factors ?? {}).filter(([, v]) => Math.abs(v - 1) > 0.005);
  return h("article", { class: "card result" },
    h("div", { class: "row nowrap top" }, h("span", { class: "rank soft" }, i + 1), h("div", { class: "grow" },
      h("p", { class: "text" }, m.text),
      h("div", { class: "soft small" }, `${when(m.created_at)} · ${m.namespace} · ${m.memory_type}${m.emotional_state ? ` · ${m.emotional_state}` : ""}`)),
    h("button", { type: "button", onclick: () => openMemory(m.rid, again), "aria-label": `Open memory ${i + 1}` }, "Open")),
    h("div", { class: "scoreline" }, h("b", { class: "num" }, m.score.toFixed(3)), bar(parts.length ? parts.map(([n, v]) => [n, v, colours[n]]) : [["score", m.score, 5]], top)),
    h("div", { class: "legend" }, ...parts.map(([n, v]) => h("span", {}, h("i", { class: `c${colours[n]}` }), `${n} ${v.toFixed(2)}`)), ...factors.map(([n, v]) => h("span", { class: "factor" }, `${n} ×${v.toFixed(2)}`))),
    h("div", { class: "chips" }, ...m.why_retrieved.map((w) => pill("", w))));
}

function comparison(c) {
  return h("div", { class: "card" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "Every node's answer"), pill(c.equal ? "good" : "warn", c.equal ? "● equal" : "▲ not equal")),
    h("table", {}, h("thead", {}, h("tr", {}, ...["Node", "As of entry", "Results", "Answer"].map((t) => h("th", {}, t)))),
      h("tbody", {}, ...c.nodes.map((n) => h("tr", {}, h("td", {}, n.node_id), h("td", { class: "num" }, n.index ?? "–"), h("td", { class: "num" }, n.total ?? "–"), h("td", { class: "mono" }, n.error ?? n.digest))))));
}

/** What stands there before anything is asked: what others asked in vain. */
async function gaps(signal, ask) {
  const { gaps: list } = await get("/v1/insights/gaps?limit=8", signal).catch(() => ({ gaps: [] }));
  if (list.length === 0) return empty("Ask in your own words.", "Answers come by words, meaning, relation and time, with what each brought to the score.");
  return h("div", { class: "card" }, h("h2", {}, "Asked often, answered badly"), h("div", { class: "chips" }, ...list.map((g) =>
    h("button", { type: "button", class: "chip", onclick: attempt(() => ask(g.query)), title: `asked ${g.count} times, best score ${g.avg_top_score.toFixed(2)}` }, g.query, h("span", { class: "soft" }, ` ×${g.count}`)))));
}
