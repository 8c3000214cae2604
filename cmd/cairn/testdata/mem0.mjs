// Drives a node with mem0's own client, from npm and unmodified:
//
//	node mem0.mjs HOST KEY
//
// It prints "leader" and waits for a line before it goes on: whoever runs it kills the leader meanwhile.
import assert from "node:assert/strict";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import MemoryClient from "mem0ai";

const [host, apiKey] = process.argv.slice(2);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const client = new MemoryClient({ apiKey, host });
await client.ping();
assert.equal(client.organizationId, "cairn");
assert.equal(client.projectId, "default");

// A failed write may be repeated: these are told apart by their text.
async function patiently(f) {
	for (let tries = 0; ; tries++) {
		try {
			return await f();
		} catch (e) {
			if (tries === 30 || !/NetworkError/.test(e.name)) throw e;
			await delay(500);
		}
	}
}
const refused = (name, f) => assert.rejects(f, (e) => e.name === name || (console.error(e), false));
const texts = (list) => list.map((m) => m.memory).sort();

// add, with and without inference; metadata of all kinds comes back as it was.
const metadata = { topic: "food", priority: 2, done: false, tags: ["a", "b"], nested: { deep: [1, { x: null }] }, none: null, big: 9007199254740993 };
const added = await client.add([{ role: "system", content: "Be brief." }, { role: "user", content: "I am a vegetarian and allergic to nuts." }, { role: "assistant", content: "Noted: no nuts." }],
	{ userId: "alice", metadata, infer: true });
assert.equal(added.status, "SUCCEEDED");
assert.match(added.message, /infers nothing/);
assert.equal(added.results.length, 2);
const id = added.results[0].id;
assert.deepEqual(added.results[0].data, { memory: "I am a vegetarian and allergic to nuts." });
const work = await client.add([{ role: "user", content: "Alice leads the payments team." }], { userId: "alice", agentId: "helper", runId: "run-1", infer: false, metadata: { topic: "work", priority: 5 } });
await client.add([{ role: "user", content: "Bob is a vegetarian too." }], { userId: "bob", appId: "shop", metadata: { topic: "Food" } });
await client.add([{ role: "user", content: "An old note of Alice." }], { userId: "alice", timestamp: 1700000000 });

// get
const got = await client.get(id);
assert.equal(got.memory, "I am a vegetarian and allergic to nuts.");
assert.equal(got.userId, "alice");
assert.deepEqual(got.metadata, metadata);
assert.equal(got.expirationDate, null);
await refused("MemoryNotFoundError", () => client.get("0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"));

// getAll: pages and filters
const all = await client.getAll({ filters: { user_id: "alice" } });
assert.equal(all.count, 4);
assert.equal(all.next, null);
assert.equal(all.results.length, 4);
assert.ok(all.results.some((m) => m.createdAt.startsWith("2023-11-14")));
const first = await client.getAll({ filters: { user_id: "alice" }, page: 1, pageSize: 3 });
const second = await client.getAll({ filters: { user_id: "alice" }, page: 2, pageSize: 3 });
assert.equal(second.next, null);
assert.ok(first.next && second.previous);
assert.deepEqual(texts([...first.results, ...second.results]), texts(all.results));
for (const [filters, want] of [
	[{ AND: [{ user_id: "alice" }, { topic: "work" }] }, 1],
	[{ AND: [{ user_id: "alice" }, { NOT: [{ topic: "work" }] }] }, 3],
	[{ OR: [{ user_id: "bob" }, { agent_id: "helper" }] }, 2],
	[{ user_id: "*" }, 5],
	[{ user_id: { in: ["alice", "bob"] }, priority: { gte: 2, lt: 5 } }, 2],
	[{ AND: [{ user_id: "*" }, { topic: { icontains: "FOO" } }] }, 3],
	[{ user_id: "alice", metadata: { topic: "food" } }, 2],
	[{ user_id: "alice", tags: { contains: "b" } }, 2],
	[{ user_id: "alice", created_at: { lt: "2024-01-01" } }, 1],
	[{ user_id: "alice", updated_at: { gte: "2025-01-01T00:00:00" } }, 4],
	[{ run_id: "run-1" }, 1],
	[{ app_id: "shop" }, 1],
	[{ user_id: "nobody" }, 0],
]) {
	assert.equal((await client.getAll({ filters })).count, want, JSON.stringify(filters));
}
assert.equal((await client.getAll({ filters: { user_id: "alice" }, endDate: "2024-01-01" })).count, 1);
await refused("ValidationError", () => client.getAll({ filters: { topic: "food" } }));
await refused("ValidationError", () => client.getAll({ filters: { user_id: "alice", topic: { like: "f" } } }));
await refused("ValidationError", () => client.add([{ role: "user", content: "Nobody's." }]));

// search: only this user's, best first
const found = await client.search("Who is a vegetarian?", { filters: { user_id: "alice" }, topK: 5 });
assert.equal(found.results[0].id, id);
assert.ok(found.results[0].score > 0 && found.results[0].score <= 1);
assert.deepEqual(Object.keys(found.results[0].scoreBreakdown).sort(), ["bm25", "entity", "semantic"]);
assert.ok(found.results.every((m) => m.userId === "alice"));
assert.equal((await client.search("Who is a vegetarian?", { filters: { user_id: "*" }, threshold: 1.1 })).results.length, 0);
assert.deepEqual(Object.keys((await client.search("vegetarian", { filters: { user_id: "bob" }, fields: ["memory"] })).results[0]).sort(), ["id", "memory"]);

console.log("leader");
await lines.next();

// The next leader takes the writes of this node.
await patiently(() => client.add([{ role: "user", content: "Stored while a leader was elected." }], { userId: "carol" }));
const updated = await patiently(() => client.update(id, { text: "I am a vegan.", metadata: { topic: "food", strict: true } }));
assert.equal(updated.memory, "I am a vegan.");
assert.deepEqual(updated.metadata, { topic: "food", strict: true });
assert.equal(updated.userId, "alice");
const tomorrow = new Date(Date.now() + 86400000).toISOString().slice(0, 10);
assert.equal((await client.update(id, { expirationDate: tomorrow })).expirationDate, tomorrow);
assert.equal((await client.update(id, { expirationDate: null })).expirationDate, null);
await refused("ValidationError", () => client.update(id, { expirationDate: "2001-01-01" }));
await refused("ValidationError", () => client.update(id, { timestamp: 1700000000 }));

const history = await client.history(id);
assert.deepEqual(history.map((h) => h.event), ["ADD", "UPDATE", "UPDATE", "UPDATE"]);
assert.deepEqual([history[0].oldMemory, history[0].newMemory, history[1].newMemory], [null, "I am a vegetarian and allergic to nuts.", "I am a vegan."]);
assert.equal(history[1].memoryId, id);

// batches
const other = added.results[1].id;
await client.batchUpdate([{ memoryId: id, text: "Alice is a vegan." }, { memoryId: other, text: "Nuts are off." }]);
assert.equal((await client.get(other)).memory, "Nuts are off.");
await refused("MemoryNotFoundError", () => client.batchDelete([other, "none"]));
assert.equal((await client.get(other)).memory, "Nuts are off.");
await client.batchDelete([other]);
await refused("MemoryNotFoundError", () => client.get(other));
assert.equal((await client.history(other)).at(-1).event, "DELETE");

// immutable
const fixed = (await client.add([{ role: "user", content: "Never to be changed." }], { userId: "dora", immutable: true })).results[0].id;
await refused("ValidationError", () => client.update(fixed, { text: "Changed." }));
await client.delete(fixed);

// users and deleting them
const users = await client.users();
assert.deepEqual(users.results.filter((u) => u.type === "user").map((u) => [u.name, u.totalMemories]), [["alice", 3], ["bob", 1], ["carol", 1]]);
assert.equal(users.count, users.results.length);
assert.equal((await client.users({ page: 2, pageSize: 2 })).results.length, 2);
await client.deleteUsers({ userId: "bob" });
assert.equal((await client.getAll({ filters: { user_id: "bob" } })).count, 0);
await assert.rejects(() => client.deleteUsers({ userId: "nobody" }), /nobody/);
await client.delete(work.results[0].id);
await client.deleteAll({ userId: "alice" });
assert.equal((await client.getAll({ filters: { user_id: "alice" } })).count, 0);
assert.equal((await client.getAll({ filters: { user_id: "*" } })).count, 1);

// The rest is served as far as there is something, or says what is not there.
assert.deepEqual((await client.getProject({ fields: ["custom_instructions"] })).customInstructions, null);
assert.deepEqual(await client.getWebhooks(), []);
assert.equal((await client.getProfile({ entityId: "carol" })).status, "not_enabled");
assert.equal((await client.getProfileSettings()).enabled, false);
for (const f of [
	() => client.updateProject({ customInstructions: "x" }),
	() => client.createWebhook({ name: "x", url: "http://localhost", eventTypes: ["memory_add"] }),
	() => client.createMemoryExport({ schema: {}, filters: { user_id: "carol" } }),
	() => client.generateProfile({ entityId: "carol" }),
	() => client.feedback({ memoryId: id, feedback: "POSITIVE" }),
]) {
	await assert.rejects(f, (e) => e.errorCode === "HTTP_501" && JSON.parse(e.message).detail.length > 20);
}
await refused("AuthenticationError", () => new MemoryClient({ apiKey: "ydb_wrong", host }).get(id));
await client.deleteUsers();
assert.equal((await client.users()).count, 0);
console.log("done");
process.exit(0);
