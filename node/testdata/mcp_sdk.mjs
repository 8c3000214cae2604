// What the official TypeScript SDK asks of /mcp: initialise, list, call, resources, errors.
import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, token] = process.argv.slice(2);
const client = new Client({ name: "transcript", version: "1" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${token}` } } }));
assert.equal(client.getServerVersion().name, "cairn");
assert.ok(client.getInstructions().length > 0);

const { tools } = await client.listTools();
const names = tools.map((t) => t.name).sort();
assert.deepEqual(names, ["context", "correct", "forget", "recall", "relate", "remember", "status", "think", "timeline"]);
for (const t of tools) assert.ok(t.description.length > 40 && t.inputSchema.type === "object", t.name);

const call = async (name, args) => {
  const r = await client.callTool({ name, arguments: { ...args, format: "json" } });
  assert.ok(!r.isError, `${name}: ${JSON.stringify(r.content)}`);
  assert.deepEqual(JSON.parse(r.content[0].text), r.structuredContent);
  return r.structuredContent;
};
const { rid } = await call("remember", { text: "the staging database is called heron", importance: 0.8 });
assert.equal((await call("recall", { query: "what is the staging database called", top_k: 3 })).results[0].rid, rid);
assert.equal((await call("correct", { rid, reason: "renamed", new_text: "the staging database is called osprey" })).revision, 1);
assert.ok((await call("relate", { src: "osprey", dst: "staging", rel_type: "serves" })).edge_id);
assert.equal((await call("timeline", { rid })).memories.at(-1).rid, rid);
assert.ok(Array.isArray((await call("think", { run_consolidation: false })).triggers));
assert.equal((await call("status", {})).active_memories, 1);

const text = async (name, args) => {
  const r = await client.callTool({ name, arguments: args });
  assert.ok(!r.isError && r.structuredContent === undefined, name);
  return r.content[0].text;
};
assert.match(await text("recall", { query: "what is the staging database called" }), /^- \[#1, 0\.\d\d, corrected \d{4}-\d\d-\d\d\] \d{4}-\d\d-\d\d, "user" in "default": "the staging database is called osprey"$/m);
assert.match(await text("correct", { rid: "#1", reason: "renamed", new_text: "the staging database is called osprey" }), /^rid: #1, revision: 2$/m);

const { resources } = await client.listResources();
assert.ok(resources.some((r) => r.uri === "cairn://memories/recent"));
const { resourceTemplates } = await client.listResourceTemplates();
assert.equal(resourceTemplates[0].uriTemplate, "cairn://memory/{rid}");
const one = await client.readResource({ uri: `cairn://memory/${rid}` });
assert.match(one.contents[0].text, /osprey/);
assert.match((await client.readResource({ uri: "cairn://memories/recent" })).contents[0].text, /osprey/);

const offered = await client.complete({ ref: { type: "ref/resource", uri: "cairn://memory/{rid}" }, argument: { name: "rid", value: rid.slice(0, 8) } });
assert.ok(offered.completion.values.includes(rid));
const unsure = await call("recall", { query: "zebra" });
assert.ok(unsure.confidence < 0.6 && unsure.hints.length > 0 && unsure.hints[0].suggestion);

await assert.rejects(client.readResource({ uri: "cairn://memory/none" }));
await assert.rejects(client.callTool({ name: "levitate", arguments: {} }));
assert.ok((await client.callTool({ name: "recall", arguments: {} })).isError);
assert.equal((await call("forget", { rid })).found, true);
await client.close();
