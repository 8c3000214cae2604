// Gives the same operations to LangGraph's store in memory and to the one on a cluster, and compares what they answer.
// It runs where both packages are installed; the arguments are the cluster's addresses.
import assert from "node:assert/strict";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { Client, newKey } from "cairn-client";
import { CairnStore } from "cairn-client/langgraph";

const client = new Client({ endpoints: process.argv.slice(2) });
const usual = new CairnStore(client);
await usual.put(["usual"], "key", { value: 1 });
assert.deepEqual((await usual.get(["usual"], "key")).value, { value: 1 });
const stores = [new InMemoryStore(), new CairnStore(client, { namespace: newKey() })];

/** plain leaves out times, which differ, and the order of items, which LangGraph does not define. */
const plain = (v) => {
  if (Array.isArray(v)) return v.map(plain).sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
  if (v?.createdAt) {
    assert.ok(v.createdAt instanceof Date && v.updatedAt >= v.createdAt);
    return { namespace: v.namespace, key: v.key, value: v.value };
  }
  return v;
};

let compared = 0;
async function same(what, order = true) {
  const [want, got] = await Promise.all(
    stores.map((s) => what(s).then((v) => (order && Array.isArray(v) && Array.isArray(v[0]) ? v : plain(v)))),
  );
  assert.deepEqual(got, want, String(what));
  compared++;
}

await same((s) => s.get(["users", "ada"], "none"));
await same((s) => s.put(["users", "ada"], "prefs", { theme: "dark", size: 12, tags: ["a"], nested: { x: 1 } }));
await same((s) => s.put(["users", "ada"], "prefs", { theme: "light", size: 14 }));
await same((s) => s.get(["users", "ada"], "prefs"));
await same((s) => s.put(["users", "bob"], "a/b %.", { theme: "dark", size: 9, odd: "ü/½" }));
await same((s) => s.get(["users", "bob"], "a/b %."));
await same((s) => s.put(["users"], "bob", { theme: "blue" })); // a key where another item has a namespace
await same((s) =>
  s.put(["docs", "v1"], ".", { title: "Raft in one page", pages: [{ text: "a leader orders writes" }] }, [
    "title",
    "pages[*].text",
  ]),
);
await same((s) => s.put(["docs", "v2"], "hidden", { title: "secret" }, false));
console.log("kill"); // its caller kills the leader now
await same((s) => s.put(["users", "ada"], "after", { theme: "gone" }));
await same((s) => s.delete(["users", "ada"], "after"));
await same((s) => s.search(["users"]));
await same((s) => s.search([]));
await same((s) => s.search(["use"]));
for (const filter of [
  { theme: "dark" },
  { size: { $gte: 10 } },
  { size: { $gt: 9, $lt: 14 } },
  { theme: { $ne: "dark" } },
  { theme: { $in: ["blue", "light"] } },
  { theme: { $nin: ["blue"] } },
  { nested: { x: 1 } },
  {},
]) {
  await same((s) => s.search(["users"], { filter }));
}
await same(async (s) => (await s.search(["users"], { limit: 2 })).length);
await same(async (s) => (await s.search([], { offset: 3, limit: 10 })).length);
await same((s) => s.listNamespaces());
await same((s) => s.listNamespaces({ prefix: ["users"] }));
await same((s) => s.listNamespaces({ prefix: ["*", "bob"] }));
await same((s) => s.listNamespaces({ suffix: ["v1"] }));
await same((s) => s.listNamespaces({ maxDepth: 1 }));
await same((s) => s.listNamespaces({ offset: 1, limit: 2 }));
// LangGraph's JavaScript refuses a colon in a label and its Python does not, so a cluster may hold both of these.
const similar = [["a", "b"], ["a:b"]];
await stores[1].batch(similar.map((namespace) => ({ namespace, key: "k", value: {} })));
const listed = await stores[1].listNamespaces();
assert.deepEqual(listed.filter(([label]) => label[0] === "a").sort(), similar);
await stores[1].batch(similar.map((namespace) => ({ namespace, key: "k", value: null })));
await same((s) =>
  s
    .batch([
      { namespace: ["users", "ada"], key: "prefs", value: { theme: "first" } },
      { namespace: ["users", "ada"], key: "new", value: { theme: "new" } },
      { namespace: ["users", "ada"], key: "new" }, // it is not there yet
      { namespace: ["users", "ada"], key: "prefs", value: { theme: "last" } },
      { namespacePrefix: ["users"], filter: { theme: "last" } },
      { namespace: ["users", "bob"], key: "a/b %.", value: null },
    ])
    .then((all) => all.map(plain)),
);
await same((s) => s.get(["users", "ada"], "prefs"));
await same((s) => s.delete(["users", "bob"], "none"));
await same((s) => s.get(["users", "bob"], "a/b %."));
for (const bad of [[], ["a.b"], ["langgraph"], [""]]) {
  for (const s of stores) await assert.rejects(s.put(bad, "k", {}), { name: "InvalidNamespaceError" });
}
const created = (await stores[1].get(["users", "ada"], "prefs")).createdAt;
await stores[1].put(["users", "ada"], "prefs", { theme: "later" });
assert.deepEqual((await stores[1].get(["users", "ada"], "prefs")).createdAt, created);
const found = await stores[1].search(["docs"], { query: "who orders writes?", limit: 5 });
assert.deepEqual(
  found.map((i) => [i.key, i.score > 0]),
  [
    [".", true],
    ["hidden", false],
  ],
); // what is not searched follows
assert.equal(
  (await stores[1].search(["users"], { query: "who orders writes?" })).every((i) => i.score === undefined),
  true,
);
console.error(`${compared} answers are the same`);
