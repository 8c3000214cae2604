// Walks all methods of client.beta.memoryStores of Anthropic's own package. Its arguments are a node's address and a
// token. It prints "leader" when its caller should kill the leader, and waits for a line; at the end it prints "done".
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import Anthropic from "@anthropic-ai/sdk";

const [baseURL, apiKey] = process.argv.slice(2);
const client = new Anthropic({ baseURL, apiKey, maxRetries: 8 });
const strict = new Anthropic({ baseURL, apiKey, maxRetries: 0 }); // what is refused is not asked again
const { memoryStores } = client.beta;
const { memories, memoryVersions } = memoryStores;
const refuses = strict.beta.memoryStores;
const hash = (text) => createHash("sha256").update(text).digest("hex");
const all = async (pages) => {
  const rows = [];
  for await (const row of pages) rows.push(row);
  return rows;
};
const rejects = (promise, status, type, more = {}) =>
  assert.rejects(promise, (e) => {
    assert.equal(e.status, status, e.message);
    assert.equal(e.error.type, "error");
    assert.equal(e.error.error.type, type);
    assert.ok(e.error.error.message);
    for (const [k, v] of Object.entries(more)) assert.equal(e.error.error[k], v);
    return true;
  });

// Stores.
assert.deepEqual(await all(new Anthropic({ baseURL, apiKey }).beta.memoryStores.list()), []);
const store = await memoryStores.create({ name: "Support", description: "What customers told us.", metadata: { team: "support", tier: "1" } });
assert.match(store.id, /^memstore_/);
assert.equal(store.type, "memory_store");
assert.equal(store.archived_at, null);
assert.ok(Date.parse(store.created_at) > 0);
const store_id = { memory_store_id: store.id };
assert.deepEqual(await memoryStores.retrieve(store.id), store);
const changed = await memoryStores.update(store.id, { name: "Support 2", metadata: { tier: null, lang: "de" } });
assert.deepEqual(changed.metadata, { team: "support", lang: "de" });
assert.deepEqual([changed.name, changed.description, changed.created_at], ["Support 2", "What customers told us.", store.created_at]);
const others = [];
for (let i = 0; i < 5; i++) others.push(await memoryStores.create({ name: `other ${i}` }));
assert.deepEqual(
  (await all(memoryStores.list({ limit: 2 }))).map((s) => s.id),
  [store, ...others].map((s) => s.id),
);
assert.equal((await all(memoryStores.list({ "created_at[gte]": others[1].created_at, "created_at[lte]": others[3].created_at }))).length, 3);
const archived = await memoryStores.archive(others[0].id);
assert.ok(archived.archived_at);
assert.deepEqual(await memoryStores.archive(others[0].id), archived);
assert.equal((await all(memoryStores.list())).length, 5);
assert.equal((await all(memoryStores.list({ include_archived: true }))).length, 6);
await rejects(refuses.memories.create(others[0].id, { path: "/a", content: "x" }), 400, "invalid_request_error");
await rejects(refuses.update(others[0].id, { name: "x" }), 400, "invalid_request_error");
await rejects(refuses.create({ name: "" }), 400, "invalid_request_error");
await rejects(refuses.create({ name: "x", metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [i, ""])) }), 400, "invalid_request_error");
await rejects(refuses.retrieve("memstore_none"), 404, "not_found_error");
await rejects(new Anthropic({ baseURL, apiKey: "wrong", maxRetries: 0 }).beta.memoryStores.list(), 401, "authentication_error");

// Memories.
const ada = await memories.create(store.id, { path: "/customers/ada.md", content: "Ada pays by invoice. ü\n", view: "full" });
assert.match(ada.id, /^mem_/);
assert.deepEqual([ada.path, ada.content, ada.content_size_bytes, ada.content_sha256], ["/customers/ada.md", "Ada pays by invoice. ü\n", 24, hash("Ada pays by invoice. ü\n")]);
assert.equal((await memories.retrieve(ada.id, { ...store_id, view: "basic" })).content, null);
assert.deepEqual(await memories.retrieve(ada.id, store_id), ada);
const bob = await memories.create(store.id, { path: "/customers/bob.md", content: "" });
assert.deepEqual([bob.content, bob.content_size_bytes, bob.content_sha256], [null, 0, hash("")]);
await memories.create(store.id, { path: "/notes", content: "Be kind." });
const taken = { conflicting_memory_id: ada.id, conflicting_path: ada.path };
await rejects(refuses.memories.create(store.id, { path: ada.path, content: "x" }), 409, "memory_path_conflict_error", taken);
await rejects(refuses.memories.create(store.id, { path: ada.path + "/below", content: "x" }), 409, "memory_path_conflict_error", taken);
await rejects(refuses.memories.create(store.id, { path: "/customers", content: "x" }), 409, "memory_path_conflict_error", taken);
await rejects(refuses.memories.update(bob.id, { ...store_id, path: ada.path }), 409, "memory_path_conflict_error", taken);
for (const path of ["x", "/", "/a/../b", "/a//b", "/e\u0301", "/a\u0007"]) await rejects(refuses.memories.create(store.id, { path, content: "x" }), 400, "invalid_request_error");
await rejects(refuses.memories.create(store.id, { path: "/large", content: "x".repeat(102_401) }), 400, "invalid_request_error");

process.stdout.write("leader\n");
await once(process.stdin, "data");
const first = await memories.update(ada.id, { ...store_id, content: "Ada pays by card.", precondition: { type: "content_sha256", content_sha256: ada.content_sha256 } });
assert.equal(first.content_sha256, hash("Ada pays by card."));
assert.equal(first.created_at, ada.created_at);
const stale = { type: "content_sha256", content_sha256: ada.content_sha256 };
await rejects(refuses.memories.update(ada.id, { ...store_id, content: "Ada pays late.", precondition: stale }), 409, "memory_precondition_failed_error");
const again = await memories.update(ada.id, { ...store_id, content: "Ada pays by card.", precondition: stale }); // it is so already
assert.deepEqual(again, first);
const moved = await memories.update(ada.id, { ...store_id, path: "/archive/ada.md" });
assert.deepEqual([moved.id, moved.path, moved.content_sha256], [ada.id, "/archive/ada.md", first.content_sha256]);
const both = await memories.update(ada.id, { ...store_id, path: "/customers/ada.md", content: "Ada pays in cash.", view: "full" });
assert.deepEqual([both.id, both.path, both.content], [ada.id, "/customers/ada.md", "Ada pays in cash."]);
assert.equal((await memories.update(bob.id, { ...store_id, content: "Bob is new." })).content_size_bytes, 11);
assert.equal((await memories.update(bob.id, { ...store_id, content: "" })).content_size_bytes, 0);

assert.deepEqual((await all(memories.list(store.id, { limit: 2 }))).map((m) => m.path), ["/customers/ada.md", "/customers/bob.md", "/notes"]);
assert.deepEqual(
  (await all(memories.list(store.id, { depth: 1 }))).map((m) => [m.type, m.path]),
  [
    ["memory_prefix", "/customers/"],
    ["memory", "/notes"],
  ],
);
const below = await all(memories.list(store.id, { path_prefix: "/customers/", view: "full", limit: 1 }));
assert.deepEqual(below.map((m) => m.content), ["Ada pays in cash.", ""]);
assert.deepEqual(await all(memories.list(store.id, { path_prefix: "/custom/" })), []);
await rejects(refuses.memories.list(store.id, { path_prefix: "/customers" }), 400, "invalid_request_error");

// What every other client of the node finds.
const recall = await fetch(`${baseURL}/v1/recall`, {
  method: "POST",
  headers: { Authorization: `Bearer ${apiKey}`, "Content-Type": "application/json" },
  body: JSON.stringify({ query: "who pays in cash?", namespace: store.id, consistency: "linearizable" }),
});
assert.deepEqual((await recall.json()).results.map((r) => `mem_${r.rid}`), [ada.id]);

// Versions.
await rejects(refuses.memories.delete(bob.id, { ...store_id, expected_content_sha256: hash("x") }), 409, "memory_precondition_failed_error");
assert.deepEqual(await memories.delete(bob.id, { ...store_id, expected_content_sha256: hash("") }), { id: bob.id, type: "memory_deleted" });
await rejects(refuses.memories.retrieve(bob.id, store_id), 404, "not_found_error");
const ofAda = await all(memoryVersions.list(store.id, { memory_id: ada.id, view: "full", limit: 2 }));
assert.deepEqual(
  ofAda.map((v) => [v.operation, v.path, v.content]),
  [
    ["created", "/customers/ada.md", "Ada pays by invoice. ü\n"],
    ["modified", "/customers/ada.md", "Ada pays by card."],
    ["modified", "/archive/ada.md", "Ada pays by card."],
    ["modified", "/customers/ada.md", "Ada pays in cash."],
  ],
);
assert.equal(ofAda.at(-1).id, both.memory_version_id);
assert.equal(ofAda[0].id, ada.memory_version_id);
assert.deepEqual(await memoryVersions.retrieve(ofAda[1].id, store_id), ofAda[1]);
const [by] = new Set(ofAda.map((v) => v.created_by.api_key_id));
assert.ok(by && ofAda.every((v) => v.created_by.type === "api_actor" && v.created_by.api_key_id === by));
const ofBob = await all(memoryVersions.list(store.id, { memory_id: bob.id }));
assert.deepEqual(ofBob.map((v) => [v.operation, v.content_size_bytes]), [["created", 0], ["modified", 11], ["modified", 0], ["deleted", null]]);
const everything = await all(memoryVersions.list(store.id, { limit: 3 }));
assert.equal(everything.length, 9);
assert.equal(new Set(everything.map((v) => v.id)).size, 9);
assert.deepEqual((await all(memoryVersions.list(store.id, { operation: "deleted" }))).map((v) => v.memory_id), [bob.id]);
assert.equal((await all(memoryVersions.list(store.id, { api_key_id: by }))).length, 9);
assert.equal((await all(memoryVersions.list(store.id, { session_id: "sesn_1" }))).length, 0);
assert.equal((await all(memoryVersions.list(store.id, { "created_at[gte]": ofAda[1].created_at, memory_id: ada.id }))).length, 3);
await rejects(refuses.memoryVersions.retrieve("memver_none_0", store_id), 404, "not_found_error");

// What a version said is erased for good, and the memory stays as it is.
const redacted = await memoryVersions.redact(ofAda[0].id, store_id);
for (const v of [redacted, await memoryVersions.redact(ofAda[0].id, store_id), await memoryVersions.retrieve(ofAda[0].id, store_id)]) {
  assert.deepEqual([v.id, v.operation, v.path, v.content, v.content_sha256, v.content_size_bytes], [ofAda[0].id, "created", null, null, null, null]);
  assert.ok(Math.abs(Date.now() - Date.parse(v.redacted_at)) < 60_000);
}
assert.equal((await memories.retrieve(ada.id, store_id)).content, "Ada pays in cash.");
await rejects(refuses.memories.update(ada.id, { ...store_id, content: "Ada pays by invoice. ü\n" }), 409, "conflict_error");
await rejects(refuses.memoryVersions.redact(ofAda.at(-1).id, store_id), 409, "conflict_error");

// Clients that change one memory at the same time lose nothing: each decides again when another was faster.
const shared = await memories.create(store.id, { path: "/shared", content: "begin" });
await Promise.all(
  Array.from({ length: 8 }, async (_, i) => {
    for (;;) {
      const { content, content_sha256 } = await memories.retrieve(shared.id, { ...store_id }, { query: { consistency: "linearizable" } });
      const precondition = { type: "content_sha256", content_sha256 };
      const done = await refuses.memories.update(shared.id, { ...store_id, content: `${content} ${i}`, precondition }).catch((e) => {
        if (e.error?.error?.type !== "memory_precondition_failed_error") throw e;
      });
      if (done) return;
    }
  }),
);
const { content: writers } = await memories.retrieve(shared.id, store_id);
assert.equal(writers.split(" ").sort().join(" "), "0 1 2 3 4 5 6 7 begin");

assert.deepEqual(await memoryStores.delete(store.id), { id: store.id, type: "memory_store_deleted" });
await rejects(refuses.retrieve(store.id), 404, "not_found_error");
await rejects(refuses.memories.retrieve(ada.id, store_id), 404, "not_found_error");
await rejects(refuses.memoryVersions.list(store.id), 404, "not_found_error");
console.log("done");
process.exit(0);
