import { Client, CairnError, UnknownOutcomeError, newKey, type Draft, type FeedEvent } from "cairn-client";
const cairn = new Client({ endpoints: ["http://127.0.0.1:7438"], ownWrites: true });
const draft: Draft = { text: "a", created_at: new Date(), attributes: { a: 1 } };
const { rids } = await cairn.rememberBatch({ memories: [draft], idempotency_key: newKey() });
const { results } = await cairn.recall(
  { query: "q", time_window: [new Date(), null] },
  { signal: AbortSignal.timeout(10) },
);
const rid: string = results[0].rid,
  score: number = results[0].score;
for await (const e of cairn.events({ type: ["stored"] })) {
  const x: FeedEvent = e;
  console.log(x.cursor, e.id?.length);
}
for await (const line of cairn.export()) console.log(line.rid);
for await (const r of cairn.recallEach({ query: "q" })) console.log(r.text);
await cairn.import([{ text: "x" }], { key: "k" });
await cairn.batch({ steps: [{ op: "get", key: "/a" }] });
// @ts-expect-error text is required
await cairn.remember({});
// @ts-expect-error no such field
await cairn.remember({ text: "a", texts: "b" });
// @ts-expect-error no such step
await cairn.batch({ steps: [{ op: "got", key: "/a" }] });
try {
  await cairn.stats();
} catch (e) {
  if (e instanceof UnknownOutcomeError) console.log(e.idempotencyKey);
  else if (e instanceof CairnError) console.log(e.code, e.status);
}
export { rids, rid, score };
