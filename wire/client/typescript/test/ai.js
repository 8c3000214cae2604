// Has a model of the AI SDK call the tools, and calls it through the middleware. The arguments are the cluster's
// addresses.
import assert from "node:assert/strict";
import { generateText, simulateReadableStream, stepCountIs, streamText, wrapLanguageModel } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { Client, newKey } from "cairn-client";
import { cairnMiddleware, cairnTools } from "cairn-client/ai";

const client = new Client({ endpoints: process.argv.slice(2) }),
  namespace = newKey();
const usage = { inputTokens: { total: 0 }, outputTokens: { total: 0 } };
const answer = (content, unified) => ({ content, finishReason: { unified, raw: unified }, usage, warnings: [] });
const say = (text) => answer([{ type: "text", text }], "stop");
const call = (toolName, input) =>
  answer([{ type: "tool-call", toolCallId: newKey(), toolName, input: JSON.stringify(input) }], "tool-calls");

/** use has a model call one tool and returns what the tool answered. */
async function use(tools, name, input) {
  const model = new MockLanguageModelV3({ doGenerate: [call(name, input), say("done")] });
  const { text, steps } = await generateText({ model, tools, prompt: "go on", stopWhen: stepCountIs(3) });
  assert.equal(text, "done");
  const [result] = steps[0].content.filter((part) => part.type === "tool-result" || part.type === "tool-error");
  return result.output ?? result.error;
}

const tools = cairnTools({ client, namespace }),
  elsewhere = cairnTools({ client, namespace: newKey() });
const { id } = await use(tools, "remember", { text: "Ada prefers tea to coffee.", importance: 0.9 });
await use(elsewhere, "remember", { text: "Bob prefers coffee to tea." });
const found = await use(tools, "recall", { query: "what does Ada drink, tea?" });
assert.deepEqual(
  found.map((m) => [m.id, m.text]),
  [[id, "Ada prefers tea to coffee."]],
);
assert.match(await use(tools, "context", { query: "tea or coffee?" }), /Ada prefers tea/);
assert.equal(await use(elsewhere, "context", { query: "quantum chromodynamics" }), "nothing is known");
assert.deepEqual(await use(elsewhere, "forget", { id }), { forgotten: false }); // it is in another namespace
assert.match((await use(tools, "remember", { text: " " })).message, /blank/);
const everywhere = await use(cairnTools({ client }), "recall", { query: "what does Ada drink, tea?", limit: 50 });
assert.ok(everywhere.some((m) => m.id === id)); // without a namespace: all of the database
const usual = wrapLanguageModel({ model: new MockLanguageModelV3({ doGenerate: say("Tea.") }), middleware: cairnMiddleware({ client }) });
assert.equal((await generateText({ model: usual, prompt: "what does Ada drink, tea?" })).text, "Tea.");
console.log("kill"); // its caller kills the leader now
assert.deepEqual(await use(tools, "forget", { id, reason: "she drinks water now" }), { forgotten: true });
assert.deepEqual(await use(tools, "recall", { query: "what does Ada drink, tea?" }), []);

const turns = newKey(),
  seen = [];
const echo = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    seen.push(prompt.at(-1).content.map((part) => part.text));
    return say("Noted: the release is on Friday.");
  },
  doStream: async ({ prompt }) => {
    seen.push(prompt.at(-1).content.map((part) => part.text));
    const chunks = [
      { type: "text-start", id: "t" },
      ...["On ", "Friday, as you said."].map((delta) => ({ type: "text-delta", id: "t", delta })),
      { type: "text-end", id: "t" },
      { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage },
    ];
    return { stream: simulateReadableStream({ chunks }) };
  },
});
const wrap = (options) =>
  wrapLanguageModel({ model: echo, middleware: cairnMiddleware({ client, namespace: turns, ...options }) });
const said = "The release of the ledger is on Friday.";
assert.match((await generateText({ model: wrap(), prompt: said })).text, /^Noted/);
assert.deepEqual(seen.pop(), [said]); // nothing was known
const asked = "When is the release of the ledger?";
const streamed = streamText({ model: wrap({ maxTokens: 200 }), prompt: asked });
assert.equal(await streamed.text, "On Friday, as you said.");
const [block, question] = seen.pop();
assert.match(block, /never instructions[^]*release of the ledger is on Friday/);
assert.equal(question, asked);
const { results } = await client.recall({ query: "", namespace: turns, top_k: 10, min_index: client.index });
assert.deepEqual(
  results.map((m) => `${m.source}: ${m.text}`).sort(),
  ["assistant: Noted: the release is on Friday.", "assistant: On Friday, as you said.", `user: ${said}`, `user: ${asked}`],
); // what the middleware added was not stored
await generateText({ model: wrap({ store: false }), prompt: asked });
assert.equal((await client.count({ namespace: turns, min_index: client.index })).count, 4);

const broken = new Client({ endpoints: process.argv.slice(2), token: "wrong" }),
  failures = [];
await assert.rejects(generateText({ model: wrap({ client: broken }), prompt: asked, maxRetries: 0 }));
await generateText({ model: wrap({ client: broken, onError: (e) => failures.push(e.status) }), prompt: asked });
assert.deepEqual(failures, [401, 401]); // neither read nor stored
console.error("the tools and the middleware answer as they should");
