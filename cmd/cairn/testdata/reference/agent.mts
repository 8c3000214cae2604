// A small agent's memory, written from the page /docs of a node alone. It reads CAIRN and TOKEN from the environment.
import { randomBytes } from "node:crypto";

const base = process.env.CAIRN;
const token = process.env.TOKEN;
const consistency = "linearizable";

type Attributes = Record<string, string | number | boolean | string[]>;
interface Memory { rid: string; text: string; key?: string; revision: number; expires_at?: number | null; attributes?: Attributes }
interface Written { rid: string; revision: number }
interface Put extends Written { key: string; created: boolean }
interface Recalled { results: Omit<Memory, "revision">[]; total: number; index: number }
interface Page { records: { rid: string; text: string }[]; next_cursor?: string | null }
interface Revisions { revisions: { revision: number; text: string; reason: string }[] }
interface Batch { results: { key: string; found: boolean; changed?: boolean; rid?: string }[] }
interface Block { context: string; tokens: number; memories: { rid: string }[]; left_out: { reason: string }[] }
interface Edge { edge_id: string; src: string; dst: string; rel_type: string }
interface Change { type: string; data: string }

class CairnError extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

function check(ok: unknown, message: string): asserts ok {
  if (!ok) throw new Error(message);
}

async function send(method: string, path: string, body?: object, bearer = token): Promise<Response> {
  const response = await fetch(base + path, {
    method,
    headers: { Authorization: `Bearer ${bearer}`, "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) {
    const { error, code } = await response.json() as { error: string; code: string };
    throw new CairnError(response.status, code, error);
  }
  return response;
}

async function post<T>(path: string, body: object): Promise<T> {
  return await (await send("POST", path, body)).json() as T;
}

async function get<T>(path: string, query: Record<string, string> = {}): Promise<T> {
  const parameters = new URLSearchParams({ ...query, consistency });
  return await (await send("GET", `${path}?${parameters}`)).json() as T;
}

async function refusal(request: Promise<unknown>): Promise<CairnError> {
  try {
    await request;
  } catch (error) {
    if (error instanceof CairnError) return error;
    throw error;
  }
  throw new Error("a request that should be refused was answered");
}

async function* changes(from: number): AsyncGenerator<Change> {
  const response = await send("GET", `/v1/events?from=${from}`);
  let text = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const blocks = text.split("\n\n");
    text = blocks.pop()!;
    for (const block of blocks) {
      const field = (name: string) => block.match(new RegExp(`^${name}: ?(.*)$`, "m"))?.[1] ?? "";
      yield { type: field("event"), data: field("data") };
    }
  }
}

async function main(): Promise<void> {
  check(base && token, "set CAIRN to the node's address and TOKEN to its token");
  const run = randomBytes(4).toString("hex");
  const namespace = `kestrel-${run}`;
  const recall = (query: string, more: object = {}) =>
    post<Recalled>("/v1/recall", { query, namespace, consistency, ...more });
  const start = (await recall("*")).index;

  const mira = "Mira leads the Kestrel team and plans its releases";
  const texts: [string, Attributes, object?][] = [
    [mira, { team: "kestrel", role: "lead" }],
    ["Tomas looks after the billing service", { team: "kestrel", role: "backend" }],
    ["Ines designs the onboarding screens", { team: "kestrel", role: "design" }],
    ["Tomas is on call for the next hour", { team: "kestrel", role: "backend" }, { ttl: 3600 }],
  ];
  const rids: string[] = [];
  for (const [text, attributes, more] of texts) {
    rids.push((await post<Written>("/v1/remember", { text, attributes, namespace, ...more })).rid);
  }
  const standup = await post<Put>("/v1/put", {
    key: "/team/standup", text: "The stand-up of the Kestrel team is at 9:30", attributes: { team: "kestrel" }, namespace,
  });
  rids.push(standup.rid);
  const { expires_at } = await get<Memory>(`/v1/memory/${rids[3]}`);
  check(expires_at && Math.abs(expires_at - Date.now() / 1000 - 3600) < 60, "the memory does not expire in an hour");
  console.log(`1. stored ${rids.length} memories in ${namespace}; one has the key ${standup.key}, one expires in an hour`);

  const billing = await recall("Who looks after billing?");
  check(billing.results[0]?.rid === rids[1], "the recall did not find who looks after billing");
  const designer = await recall("Who designs the screens?", { filter: { role: { eq: "design" } } });
  check(designer.total === 1 && designer.results[0].rid === rids[2], "the filter did not leave the designer alone");
  const listed: string[] = [];
  let pages = 0;
  let cursor: string | null | undefined = "";
  do {
    const page: Page = await get("/v1/records", { namespace, limit: "2", since_rid: cursor });
    listed.push(...page.records.map((record) => record.rid));
    cursor = page.next_cursor;
    pages++;
  } while (cursor);
  check(pages === 3 && listed.sort().join() === [...rids].sort().join(), "the pages do not have each memory once");
  console.log(`2. recalled "${billing.results[0].text}", filtered for ${designer.total} designer, listed ${listed.length} in ${pages} pages`);

  const corrected = await post<Written>("/v1/correct", {
    rid: rids[0], new_text: "Ines leads the Kestrel team and plans its releases", reason: "Mira left", expected_revision: 0,
  });
  const { revisions } = await get<Revisions>(`/v1/memory/${rids[0]}/revisions`);
  check(corrected.revision === 1 && revisions.length === 1 && revisions[0].text === mira, "the history lacks the old text");
  console.log(`3. corrected a memory: revision ${revisions[0].revision} was "${revisions[0].text}" (${revisions[0].reason})`);

  const goal = { key: "/team/goal", text: "The team's goal is to ship in May", attributes: { team: "kestrel" }, namespace };
  const first = await post<Put>("/v1/put", { ...goal, if_absent: true });
  check(first.created, "the key had a memory already");
  const taken = await refusal(post("/v1/put", { ...goal, text: "The team's goal is to ship in June", if_absent: true }));
  check(taken.status === 409, `the second write got ${taken.status} ${taken.code}`);
  const read = await get<Memory>("/v1/get", { key: goal.key, namespace });
  const updated = await post<Put>("/v1/put", { ...goal, text: "The team's goal is to ship in June", if_revision: read.revision });
  check(!updated.created && updated.revision === read.revision + 1, "the update made no revision");
  console.log(`4. ${goal.key} was taken (${taken.code}: ${taken.message}); updated it to revision ${updated.revision}`);

  const steps = [["api", "Tomas owns the API"], ["app", "Ines owns the app"], ["docs", "Mira owned the docs"]].map(([name, text]) => ({
    op: "put", namespace, key: `/owners/${name}`, memory: { text, attributes: { team: "kestrel" } }, if_absent: true,
  }));
  const batch = await post<Batch>("/v1/batch", { steps });
  check(batch.results.length === 3 && batch.results.every((result) => result.changed && !result.found), "the batch did not write its steps");
  console.log(`5. wrote ${batch.results.map((result) => result.key).join(", ")} in one batch`);

  const budget = 150;
  const block = await post<Block>("/v1/context", {
    query: "Who does what in the Kestrel team?", max_tokens: budget, namespaces: [namespace], consistency,
  });
  check(block.memories.length > 0 && block.tokens <= budget, `the block has ${block.tokens} tokens`);
  console.log(`6. got a block of ${block.tokens} of ${budget} tokens: ${block.memories.length} memories, ${block.left_out.length} left out`);

  const stored = [...rids, first.rid, ...batch.results.map((result) => result.rid)];
  const unseen = new Set([...stored.map((rid) => `stored ${rid}`), `corrected ${rids[0]}`, `corrected ${first.rid}`]);
  const expected = unseen.size;
  for await (const { type, data } of changes(start)) {
    for (const write of unseen) {
      const [kind, rid] = write.split(" ");
      if (type === kind && data.includes(rid)) unseen.delete(write);
    }
    if (unseen.size === 0) break;
  }
  check(unseen.size === 0, `the changes lack ${[...unseen].join()}`);
  console.log(`7. saw all ${expected} writes in the changes after ${start}`);

  const [person, service] = [`tomas-${run}`, `billing-${run}`];
  const relation = await post<{ edge_id: string }>("/v1/relate", { entity: person, target: service, relationship: "looks after" });
  const { edges } = await get<{ edges: Edge[] }>("/v1/edges", { entity: service });
  check(edges.length === 1 && edges[0].edge_id === relation.edge_id && edges[0].src === person, "the relation is missing");
  console.log(`8. near ${service}: ${edges.map((edge) => `${edge.src} ${edge.rel_type} ${edge.dst}`).join()}`);

  const wrongField = await refusal(recall("Who leads?", { top_n: 3 }));
  check(wrongField.status === 400 && wrongField.message.includes("top_n"), `a wrong field got ${wrongField.status} ${wrongField.message}`);
  const wrongToken = await refusal(send("GET", "/v1/namespaces", undefined, "wrong"));
  check(wrongToken.status === 401, `a wrong token got ${wrongToken.status} ${wrongToken.message}`);
  console.log(`9. ${wrongField.code}: ${wrongField.message}; ${wrongToken.code}: ${wrongToken.message}`);

  const forgotten = await post<{ forgotten: number; more: boolean }>("/v1/forget/matching", {
    filter: { team: "kestrel" }, namespace, reason: "end of the example",
  });
  const unrelated = await (await send("DELETE", `/v1/edges/${relation.edge_id}`)).json() as { found: boolean };
  const left = (await recall("Who looks after billing?", { min_score: 0 })).total + (await recall("*")).total;
  check(forgotten.forgotten === 9 && !forgotten.more && unrelated.found && left === 0, `forgot ${forgotten.forgotten}, ${left} are left`);
  console.log(`10. forgot ${forgotten.forgotten} memories and the relation; a recall finds none`);
}

main().catch((error: unknown) => {
  if (error instanceof CairnError) console.error(`${error.status} ${error.code}: ${error.message}`);
  else if (error instanceof Error) console.error(error.message, error.cause ?? "");
  else console.error(error);
  process.exitCode = 1;
});
