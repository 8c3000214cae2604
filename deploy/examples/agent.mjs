// @ts-check
// An agent that remembers: before it answers it asks for what is known, and afterwards it keeps what it was told.
//
//   npm install ./wire/client/typescript
//   CAIRN_TOKEN_FILE=cairn-data/token node deploy/examples/agent.mjs http://127.0.0.1:7438
//
// The model is a function here, so that the example needs no key; put a call of yours in its place.
import { Client } from "cairn-client";

const cairn = new Client({ endpoints: process.argv.slice(2) }); // more addresses are more nodes to ask
const namespace = "examples/agent";

/** @param {string} known @param {string} question */
const model = async (known, question) =>
  known.includes("vegetarian") ? `${question} A mushroom risotto.` : `${question} A steak.`;

/** @param {string} question */
async function answer(question) {
  const { context } = await cairn.context({ query: question, max_tokens: 500, namespaces: [namespace], min_index: cairn.index || undefined });
  return model(context, question); // the block quotes its memories, so that nothing in them reads as an instruction
}

const told = await cairn.remember({ text: "Ada is vegetarian.", namespace, importance: 0.9, attributes: { user: "ada" } });
console.log(await answer("What should Ada eat?"));

// What changes is corrected, not told twice: the older text stays in the history.
await cairn.correct({ rid: told.rid, new_text: "Ada is vegetarian and allergic to nuts.", reason: "she told us", expected_revision: 0 });
const { results } = await cairn.recall({ query: "what must Ada not eat?", namespace, filter: { user: "ada" }, min_index: cairn.index });
console.log(results[0].text);

await cairn.forget({ rid: told.rid, reason: "Ada asked us to" });
console.log(`${(await cairn.count({ namespace, min_index: cairn.index })).count} memories are left`);
