import { post } from "/console/api.js";
import { attempt, bar, count, fill, h, percent, pill, submit } from "/console/dom.js";

// One colour a signal, the same in every list.
const signals = { words: ["same words", 0], passage: ["words said around it", 1], around: ["neighbours that match", 4], session: ["same conversation", 3], vector: ["similar meaning", 2], graph: ["relations", 3], worth: ["freshness and importance", 5] };
const reasons = { keyword_match: "same words", context_match: "next to a match", session_match: "same conversation", speaker_match: "said by the person you name", date_match: "the date you name", time_match: "holds a time", "matched query": "", fts_sourced: "" };
const deep = 1000; // results among which a memory is looked for

/** reason says a reason of the index in words; blank for one that says nothing to people. */
const reason = (w) => reasons[w] ?? w.replace(/^semantically similar.*/, "similar meaning").replace(/^important \(.*/, "important").replace(/^graph-connected via (.*)/, "related to $1").replace(/^superseded by .*/, "superseded by a newer memory").replace(/^perhaps outdated by .*/, "perhaps outdated: a newer memory is about the same");

/** why lists a result's reasons, in words. */
export const why = (m) => m.why_retrieved.map(reason).filter(Boolean);

/** tenths rounds parts to tenths so that they add up to the rounded sum: what rounding leaves goes to the parts that lost most by it. */
function tenths(parts, sum) {
  const floor = parts.map((v) => Math.floor(v * 1000)), order = parts.map((v, i) => [v * 1000 - floor[i], i]).sort((a, b) => b[0] - a[0]);
  const left = Math.round(sum * 1000) - floor.reduce((a, b) => a + b, 0);
  for (let i = 0; i < left; i++) floor[order[i % order.length][1]]++;
  return floor.map((n) => n / 10);
}

/** arithmetic shows how a result's score comes about: the part that each signal brought, and their sum. Signals that brought nothing are left out. */
export function arithmetic(m) {
  const parts = Object.entries(m.scores ?? {}).filter(([, v]) => v !== 0), said = tenths(parts.map(([, v]) => v), m.score);
  if (parts.length === 0) return h("p", { class: "soft small" }, "It has no score: nothing of it was compared with the question.");
  const most = Math.max(m.score, ...parts.map(([, v]) => v));
  return h("div", {}, h("ul", { class: "sum" }, ...parts.map(([n, v], i) => [signals[n], v, said[i]]).filter(([, , n]) => n !== 0).map(([[name, colour], v, n]) =>
    h("li", {}, h("span", {}, name), bar([[name, v, colour]], most), h("b", {}, `${n < 0 ? "−" : "+"} ${Math.abs(n).toFixed(1)}`))),
  h("li", { class: "total" }, h("span", {}, "score"), h("span", { class: "soft" }, "the probability that it answers"), h("b", {}, `= ${percent(m.score)}`))),
  m.reranked && h("p", { class: "soft small" }, `The reranker moved it here from place ${m.reranked.place}; a score belongs to its place.`));
}

/** reasonLine is a line that says why a result was found. */
export const reasonLine = (m) => h("p", { class: "soft small" }, why(m).join(" · "));

/** cutAway is what a recall left out behind its last row: for want of places, and for want of score. */
export async function cutAway(body, shown, signal) {
  const all = await post("/v1/recall", { ...body, top_k: Math.min(deep, shown.length + 20), min_score: 0, skip_reinforce: true, explain: true }, signal);
  const seen = new Set(shown.map((m) => m.rid)), out = all.results.filter((m) => !seen.has(m.rid));
  return h("details", { class: "card", open: true }, h("summary", {}, "What was cut"), h("p", { class: "soft small" }, `${count(all.considered, "memory", "memories")} passed the filters and were looked at. `, out.length === 0 ? "No other memory matches." : "The next ones:"),
    ...out.map((m) => h("div", { class: "cutrow" }, h("div", { class: "row nowrap top" }, h("p", { class: "text grow" }, h("a", { href: `#memory/${encodeURIComponent(m.rid)}` }, m.text)), pill("warn", body.min_score > m.score ? `below ${percent(body.min_score)}` : `place ${all.results.indexOf(m) + 1}`)), arithmetic(m))));
}

/** whyNot asks how one memory does with a question: at which place and by what, or what kept it out. */
export function whyNot(m, signal) {
  const q = h("input", { type: "search", name: "why", placeholder: "A question, to see where this memory comes", "aria-label": "Question for this memory", class: "grow", required: true }), out = h("div", { "aria-live": "polite" });
  const ask = async () => {
    const body = { query: q.value, min_score: 0, skip_reinforce: true, explain: true };
    const [r, within] = await Promise.all([post("/v1/recall", { ...body, top_k: deep, include_consolidated: true }, signal), post("/v1/recall", { ...body, top_k: 10 }, signal)]);
    const place = r.results.findIndex((x) => x.rid === m.rid), best = r.results[0], last = within.results.at(-1);
    const other = (said, o) => h("div", { class: "cutrow" }, h("p", { class: "soft small" }, `${said}: “${o.text}”`), arithmetic(o));
    if (place < 0) return fill(out, h("p", {}, pill("bad", "not found"), " ", absent(m, r)), best && other(`The best of ${count(r.results.length, "match", "matches")}`, best));
    const hit = r.results[place], inside = within.results.some((x) => x.rid === m.rid);
    fill(out, h("p", {}, pill(inside ? "good" : "warn", `place ${place + 1} of ${r.results.length}`), " ", inside ? "A recall of ten returns it." : m.consolidation_status === "consolidated" ? "It was merged: only a recall that includes merged memories returns it." : "A recall of ten cuts it."),
      reasonLine(hit), arithmetic(hit), !inside && last && other("The last of the ten", last), place > 0 && other("The best", best));
  };
  return h("form", { class: "card", onsubmit: attempt(ask) }, h("h2", {}, "Why this, why not"), h("div", { class: "row nowrap" }, q, submit("Explain", {})), out);
}

/** absent says why a memory is not among the results. */
function absent(m, r) {
  if (m.consolidation_status === "tombstoned") return `It was forgotten${m.tombstone_reason ? ` (${m.tombstone_reason})` : ""}: no recall returns it.`;
  if (r.results.length >= deep) return `It is not among the best ${deep.toLocaleString()}.`;
  return `None of its words, its vector and its relations match the question well enough. ${count(r.considered, "memory", "memories")} were looked at, ${r.results.length} matched.`;
}
