import { post } from "/console/api.js";
import { bar, fill, h, toast, when } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";

/** Ask, and see how each score came about. */
export async function recall(main) {
  const q = h("input", { type: "search", name: "query", placeholder: "What do you want to know?", class: "grow", "aria-label": "Question" });
  const k = h("input", { type: "number", min: 1, max: 200, value: 10, "aria-label": "How many" });
  const ns = h("input", { placeholder: "namespace", "aria-label": "Namespace" }), kind = h("input", { placeholder: "kind", "aria-label": "Kind" });
  const everywhere = h("input", { type: "checkbox", name: "compare" });
  const out = h("div", { "aria-live": "polite" });
  const note = h("input", { name: "memory", placeholder: "Something worth remembering", class: "grow", "aria-label": "New memory" });
  const ask = async (e) => {
    e?.preventDefault();
    const body = { query: q.value, top_k: Number(k.value) || 10, namespace: ns.value, memory_type: kind.value || undefined, explain: true };
    try {
      const start = performance.now();
      const r = await post("/v1/recall", body);
      const took = performance.now() - start;
      const same = everywhere.checked ? await post("/v1/recall/compare", body) : null;
      fill(out, h("p", { class: "soft small" }, `${r.total} memories in ${took.toFixed(0)} ms · entry ${r.index} · confidence ${r.confidence.toFixed(2)}`), same && comparison(same),
        ...r.results.map((m) => result(m, ask)), r.total === 0 && h("p", { class: "soft" }, "Nothing is known about that."));
    } catch (err) { toast(err.message); }
  };
  fill(main, h("h1", {}, "Recall"),
    h("form", { class: "card", onsubmit: ask }, h("div", { class: "row" }, q, h("button", { class: "primary" }, "Recall")),
      h("div", { class: "row" }, h("label", { class: "inline" }, "results", k), ns, kind, h("label", { class: "inline" }, everywhere, "compare nodes"))),
    h("form", { class: "card", onsubmit: async (e) => {
      e.preventDefault();
      try { await post("/v1/remember", { text: note.value, namespace: ns.value }); note.value = ""; toast("Remembered"); } catch (err) { toast(err.leader ? `${err.message}. Open ${err.leader}` : err.message); }
    } }, h("div", { class: "row" }, note, h("button", {}, "Remember"))), out);
  q.focus();
}

function result(m, again) {
  const parts = Object.entries(m.scores ?? {}).filter(([, v]) => v > 0);
  return h("article", { class: "card result" },
    h("div", { class: "row" }, h("span", { class: "pill brand" }, m.score.toFixed(3)), ...m.why_retrieved.map((w) => h("span", { class: "pill" }, w)), h("span", { class: "soft small" }, `${when(m.created_at)} · ${m.namespace}`)),
    h("p", { class: "text" }, m.text),
    bar(parts.length ? parts : [["score", m.score]], Math.max(1, m.score)),
    parts.length > 0 && h("div", { class: "legend" }, ...parts.map(([n, v], i) => h("span", {}, h("i", { class: `c${i % 6}` }), `${n} ${v.toFixed(2)}`)),
      ...Object.entries(m.factors ?? {}).map(([n, v]) => h("span", {}, `${n} ×${v.toFixed(2)}`))),
    h("button", { type: "button", onclick: () => openMemory(m.rid, again) }, "Open"));
}

function comparison(c) {
  return h("div", { class: "card" }, h("div", { class: "row" }, h("h2", { class: "grow" }, "Every node's answer"), h("span", { class: `pill ${c.equal ? "good" : "warn"}` }, c.equal ? "● equal" : "▲ not equal")),
    h("table", {}, h("thead", {}, h("tr", {}, ...["Node", "Entry", "Results", "Answer"].map((t) => h("th", {}, t)))),
      h("tbody", {}, ...c.nodes.map((n) => h("tr", {}, h("td", {}, n.node_id), h("td", {}, n.index ?? "–"), h("td", {}, n.total ?? "–"), h("td", { class: "mono" }, n.error ?? n.digest))))));
}
