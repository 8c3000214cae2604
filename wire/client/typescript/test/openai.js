// Gives the same calls to the Agents SDK's session in memory and to the one on a cluster, and compares what they answer,
// runs an agent on it, and has two processes change one session. The arguments are the cluster's addresses.
import assert from "node:assert/strict";
import { Agent, MemorySession, Runner, isSessionHistoryTransactionAwareSession } from "@openai/agents-core";
import { Client, newKey } from "cairn-client";
import { CairnSession } from "cairn-client/openai";

const writes = []; // what was sent that may change something
const client = new Client({
    endpoints: process.argv.slice(2),
    fetch: (url, request) => {
      if (request.method === "POST") writes.push(new URL(url).pathname);
      return fetch(url, request);
    },
  }),
  mine = new CairnSession(client);
const sessions = [new MemorySession(), mine];
const user = (content) => ({ type: "message", role: "user", content });
let compared = 0;

/** same compares answers, and that both refuse. */
async function same(call) {
  const [want, got] = await Promise.all(
    sessions.map((s) =>
      Promise.resolve()
        .then(() => call(s))
        .catch(() => "refused"),
    ),
  );
  assert.deepEqual(got, want, String(call));
  compared++;
}

assert.ok(isSessionHistoryTransactionAwareSession(mine));
const ada = new CairnSession(client, { sessionId: "ada" });
await ada.clearSession();
await ada.addItems([user("hello")]);
assert.deepEqual(await ada.getItems(), [user("hello")]);
await same((s) => s.getItems());
await same((s) => s.popItem());
await same((s) =>
  s.addItems([
    user("one"),
    user("zwei ü ½"),
    { type: "function_call", callId: "c", name: "f", arguments: '{"a":1}', status: "completed" },
  ]),
);
await same((s) => s.addItems([]));
for (const limit of [undefined, 0, 1, 2, 10]) await same((s) => s.getItems(limit));
await same((s) => s.popItem());
await same((s) => s.getItems());
const append = {
  operationId: "first / 1",
  transaction: { type: "append_items", items: [user("three"), user("four")] },
};
await same((s) => s.applyHistoryTransaction(append));
await same((s) => s.applyHistoryTransaction(append)); // again: nothing more
await same((s) =>
  s.applyHistoryTransaction({ ...append, transaction: { type: "append_items", items: [user("other")] } }),
);
await same((s) => s.applyHistoryTransaction({ operationId: " ", transaction: append.transaction }));
await same((s) => s.applyHistoryTransaction({ operationId: "x", transaction: { type: "drop_all" } }));
const replace = (operationId, ...expectedSuffix) => ({
  operationId,
  transaction: { type: "replace_suffix", expectedSuffix, replacement: [user("summary")] },
});
await same((s) => s.applyHistoryTransaction(replace("second", user("three"))));
writes.length = 0;
await same((s) =>
  s.applyHistoryTransaction(replace("second", { content: "three", role: "user", type: "message" }, user("four"))),
);
assert.deepEqual(writes, ["/v1/batch"]); // the items, their number and the operation's id are one entry of the log
await same((s) => s.getItems());
await same((s) => s.applyHistoryTransaction(replace("third", ...Array(9).fill(user("one")))));
await same((s) => s.clearSession());
await same((s) => s.getItems());
await same((s) => s.applyHistoryTransaction(append)); // cleared with the history
await same((s) => s.getItems());

const others = [1, 2, 3].map(
  () => new CairnSession(new Client({ endpoints: process.argv.slice(2) }), { sessionId: "shared" }),
);
await others[0].clearSession();
console.log("kill"); // its caller kills the leader now
await Promise.all(
  others.flatMap((s, i) => Array.from({ length: 5 }, (_, n) => s.addItems([user(`${i}.${n} a`), user(`${i}.${n} b`)]))),
);
await client.put({ key: "/caught/up", text: newKey() }); // so that what it reads has what the others wrote
const texts = (await new CairnSession(client, { sessionId: "shared" }).getItems()).map((i) => i.content);
assert.equal(new Set(texts).size, 30);
for (let i = 0; i < 30; i += 2) assert.equal(texts[i].slice(0, -1), texts[i + 1].slice(0, -1)); // what was added together is together

class Echo {
  // a model that answers how many items it was given
  async getResponse({ input }) {
    return {
      usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0, requests: 1, add() {} },
      output: [
        {
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: `${input.length} items` }],
        },
      ],
    };
  }
}
const runner = new Runner({ model: new Echo(), tracingDisabled: true }),
  agent = new Agent({ name: "echo", model: new Echo() });
const session = new CairnSession(client);
assert.equal((await runner.run(agent, "hello", { session })).finalOutput, "1 items");
assert.equal(
  (await runner.run(agent, "again", { session: new CairnSession(client, { sessionId: await session.getSessionId() }) }))
    .finalOutput,
  "3 items",
);
console.error(`${compared} answers are the same`);
