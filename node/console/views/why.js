import { post } from "/console/api.js";
import { attempt, bar, count, fill, h, pill, submit } from "/console/dom.js";

// One colour a signal, the same on every row.
const colours = { words: 0, passage: 1, around: 4, session: 5, vector: 2, graph: 3, worth: 5 };
const names = { words: "same words", passage: "said around it", around: "matches around it", session: "same conversation", vector: "likeness", graph: "relations", worth: "freshness and importance" };
const reasons = { keyword_match: "same words", context_match: "beside a match", session_match: "same conversation", speaker_match: "said by whom you name", date_match: "the date you name", time_match: "holds a time", "matched query": "", fts_sourced: "" };
const deep = 1000; // results among which a memory is looked for

/** whyChips are a result's reasons, in words. */
export const whyChips = (m) => h("div", { class: "chips" }, ...m.why_retrieved.map((w) => reasons[w] ?? w).filter(Boolean).map((w) => pill("", w)));

/** scoreBars is what a result's score is made of: its signals' shares as a bar. top is the score that fills the bar. */
export function scoreBars(m, top) {
  const parts = Object.entries(m.scores ?? {}).filter(([, v]) => v > 0.0005);
  return [h("div", { class: "scoreline" }, h("b", { class: "num" }, m.score.toFixed(3)), bar(parts.length ? parts.map(([n, v]) => [names[n], v, colours[n]]) : [["score", m.score, 5]], top)),
    h("div", { class: "legend" }, ...parts.map(([n, v]) => h("span", {}, h("i", { class: `c${colours[n]}` }), `${names[n]} ${v.toFixed(2)}`)),
      m.reranked && h("span", { class: "factor" }, `reranked from place ${m.reranked.place}`))];
}

/** cutAway is what a recall left out behind its last row: for want of places, and for want of score. */
export async function cutAway(body, shown, signal) {
  const all = await post("/v1/recall", { ...body, top_k: Math.min(deep, shown.length + 20), min_score: 0, skip_reinforce: true, explain: true }, signal);
  const seen = new Set(shown.map((m) => m.rid)), top = Math.max(1, ...all.results.map((m) => m.score));
  const out = all.results.filter((m) => !seen.has(m.rid));
  return h("details", { class: "card", open: true }, h("summary", {}, "What was cut"), h("p", { class: "soft small" }, `${count(all.considered, "memory", "memories")} passed the filters and were looked at. `, out.length === 0 ? "No other memory matches." : "The next ones:"),
    ...out.map((m) => h("div", { class: "cutrow" }, h("div", { class: "row nowrap top" }, h("p", { class: "text grow" }, h("a", { href: `#memory/${encodeURIComponent(m.rid)}` }, m.text)), pill("warn", body.min_score > m.score ? `below ${body.min_score}` : `place ${all.results.indexOf(m) + 1}`)), ...scoreBars(m, top))));
}

/** whyNot asks how one memory does with a question: at which place and by what, or what kept it out. */
export function whyNot(m, signal) {
  const q = h("input", { type: "search", name: "why", placeholder: "A question, to see where this memory comes", "aria-label": "Question for this memory", class: "grow", required: true }), out = h("div", { "aria-live": "polite" });
  const ask = async () => {
    const body = { query: q.value, min_score: 0, skip_reinforce: true, explain: true };
    const [r, within] = await Promise.all([post("/v1/recall", { ...body, top_k: deep, include_consolidated: true }, signal), post("/v1/recall", { ...body, top_k: 10 }, signal)]);
    const place = r.results.findIndex((x) => x.rid === m.rid), best = r.results[0], last = within.results.at(-1);
    if (place < 0) return fill(out, h("p", {}, pill("bad", "not found"), " ", absent(m, r)), best && h("p", { class: "soft small" }, `The best of ${count(r.results.length, "match", "matches")}: “${best.text}”`), best && h("div", {}, ...scoreBars(best, Math.max(1, best.score))));
    const hit = r.results[place], top = Math.max(1, best.score), inside = within.results.some((x) => x.rid === m.rid);
    fill(out, h("p", {}, pill(inside ? "good" : "warn", `place ${place + 1} of ${r.results.length}`), " ", inside ? "A recall of ten returns it." : m.consolidation_status === "consolidated" ? "It was merged: only a recall that includes merged memories returns it." : "A recall of ten cuts it."),
      h("div", {}, ...scoreBars(hit, top)), whyChips(hit),
      !inside && last && h("div", {}, h("p", { class: "soft small" }, `The last of the ten: “${last.text}”`), ...scoreBars(last, top)),
      place > 0 && h("div", {}, h("p", { class: "soft small" }, `The best: “${best.text}”`), ...scoreBars(best, top)));
  };
  return h("form", { class: "card", onsubmit: attempt(ask) }, h("h2", {}, "Why this, why not"), h("div", { class: "row nowrap" }, q, submit("Explain", {})), out);
}

/** absent says why a memory is not among the results. */
function absent(m, r) {
  if (m.consolidation_status === "tombstoned") return `It was forgotten${m.tombstone_reason ? ` (${m.tombstone_reason})` : ""}: no recall returns it.`;
  if (r.results.length >= deep) return `It is not among the best ${deep.toLocaleString()}.`;
  return `None of its words, its vector and its relations match the question well enough. ${count(r.considered, "memory", "memories")} were looked at, ${r.results.length} matched.`;
}
