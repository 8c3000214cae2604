import { may } from "/console/api.js";
import { attempt, fill, h } from "/console/dom.js";

const namespace = "tutorial";

// The six steps. Each is a request that runs on this node; what it needs of the steps before is in seen.
const steps = [
  { title: "Remember", operation: "remember", values: () => ({ text: "Ada drinks green tea in the morning", namespace, source: "user", importance: 0.7 }),
    look: (a) => `The memory has the id ${a.rid}. The answer came when a majority of the nodes had it on disk; log_index ${a.log_index} is its position in the log.` },
  { title: "Recall", operation: "recall", values: () => ({ query: "What does Ada drink?", namespace, explain: true }), needs: "remember",
    look: (a) => (a.results.length > 0 ? `why_retrieved says why “${a.results[0].text}” was found, and scores how its ${a.results[0].score.toFixed(2)} came about: by words, by meaning and by relation.` : "Nothing was found: the memory of step 1 is missing from this database.") },
  { title: "Relate", operation: "relate", values: () => ({ entity: "Ada", relationship: "works_with", target: "Grace" }),
    look: () => "A relation joins two names. Recall follows it: a question about Grace now finds what is known of Ada as well." },
  { title: "Correct", operation: "correct", values: (seen) => ({ rid: seen.remember?.rid, new_text: "Ada drinks black coffee in the morning", reason: "she changed her mind" }), needs: "remember",
    look: () => "The text has changed, and nothing is lost: the earlier text is kept, with the reason." },
  { title: "History", operation: "revisions", values: (seen) => ({ rid: seen.remember?.rid }), needs: "remember",
    look: (a) => `${a.revisions.length} earlier version${a.revisions.length === 1 ? "" : "s"}: each says until when it held, and why it was changed.` },
  { title: "Forget", operation: "forget", values: (seen) => ({ rid: seen.remember?.rid, reason: "the tutorial is over" }), needs: "remember",
    look: () => "Recall and lists leave it out from now on. It can be read by its id until it is purged. Type the id when you are asked: a request that removes something asks for its name." },
];

/** tutorial goes through six requests; open puts one into the form and returns what runs it. */
export function tutorial(open) {
  const seen = {}, say = h("div", { "aria-live": "polite" }), list = h("ol", { class: "steps" });
  const buttons = steps.map((s, i) => h("button", { type: "button", disabled: !may("read"), "aria-label": `Step ${i + 1}: ${s.title}`, onclick: attempt(() => start(i)) }, h("b", {}, i + 1), ` ${s.title}`));
  fill(list, ...buttons.map((b) => h("li", {}, b)));
  const start = async (i) => {
    const s = steps[i];
    if (s.needs && !seen[s.needs]) throw new Error("Run step 1 first: this step works on its memory.");
    buttons.forEach((b, n) => { if (n === i) b.setAttribute("aria-current", "step"); else b.removeAttribute("aria-current"); });
    const run = open(s.operation, s.values(seen));
    const note = h("p", { class: "look", "data-step": i + 1 });
    fill(say, h("div", { class: "row" }, h("p", { class: "grow" }, `Step ${i + 1} of ${steps.length}: the form below is filled in. Run it, or change it first.`), h("button", { type: "button", class: "primary", onclick: attempt(async () => {
      const answer = await run();
      if (answer === null || answer === undefined) return;
      seen[s.operation] = answer;
      buttons[i].classList.add("done");
      note.textContent = s.look(answer);
    }) }, `Run step ${i + 1}`)), note);
  };
  return h("details", { class: "card tutorial" }, h("summary", {}, "Tutorial in six steps"), h("p", { class: "soft" }, `Real requests on this node, in the namespace ${namespace}.`), list, say);
}
