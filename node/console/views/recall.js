import { get, post } from "/console/api.js";
import { attempt, button, count, empty, fill, h, pill, submit, toast, when } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";
import { cutAway, scoreBars, whyChips } from "/console/views/why.js";

/** Ask, and see how each score came about. */
export async function recall(page, signal, first) {
  const q = h("input", { type: "search", name: "query", placeholder: "What do you want to know?", class: "grow", "aria-label": "Question", autofocus: true, value: first });
  const k = h("input", { type: "number", min: 1, max: 200, value: 10, "aria-label": "How many" }), least = h("input", { type: "number", min: 0, max: 1, step: "any", value: 0.003, "aria-label": "Least score" });
  const ns = h("input", { placeholder: "any", "aria-label": "Namespace" }), kind = h("input", { placeholder: "any", "aria-label": "Kind" }), domain = h("input", { placeholder: "any", "aria-label": "Domain" });
  const days = h("select", { "aria-label": "Since" }, ...[["any time", ""], ["last day", 1], ["last week", 7], ["last month", 31]].map(([t, v]) => h("option", { value: v }, t)));
  const everywhere = h("input", { type: "checkbox", name: "compare" });
  const out = h("div", { "aria-live": "polite" });
  const note = h("input", { name: "memory", placeholder: "A sentence that stands by itself: who, what, when", class: "grow", "aria-label": "New memory", required: true });
  const ask = async (e) => {
    e?.preventDefault();
    if (!q.value.trim()) return fill(out, await gaps(signal, (text) => { q.value = text; return ask(); }));
    const now = Date.now() / 1000;
    const body = { query: q.value, top_k: Number(k.value) || 10, min_score: Number(least.value) || 0, namespace: ns.value, memory_type: kind.value || undefined, domain: domain.value || undefined,
      time_window: days.value ? [now - 86400 * days.value, now + 60] : undefined, explain: true };
    const start = performance.now();
    const r = await post("/v1/recall", body, signal);
    const took = performance.now() - start;
    const same = everywhere.checked ? await post("/v1/recall/compare", body, signal) : null;
    const rest = h("div", {}, button("What was cut", { name: "cut" }, async () => { rest.replaceChildren(await cutAway(body, r.results, signal)); }));
    const top = Math.max(1, ...r.results.map((m) => m.score));
    fill(out, h("div", { class: "row answer-head" }, h("span", { class: "soft small grow" }, `${count(r.total, "memory", "memories")} of ${r.considered} looked at${r.below_min_score > 0 ? `, ${r.below_min_score} below the least score` : ""}, in ${took.toFixed(0)} ms · as of entry ${r.index}`),
      h("span", { class: "soft small" }, "confidence"), meter(r.confidence)),
    r.hints.length > 0 && r.results.length > 0 && h("p", { class: "soft small" }, "To narrow this down: ", r.hints.map((x) => x.suggestion).join("; "), "."),
    same && comparison(same), ...r.results.map((m, i) => result(m, i, top, () => ask())), r.total === 0 && empty("Nothing is known about that.",
      r.considered > 0 ? `Of ${count(r.considered, "memory", "memories")} looked at, none matches the question${r.below_min_score > 0 ? ` with a score of ${least.value}` : ""}.` : "No memory that passes the filters shares a word with the question or is close in meaning."), rest);
  };
  fill(page, h("h1", {}, "Recall"),
    h("form", { class: "card", onsubmit: attempt(ask) }, h("div", { class: "row nowrap" }, q, h("button", { class: "primary" }, "Recall")),
      h("div", { class: "filters" }, field("results", k), field("least score", least), field("namespace", ns), field("kind", kind), field("domain", domain), field("created", days), h("label", { class: "inline" }, everywhere, "compare nodes"))),
    out,
    h("form", { class: "card", onsubmit: attempt(async () => { await post("/v1/remember", { text: note.value, namespace: ns.value }); note.value = ""; toast("Remembered"); }) },
      h("h2", {}, "Remember something"), h("div", { class: "row nowrap" }, note, submit("Remember", {}, "write"))));
  await ask();
}

const field = (name, input) => h("label", {}, name, input);

function meter(v) {
  const m = h("span", { class: "meter", role: "meter", "aria-valuenow": v.toFixed(2), "aria-valuemin": 0, "aria-valuemax": 1, "aria-label": "confidence", title: v.toFixed(2) }, h("i", { class: v >= 0.5 ? "c0" : "c1" }));
  m.firstChild.style.width = `${100 * v}%`;
  return m;
}

function result(m, i, top, again) {
  return h("article", { class: "card result" },
    h("div", { class: "row nowrap top" }, h("span", { class: "rank soft" }, i + 1), h("div", { class: "grow" },
      h("p", { class: "text" }, m.text),
      h("div", { class: "soft small" }, `${when(m.created_at)} · ${m.namespace} · ${m.memory_type}${m.emotional_state ? ` · ${m.emotional_state}` : ""}`)),
    h("button", { type: "button", onclick: () => openMemory(m.rid, again), "aria-label": `Open memory ${i + 1}` }, "Open")),
    ...scoreBars(m, top),
    whyChips(m));
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
