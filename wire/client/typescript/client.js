import { encode, later, newKey } from "./encode.js";
import { CairnError, refusal, rejection, UnknownOutcomeError } from "./errors.js";
import { operations } from "./operations.js";
import { Feed, importLines, readLines, readRecall, sleep } from "./streams.js";

const environment = globalThis.process?.env ?? {};
const firstPause = 50,
  lastPause = 1000; // milliseconds between rounds over all endpoints
const lateFor = 10_000; // for how long an endpoint that did not answer is tried last
const longest = 2 ** 31 - 1; // milliseconds: a timer for more would end at once

// What a failed attempt says of the request: no node took it, it may have been taken, or another try is useless.
const notTaken = Symbol(),
  perhapsTaken = Symbol(),
  final = Symbol();

const known = new Set([
  "endpoints",
  "token",
  "tokenFile",
  "database",
  "timeout",
  "attemptTimeout",
  "ownWrites",
  "fetch",
]);

// Codes of a connection that was never made, so that nothing was sent over it.
const unconnected = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/**
 * Client calls the HTTP API of a cluster. It has one method for each operation: remember, recall, put, batch and so on.
 * Any number of calls may run at once.
 */
export class Client {
  #endpoints;
  #at; // the endpoint in use: one of the list, or a leader that a node named
  #late = new Map(); // endpoints that did not answer, and until when they are tried last
  #forward = false; // nodes pass writes on, because a leader that they named cannot be reached from here
  #options;
  #token;

  /** The position in the log of this client's latest write; pass it as min_index to read that write elsewhere. */
  index = "";

  constructor(options = {}) {
    const unknown = Object.keys(options).find((name) => !known.has(name));
    if (unknown !== undefined) throw new TypeError(`unknown option '${unknown}': want some of ${[...known].join(", ")}`);
    const list = [options.endpoints ?? "http://127.0.0.1:7438"].flat();
    if (list.length === 0) throw new TypeError("endpoints: name at least one node");
    this.#endpoints = list.map((e) => new URL(e.includes("://") ? e : `http://${e}`).href.replace(/\/+$/, ""));
    this.#at = this.#endpoints[0];
    this.#options = { timeout: 30_000, attemptTimeout: 10_000, ownWrites: false, fetch: globalThis.fetch, ...options };
    this.#token = options.token ?? (options.tokenFile ? undefined : environment.CAIRN_TOKEN);
    if (!this.#token && !options.tokenFile) this.#options.tokenFile = environment.CAIRN_TOKEN_FILE;
  }

  /** The node that the next request goes to. */
  get endpoint() {
    return this.#at;
  }

  /** call runs an operation by the name that the HTTP reference gives it, such as "remember_batch". */
  call(name, request = {}, options = {}) {
    return this.#send(name, request, options, (response) => response.json());
  }

  /** recallEach yields the results of a recall as the node reads them, and returns what concerns the whole answer. */
  recallEach(request, options = {}) {
    return readRecall(() => this.#open("recall", request, { ...options, accept: "text/event-stream" }));
  }

  events(request = {}, options = {}) {
    return new Feed(
      (r, o) => this.#open("events", r, { ...options, ...o, accept: "text/event-stream" }),
      request,
      options.signal,
    );
  }

  export(request = {}, options = {}) {
    return readLines(() => this.#open("export", request, options));
  }

  log(request = {}, options = {}) {
    return readLines(() => this.#open("log", request, options));
  }

  import(lines, request = {}, options = {}) {
    return importLines(lines, request, (r, content) =>
      this.#send("import", r, { ...options, content }, (response) => response.json()),
    );
  }

  async backupSend(request, options = {}) {
    return (await this.#open("backup_send", request, options)).body;
  }

  /** open returns the response as soon as its header is there. */
  #open(name, request, options) {
    return this.#send(name, request, options, (response) => response);
  }

  /** send repeats a request until a node answers it, its time is over, or a repetition could make the change twice. */
  async #send(name, request, options, read) {
    const op = operations[name];
    if (!op) throw new TypeError(`no operation ${name}`);
    if (typeof request !== "object") throw new TypeError(`${name} wants an object, not a ${typeof request}`);
    const fields = { ...request };
    const key = op.key && (fields[op.key] ??= newKey()); // one key for all attempts
    if (op.fresh && this.#options.ownWrites && this.index && !fields.min_index && !fields.consistency)
      fields.min_index = this.index;
    const asked = {
      op,
      options,
      read,
      ...encode(op, fields, options.database ?? this.#options.database),
      id: options.requestId ?? crypto.randomUUID(),
    };
    const end = Date.now() + (options.timeout ?? this.#options.timeout);
    let sent = false,
      hops = 0; // sent: an attempt of a write may have been taken
    const given = (error) => (sent ? new UnknownOutcomeError(error, key) : error);
    for (let failed = 1, pause = firstPause; ; failed++) {
      const at = this.#at,
        left = end - Date.now();
      const {
        answer,
        error,
        meaning,
        leader,
        stay,
        wait = 0,
      } = await this.#attempt(at, asked, op.repeat === "once" ? left : this.#limit(left));
      if (!error) return this.#note(answer);
      if (meaning === final) throw given(error);
      sent ||= meaning === perhapsTaken && op.repeat !== "read";
      if (options.signal?.aborted || Date.now() >= end || (sent && op.repeat === "once")) throw given(error);
      if (leader && hops++ < 2) {
        this.#at = leader;
        continue;
      }
      if (!stay) this.#leave(at);
      if (!stay && failed % this.#endpoints.length) continue; // another endpoint may answer at once
      const rest = Math.max(pause * (0.5 + Math.random()), wait);
      if (Date.now() + rest >= end) throw given(error);
      await sleep(rest, options.signal);
      [pause, hops] = [Math.min(2 * pause, lastPause), 0];
    }
  }

  /** limit bounds an attempt that may be made again elsewhere. */
  #limit(left) {
    return this.#endpoints.length > 1 ? Math.min(left, this.#options.attemptTimeout) : left;
  }

  /** leave moves on from an endpoint to the next in the list that is not late. */
  #leave(at) {
    if (this.#at !== at) return; // another call has moved on already
    const next = this.#endpoints.indexOf(at) + 1,
      order = [...this.#endpoints.slice(next), ...this.#endpoints.slice(0, next)];
    this.#at = order.find((e) => !(this.#late.get(e) > Date.now())) ?? order[0];
  }

  /** note remembers where in the log a write is. */
  #note(answer) {
    if (answer?.log_index && later(answer.log_index, this.index)) this.index = String(answer.log_index);
    return answer;
  }

  /** attempt asks one node. It never throws: what it returns says what a failure means. */
  async #attempt(at, asked, ms) {
    const { op, options } = asked,
      control = new AbortController();
    const signal = options.signal ? AbortSignal.any([control.signal, options.signal]) : control.signal;
    const late = new CairnError(`${at} did not answer in time`, { code: "timeout", endpoint: at, requestId: asked.id });
    const timer = setTimeout(() => control.abort(late), Math.min(ms, longest));
    let headers, token;
    try {
      signal.throwIfAborted();
      token = await this.#tokenText();
      headers = this.#headers(asked, token);
    } catch (error) {
      clearTimeout(timer);
      return { error, meaning: final };
    }
    try {
      const response = await this.#options.fetch(at + asked.path, {
        method: op.method,
        headers,
        body: options.content ?? asked.body,
        redirect: "manual",
        signal,
      });
      if (!response.ok) return await this.#refused(response, at, token);
      const answer = await asked.read(response);
      if (answer?.idempotency_conflict) return { error: rejection(response, at, answer), meaning: final };
      return { answer };
    } catch (e) {
      if (options.signal?.aborted)
        return { error: options.signal.reason, meaning: op.repeat === "read" ? final : perhapsTaken };
      if (control.signal.aborted) {
        this.#late.set(at, Date.now() + lateFor);
        return { error: late, meaning: perhapsTaken };
      }
      const never = unconnected.has(e.cause?.code);
      if (never && !this.#endpoints.includes(at)) this.#forward = true; // a leader's address that means nothing here
      const error = new CairnError(`${at}: ${e.cause?.message || e.cause?.code || e.message}`, {
        code: "unreachable",
        endpoint: at,
        requestId: asked.id,
        cause: e,
      });
      return { error, meaning: never ? notTaken : perhapsTaken };
    } finally {
      clearTimeout(timer);
    }
  }

  #headers({ id, body, options }, token) {
    const headers = new Headers({ "X-Request-Id": id });
    if (token) headers.set("Authorization", `Bearer ${token}`);
    if (options.accept) headers.set("Accept", options.accept);
    if (this.#forward) headers.set("X-Cairn-Forward", "1");
    if (options.content !== undefined) headers.set("Content-Type", "application/x-ndjson");
    else if (body !== undefined) headers.set("Content-Type", "application/json");
    return headers;
  }

  /** refused says what a node's error means for the request. */
  async #refused(response, at, token) {
    if (response.type === "opaqueredirect") {
      // browsers hide where a redirect leads
      this.#forward = true;
      return {
        error: new CairnError("the node does not lead", { code: "not_leader", endpoint: at }),
        meaning: notTaken,
      };
    }
    const error = await refusal(response, at),
      { status, code } = error;
    if (status === 503 && error.body && !error.body.error) return { answer: error.body }; // health: the node says that it cannot serve
    if (status === 401 && (await this.#changedToken(token))) return { error, meaning: notTaken, stay: true };
    if (status === 429 && code && !response.headers.has("Retry-After")) return { error, meaning: final }; // over a quota: it will be so again
    const end = error.body?.log_end; // min_index is past it, as after a restore from a backup
    if (end !== undefined) {
      if (this.index && later(this.index, end)) this.index = "";
      return { error, meaning: final };
    }
    if (status === 307 || status === 412 || status === 429 || (status === 503 && code)) {
      return {
        error,
        meaning: notTaken,
        leader: this.#leaderIn(error, at),
        stay: status === 429,
        wait: error.retryAfter,
      };
    }
    return { error, meaning: status >= 502 ? perhapsTaken : final };
  }

  /** leaderIn is the leader's address in a refusal, unless it is late or would take the token off TLS. */
  #leaderIn({ body }, at) {
    const leader = body?.leader_addr?.replace(/\/+$/, "");
    const usable = leader && leader !== at && !this.#forward && !(this.#late.get(leader) > Date.now());
    return usable && (leader.startsWith("https:") || !at.startsWith("https:")) ? leader : undefined;
  }

  async #tokenText() {
    if (this.#token === undefined && this.#options.tokenFile) {
      const { readFile } = await import("node:fs/promises");
      this.#token = (await readFile(this.#options.tokenFile, "utf8")).trim();
    }
    return this.#token;
  }

  /** changedToken reads the token's file again, and reports whether it has another token now. */
  async #changedToken(used) {
    if (!this.#options.tokenFile) return false;
    if (this.#token === used) this.#token = undefined;
    return (await this.#tokenText()) !== used;
  }
}

for (const name of Object.keys(operations)) {
  const method = name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
  if (!(method in Client.prototype)) {
    Client.prototype[method] = function (request, options) {
      return this.call(name, request, options);
    };
  }
}
