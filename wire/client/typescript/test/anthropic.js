// Gives the same commands to the memory tool of Anthropic's SDK on local files and to the one on a cluster, and compares
// the texts that a model reads; then agents on several clients change one file. The arguments are the cluster's addresses.
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BetaLocalFilesystemMemoryTool, betaMemoryTool } from "@anthropic-ai/sdk/tools/memory/node";
import { Client, newKey } from "cairn-client";
import { CairnMemory } from "cairn-client/anthropic";

const client = new Client({ endpoints: process.argv.slice(2) });
const folder = await mkdtemp(join(tmpdir(), "cairn-memory-"));
const tools = [await BetaLocalFilesystemMemoryTool.init(folder), new CairnMemory(client, { namespace: newKey() })].map(
  (m) => betaMemoryTool(m),
);
const run = (tool, command) =>
  Promise.resolve()
    .then(() => tool.run(command))
    .catch((e) => `${e.code?.startsWith("E") ? "system error" : e.message}`);

/** plain leaves out the size of a folder, which depends on the file system. */
const plain = (text) => text.replaceAll(/^\S+\t(\S*\/|\/memories(?:\/d)?)$/gm, "folder\t$1");

const usual = betaMemoryTool(new CairnMemory(client));
await run(usual, { command: "delete", path: "/memories/usual" });
assert.match(await run(usual, { command: "create", path: "/memories/usual", file_text: "x" }), /^File created/);

let compared = 0;
async function same(command, fields) {
  const [want, got] = await Promise.all(tools.map((t) => run(t, { command, ...fields })));
  if (want === "system error") assert.match(got, /^The /, `${command} ${JSON.stringify(fields)}`);
  else assert.equal(plain(got), plain(want));
  compared++;
}

const view = (path, view_range) => same("view", { path, ...(view_range && { view_range }) });
const create = (path, file_text) => same("create", { path, file_text });
const replace = (path, old_str, new_str) => same("str_replace", { path, old_str, new_str });
const insert = (path, insert_line, insert_text) => same("insert", { path, insert_line, insert_text });
const rename = (old_path, new_path) => same("rename", { old_path, new_path });
const remove = (path) => same("delete", { path });

await view("/memories");
await view("/memories/a.txt");
await create("/memories/a.txt", "one\ntwo\nthree\nfour\nfive\nsix\n");
await create("/memories/a.txt", "again");
await create("/memories/empty", "");
await create("/memories/blank", " \n\n");
await create("/memories/twelve bytes", "(blank file)");
await create("/memories/ünï/½", "zwei");
await create("/memories/d/e/f/g.md", "x".repeat(1536));
await create("/memories/d/.hidden", "not listed");
await create("/memories/d/node_modules/x", "not listed");
await create("/memories/d", "a folder");
await create("/memories", "the root");
await create("/memories/a.txt/below", "a file is above");
for (const path of ["/memories", "/memories/", "/memories/d", "/memories/d/", "/memories/d/e/f", "/memories/a.txt/b"])
  await view(path);
for (const path of ["/memories/a.txt", "/memories/empty", "/memories/blank", "/memories/./d/../a.txt", "/memories//a.txt"])
  await view(path);
for (const range of [[2, 3], [5, -1], [0, 1], [3, 2], [1, 99], [99, 100]]) await view("/memories/a.txt", range);
for (const path of ["/elsewhere", "memories", "/memories/../x", "/memories/../../x", "/memories/d/../../x", ""])
  for (const command of [view, (p) => create(p, "x"), (p) => replace(p, "a", "b"), (p) => insert(p, 0, "b"), remove])
    await command(path);
await replace("/memories/a.txt", "three", "$& drei");
await replace("/memories/a.txt", "e", "E");
await replace("/memories/a.txt", "none of it", "x");
await replace("/memories/a.txt", "one\ntwo", "a text of two lines is not found");
await replace("/memories/a.txt", "six", "");
await replace("/memories/none", "a", "b");
await replace("/memories/d", "a", "b");
await replace("/memories", "a", "b");
await replace("/memories/twelve bytes", "(blank file)", "");
await view("/memories/twelve bytes");
await view("/memories");
for (const at of [0, 3, 8, 9, -1]) await insert("/memories/a.txt", at, `at ${at}\n`);
await insert("/memories/empty", 0, "no longer");
await insert("/memories/d", 0, "x");
await insert("/memories/none", 0, "x");
await view("/memories/a.txt");
await view("/memories/empty");
await rename("/memories/a.txt", "/memories/d/a.txt");
await rename("/memories/none", "/memories/other");
await rename("/memories/empty", "/memories/d/a.txt");
await rename("/memories/empty", "/memories/d");
await rename("/memories/empty", "/memories/empty");
await rename("/memories", "/memories/x");
await rename("/memories/d", "/memories/d/below");
await rename("/memories/empty", "/elsewhere");
await rename("/memories/empty", "/memories/blank/below");
await rename("/memories/d", "/memories/moved");
await view("/memories");
await view("/memories/moved/e/f/g.md");
await remove("/memories");
await remove("/memories/none");
await remove("/memories/moved/e");
await remove("/memories/blank");
await view("/memories");
await remove("/memories/moved");
await remove("/memories/moved");
await view("/memories/moved");
await rm(folder, { recursive: true });

const agents = [1, 2, 3].map(
  () => new CairnMemory(new Client({ endpoints: process.argv.slice(2) }), { namespace: "shared" }),
);
await agents[0].delete({ path: "/memories/log" }).catch(() => {});
await agents[0].create({ path: "/memories/log", file_text: "begin" });
console.log("kill"); // its caller kills the leader now
const lines = agents.flatMap((agent, i) => Array.from({ length: 8 }, (_, n) => [agent, `agent ${i} line ${n}`]));
await Promise.all(lines.map(([agent, line]) => agent.insert({ path: "/memories/log", insert_line: 1, insert_text: line })));
await client.put({ key: "/caught/up", text: newKey() }); // so that what it reads has what the agents wrote
const log = await new CairnMemory(client, { namespace: "shared" }).view({ path: "/memories/log" });
for (const [, line] of lines) assert.ok(log.includes(`\t${line}`), line);
assert.equal(log.split("\n").length, 1 + 1 + lines.length);
const found = await client.recall({ query: "agent 2 line 7", namespace: "shared", min_index: client.index });
assert.equal(found.results.length, 1);
console.error(`${compared} texts are the same`);
