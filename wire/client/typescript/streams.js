import { later, newKey } from "./encode.js";
import { CairnError } from "./errors.js";

const silence = 30_000; // an event stream has a sign of life every 15 seconds

/** sleep waits, or ends early when the signal aborts. */
export const sleep = (ms, signal) =>
  new Promise((done) => {
    if (signal?.aborted) return done();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      done();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end);
  });

/** pieces yields the text of a body. With a limit, a body that is silent for so long is an error. */
async function* pieces(body, limit) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let timer;
  try {
    for (;;) {
      const waits =
        limit &&
        new Promise(
          (_, fail) =>
            (timer = setTimeout(fail, limit, new CairnError("the event stream is silent", { code: "timeout" }))),
        );
      const { value, done } = await (limit ? Promise.race([reader.read(), waits]) : reader.read());
      clearTimeout(timer);
      if (done) return;
      yield value;
    }
  } finally {
    clearTimeout(timer);
    await reader.cancel().catch(() => {}); // one that broke has nothing to cancel
  }
}

/** split yields what stands between separators, and what is behind the last. */
async function* split(texts, separator) {
  let rest = "";
  for await (const text of texts) {
    const parts = (rest + text).split(separator);
    rest = parts.pop();
    yield* parts;
  }
  if (rest) yield rest;
}

/** events yields the server-sent events of a response: their names, ids and data. */
async function* events(response, limit) {
  for await (const block of split(pieces(response.body, limit), "\n\n")) {
    const event = {};
    for (const line of block.split("\n")) {
      const at = line.indexOf(": ");
      if (at > 0) event[line.slice(0, at)] = line.slice(at + 2);
    }
    if (event.event && event.data) yield { name: event.event, id: event.id, data: JSON.parse(event.data) };
  }
}

/** broken makes an error of a stream that ended early. */
const broken = (e) =>
  e instanceof CairnError || e?.name === "AbortError"
    ? e
    : new CairnError("the answer broke off: ask again", { code: "broken_stream", cause: e });

/** readLines yields the rows of an answer of JSON lines. */
export async function* readLines(open) {
  const response = await open();
  try {
    for await (const line of split(pieces(response.body), "\n")) if (line) yield JSON.parse(line);
  } catch (e) {
    throw broken(e);
  }
}

/** readRecall yields the results of a recall, and returns what ends it. */
export async function* readRecall(open) {
  const response = await open();
  try {
    for await (const { name, data } of events(response)) {
      if (name === "result") yield data;
      else if (name === "end") return data;
      else if (name === "error") throw new CairnError(data.error, { code: data.code });
    }
  } catch (e) {
    throw broken(e);
  }
  throw broken();
}

// An import goes in pieces, so that each can be sent again under a key of its own.
const pieceLines = 1000,
  pieceBytes = 4 << 20;

/** importLines sends rows or texts piece by piece, and adds up what the node stored. */
export async function importLines(lines, request, send) {
  const key = request.key ?? newKey(),
    sum = { lines: 0, memories: 0, kept: 0, edges: 0, log_index: "0", redacted: [] };
  let piece = [],
    size = 0,
    number = 0;
  const flush = async () => {
    const a = await send({ ...request, key: `${key}/${number++}` }, piece.join("\n"));
    for (const name of ["lines", "memories", "kept", "edges"]) sum[name] += a[name] ?? 0;
    if (later(a.log_index, sum.log_index)) sum.log_index = a.log_index;
    sum.redacted = [...new Set([...sum.redacted, ...(a.redacted ?? [])])];
    [piece, size] = [[], 0];
  };
  for await (const line of typeof lines === "string" ? lines.split("\n") : lines) {
    const text = typeof line === "string" ? line.trim() : JSON.stringify(line);
    if (!text) continue;
    if (piece.length === pieceLines || (size && size + text.length > pieceBytes)) await flush();
    piece.push(text);
    size += text.length;
  }
  if (piece.length) await flush();
  return sum;
}

/**
 * Feed yields what happens in a database. When the connection breaks, or the node dies, it goes on behind the last
 * event, on another node where it must: none is missed and none comes twice. An event "lagged" says that the log no
 * longer holds all events behind that place: the feed goes on with those that it still holds. It ends with its signal,
 * or when a node refuses it.
 */
export class Feed {
  #open;
  #request;
  #signal;

  /** The place to go on from with another feed: pass it as from. Blank before the first event. */
  cursor;

  constructor(open, request, signal) {
    [this.#open, this.#request, this.#signal] = [open, request, signal];
    this.cursor = request.from && String(request.from) !== "0" ? String(request.from) : "";
  }

  async *[Symbol.asyncIterator]() {
    // A record of the log may have several events, and only the last of them carries an id. seen has those of the
    // record that a connection has begun with; after a break they come again, but for those that pass the filter no more.
    let seen = [];
    for (let pause = 50; ; pause = Math.min(2 * pause, 1000)) {
      let again = [...seen],
        response;
      try {
        response = await this.#open({ ...this.#request, from: this.cursor || undefined }, { signal: this.#signal });
      } catch (e) {
        if (!passes(e) || this.#signal?.aborted) throw e;
      }
      try {
        for await (const { name, id, data } of response ? events(response, silence) : []) {
          pause = 50;
          if (name === "leader" || name === "lagged" || name === "subscribed") {
            if (name === "subscribed" && this.cursor) continue;
            if (name === "subscribed") this.cursor = String(data.index);
          } else {
            const event = name + JSON.stringify(data),
              at = again.indexOf(event);
            if (at >= 0) again.splice(at, 1);
            else seen.push(event);
            if (id) [this.cursor, seen] = [id, []];
            if (at >= 0) continue;
          }
          yield { type: name, ...data, cursor: this.cursor };
        }
      } catch {} // the connection broke: another one goes on
      await sleep(pause, this.#signal);
      this.#signal?.throwIfAborted();
    }
  }
}

/** passes reports whether an error says that the cluster cannot answer now. */
const passes = (e) =>
  e instanceof CairnError && (e.status < 400 || e.status >= 500 || e.status === 412 || e.status === 429);
