// Tries the client on a cluster whose addresses are the arguments. It prints "kill" when its caller should kill the
// leader, and at the end what was acknowledged in the loop of writes, as JSON: text by id.
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CairnError, Client, newKey, UnknownOutcomeError } from "../index.js";
import { Keys } from "../keys.js";

const endpoints = process.argv.slice(2),
  token = process.env.CAIRN_TOKEN;
const admin = new Client({ endpoints });
const options = { endpoints, database: "typescript", ownWrites: true };
await admin.databasesCreate({ name: "typescript" });
const cairn = new Client(options);
const rejects = (promise, want) =>
  assert.rejects(
    promise,
    (e) => e instanceof CairnError && Object.entries(want).every(([k, v]) => e[k] === v) && e.requestId !== "",
  );

async function memories() {
  const { rid } = await cairn.remember({
    text: "Alice leads the payments team",
    attributes: { team: "payments", size: 7 },
    metadata: { from: ["a", "ü"] },
    created_at: new Date("2026-01-31T12:00:00Z"),
  });
  const found = await cairn.recall({ query: "who leads payments?", top_k: 3, filter: { size: { gte: 7 } } });
  assert.equal(found.results[0].rid, rid);
  assert.deepEqual(found.results[0].metadata, { from: ["a", "ü"] });
  assert.equal((await cairn.recall({ query: "who leads payments?", filter: { size: { lt: 7 } } })).total, 0);
  assert.equal((await cairn.count({ filter: { team: "payments" } })).count, 1);
  const changed = await cairn.correct({
    rid,
    reason: "Alice moved on",
    new_text: "Bob leads the payments team",
    expected_revision: 0,
  });
  assert.equal(changed.revision, 1);
  const read = await cairn.memory({ rid });
  assert.equal(read.text, "Bob leads the payments team");
  assert.equal(read.created_at, Date.UTC(2026, 0, 31, 12) / 1000);
  await rejects(cairn.correct({ rid, reason: "late", new_text: "Carol", expected_revision: 0 }), {
    status: 409,
    code: "revision_conflict",
  });
  await rejects(cairn.remember({ text: "x", importance: 2 }), { status: 400 });
  await assert.rejects(async () => cairn.remember("a text alone"), TypeError);
  assert.throws(() => new Client({ endpoint: endpoints }), /unknown option 'endpoint'/);
  await rejects(cairn.memory({ rid: "0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12" }), {
    status: 404,
    code: "memory_not_found",
  });
  await rejects(new Client({ ...options, token: "wrong" }).stats(), { status: 401 });
  const late = new Client(options);
  late.index = "1000000000"; // of a write that a restore lost
  await rejects(late.stats(), { status: 412, code: "replica_behind" });
  assert.equal(late.index, "");
  assert.equal((await late.stats()).active_memories, 1);
  const rows = [];
  const each = cairn.recallEach({ query: "payments team", top_k: 5 });
  let step;
  while (!(step = await each.next()).done) rows.push(step.value.rid);
  assert.deepEqual([rows, step.value.total], [[rid], 1]);
  const key = newKey(),
    same = { text: "stored once", idempotency_key: key };
  assert.equal((await cairn.remember(same)).rid, (await cairn.remember(same)).rid);
  await rejects(cairn.remember({ ...same, text: "another" }), { code: "conflict" });
  assert.equal((await cairn.rememberBatch({ memories: [{ text: "one" }, { text: "two" }] })).count, 2);
  assert.equal((await cairn.forget({ rid })).found, true);
}

async function keys() {
  const first = await cairn.put({ key: "/prefs/theme", text: "dark", if_absent: true });
  assert.equal(first.created, true);
  const second = await cairn.put({ key: "/prefs/theme", text: "light", if_revision: 0 });
  assert.equal(second.revision, 1);
  await rejects(cairn.put({ key: "/prefs/theme", text: "blue", if_revision: 0 }), {
    status: 409,
    code: "precondition_failed",
  });
  assert.equal((await cairn.get({ key: "/prefs/theme" })).text, "light");
  const { results } = await cairn.batch({
    steps: [
      { op: "get", key: "/prefs/theme" },
      { op: "put", key: "/prefs/font", memory: { text: "mono" } },
    ],
  });
  assert.deepEqual(
    results.map((r) => [r.key, r.found]),
    [
      ["/prefs/theme", true],
      ["/prefs/font", false],
    ],
  );
  assert.deepEqual(
    (await cairn.keys({ prefix: "/prefs" })).keys.map((k) => k.key),
    ["/prefs/font", "/prefs/theme"],
  );
  assert.equal((await cairn.rename({ key: "/prefs/font", to: "/prefs/face" })).key, "/prefs/face");
  assert.equal((await cairn.delete({ key: "/prefs/face" })).found, true);
  await rejects(cairn.get({ key: "/prefs/face" }), { status: 404, code: "key_not_found" });
}

async function feed() {
  const stop = new AbortController(),
    texts = ["feed one", "feed two", "feed three"],
    seen = [];
  const events = cairn.events({ type: ["stored"] }, { signal: stop.signal });
  let cursor = "";
  for await (const e of events) {
    if (e.type === "subscribed") await cairn.remember({ text: texts[0] });
    if (e.type !== "stored") continue;
    seen.push(e.id);
    cursor = e.cursor;
    break;
  }
  await cairn.rememberBatch({ memories: texts.slice(1).map((text) => ({ text })) }); // while nobody listens
  const resumed = cairn.events({ type: ["stored"], from: cursor }, { signal: stop.signal });
  for await (const e of resumed) {
    if (e.type === "stored" && seen.push(e.id) === 3) break;
  }
  const stored = await Promise.all(seen.map(async (rid) => (await cairn.memory({ rid })).text));
  assert.deepEqual(stored, texts);
  const waiting = (async () => {
    for await (const _ of cairn.events({ from: resumed.cursor }, { signal: stop.signal }));
  })();
  stop.abort();
  await assert.rejects(waiting, { name: "AbortError" });
}

async function transfer() {
  const lines = [];
  for await (const line of cairn.export({ filter: { team: "nobody" } })) lines.push(line);
  assert.equal(lines.length, 0);
  const rows = Array.from({ length: 1500 }, (_, i) => ({ type: "memory", text: `row ${i}`, namespace: "imported" }));
  const imported = await cairn.import(rows, { key: "once" });
  assert.deepEqual([imported.lines, imported.memories], [1500, 1500]);
  await cairn.import(rows, { key: "once" });
  assert.equal((await cairn.count({ namespace: "imported" })).count, 1500);
  for await (const line of cairn.export())
    if (line.type === "memory" && line.namespace === "imported") lines.push(line);
  assert.equal(lines.length, 1500);
}

/** listening returns a server that accepts connections and never answers, with its address. */
const listening = () =>
  new Promise((ok) => {
    const server = createServer(() => {}).listen(0, "127.0.0.1", () =>
      ok([server, `http://127.0.0.1:${server.address().port}`]),
    );
  });

async function limits() {
  const aborted = AbortSignal.abort();
  await assert.rejects(cairn.stats({}, { signal: aborted }), { name: "AbortError" });
  const [server, silent] = await listening();
  const late = new Client({ ...options, endpoints: [silent, ...endpoints], attemptTimeout: 300 });
  assert.ok((await late.remember({ text: "said in spite of a silent node" })).rid);
  assert.notEqual(late.endpoint, silent);
  const brief = new Client({ ...options, endpoints: [silent, ...endpoints], timeout: 300 });
  await assert.rejects(brief.sessionStart(), { name: "UnknownOutcomeError", idempotencyKey: undefined });
  await assert.rejects(brief.remember({ text: "x", idempotency_key: "again" }), {
    name: "UnknownOutcomeError",
    idempotencyKey: "again",
  });
  const refused = new Client({ endpoints: [silent, ...endpoints], token: "wrong", attemptTimeout: 300 });
  await assert.rejects(refused.remember({ text: "x" }), { name: "UnknownOutcomeError", status: 401 }); // the silent one may have it
  await cairn.put({ key: "/limits/taken", text: "another's" });
  let tries = 0;
  const overtakes = new Client({ ...options, endpoints: [silent, ...endpoints], attemptTimeout: 300 });
  await new Keys(overtakes, "default").decide(async () => {
    await overtakes.put({ key: "/limits/taken", text: "mine", ...(tries++ ? {} : { if_absent: true }) });
  });
  assert.equal(tries, 2); // the silent one may have the first, and it is decided again
  const gives = AbortSignal.timeout(200);
  await assert.rejects(new Client({ ...options, endpoints: silent }).stats({}, { signal: gives }), {
    name: "TimeoutError",
  });
  await assert.rejects(
    new Client({ ...options, endpoints: silent }).remember({ text: "x" }, { signal: AbortSignal.timeout(200) }),
    { name: "UnknownOutcomeError" },
  );
  await assert.rejects(new Client({ ...options, endpoints: silent, timeout: 300 }).stats(), {
    name: "CairnError",
    code: "timeout",
  });
  await new Promise((ok) => {
    server.close(ok);
    server.closeAllConnections();
  });
  const nobody = new Client({ endpoints: silent, token, timeout: 500 });
  await assert.rejects(nobody.stats(), { name: "CairnError", code: "unreachable" });
  await assert.rejects(nobody.remember({ text: "nobody hears it" }), { name: "CairnError", code: "unreachable" }); // it was never sent
  const patient = new Client({ ...options, timeout: 60_000 }),
    began = Date.now(),
    memory = { text: "a " },
    tooMany = Array.from({ length: 10_001 }, () => memory);
  await rejects(patient.remember({ text: "a ".repeat(20 << 20) }), { status: 413, code: "too_large" });
  await rejects(patient.rememberBatch({ memories: tooMany }), { status: 429, code: "rate_limited" });
  assert.ok(Date.now() - began < 30_000, "what can never be taken was sent again");
  await assert.rejects(cairn.remember({ text: "x", importance: NaN }), RangeError);
  const dir = await mkdtemp(join(tmpdir(), "cairn-sdk-")),
    tokenFile = join(dir, "token");
  try {
    await writeFile(tokenFile, "wrong\n");
    const client = new Client({ ...options, tokenFile });
    await rejects(client.stats(), { status: 401 });
    await writeFile(tokenFile, token + "\n"); // it was renewed
    assert.equal((await client.me()).database, "typescript");
  } finally {
    await rm(dir, { recursive: true });
  }
}

async function killing() {
  const acked = {},
    writer = new Client({ endpoints, timeout: 60_000, attemptTimeout: 2000 }),
    stop = new AbortController();
  const told = [],
    listening = (async () => {
      for await (const e of writer.events({ type: ["stored"] }, { signal: stop.signal })) told.push(e.id ?? e.type);
    })().catch((e) => e);
  while (told.length === 0) await new Promise((ok) => setTimeout(ok, 10));
  let unknown = 0;
  for (let i = 0; i < 300; i++) {
    if (i === 50) console.log("kill");
    const text = `typescript ${i}`;
    try {
      acked[(await writer.remember({ text })).rid] = text;
    } catch (e) {
      if (!(e instanceof UnknownOutcomeError)) throw e;
      unknown++;
    }
  }
  assert.equal(unknown, 0);
  const last = Object.keys(acked).at(-1);
  while (told.at(-1) !== last) await new Promise((ok) => setTimeout(ok, 10));
  stop.abort();
  await listening;
  assert.deepEqual(told.slice(1), Object.keys(acked)); // all, in order, none twice
  const fresh = await new Client({ endpoints }).memory({ rid: last, min_index: writer.index });
  assert.equal(fresh.text, "typescript 299");
  console.log(JSON.stringify(acked));
}

for (const part of [memories, keys, feed, transfer, limits, killing]) {
  await part();
  console.error(`${part.name} passed`);
}
