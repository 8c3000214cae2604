import type { Hint, Operations, RecallRequest, Result } from "./types.js";
export * from "./types.js";

export interface ClientOptions {
  /** URLs of the nodes' gateways, tried in order. Default: http://127.0.0.1:7438. */
  endpoints?: string | string[];
  /** The token. Default: the environment's CAIRN_TOKEN. */
  token?: string;
  /** A file with the token, read again when a node rejects it. Default: the environment's CAIRN_TOKEN_FILE. */
  tokenFile?: string;
  /** The database, where it is not the token's own: only tokens with the scope admin reach others. */
  database?: string;
  /** Milliseconds for a call with all its attempts. Default: 30,000. */
  timeout?: number;
  /** Milliseconds until a call that may be repeated tries another node. Default: 10,000. */
  attemptTimeout?: number;
  /** Reads wait until the node has applied this client's own writes. Default: false. */
  ownWrites?: boolean;
  /** A fetch to use in place of the global one, such as one with a certificate authority of its own. */
  fetch?: typeof globalThis.fetch;
}

export interface CallOptions {
  /** Ends the call when it aborts. A write that was sent by then ends with UnknownOutcomeError. */
  signal?: AbortSignal;
  /** Milliseconds for this call with all its attempts; of a stream, until it begins. */
  timeout?: number;
  /** The database of this call. */
  database?: string;
  /** The id in the nodes' logs. Default: a random one. */
  requestId?: string;
}

/** A row of an export or of the log. */
export type Line = { [name: string]: unknown };
/** Rows of an import: one text of JSON lines, or texts and objects one by one. */
export type Lines = string | Iterable<string | object> | AsyncIterable<string | object>;

/** An event of the change feed. It names ids, never a memory's text. */
export interface FeedEvent {
  /** stored, corrected, forgotten and so on; subscribed at the start, leader when it changes, lagged when events were skipped. */
  type: string;
  /** Position of the event in the log. */
  index: number;
  /** Number of the operation in its log record; absent for subscribed, leader and lagged. */
  number?: number;
  /** What the event is about: a memory's id for stored, corrected and forgotten. */
  id?: string;
  /** When it happened, in Unix seconds. */
  at?: number;
  /** leader: the node that leads, 0 while none does. */
  leader?: number;
  /** Pass it as from to go on behind this event. Events of the same log record may come again. */
  cursor: string;
}

/** The change feed of a database. It goes on behind the last event when a connection breaks or a node dies. */
export interface Feed extends AsyncIterable<FeedEvent> {
  /** Pass it as from to go on where this feed is. */
  readonly cursor: string;
  [Symbol.asyncIterator](): AsyncGenerator<FeedEvent, void>;
}

/** What ends a recall that came row by row. */
export interface RecallEnd {
  total: number;
  fallback: string | null;
  confidence: number;
  hints: Hint[];
  index: number;
  lag_seconds: number | null;
  considered: number;
  below_min_score: number;
}

/** Client calls the HTTP API of a cluster. It has one method for each operation. */
export interface Client extends Operations {}
export class Client {
  constructor(options?: ClientOptions);
  /** The position in the log of this client's latest write; pass it as min_index to read that write elsewhere. */
  index: string;
  /** The node that the next request goes to. */
  readonly endpoint: string;
  /** Runs an operation by the name that the HTTP reference gives it, such as "remember_batch". */
  call(name: string, request?: object, options?: CallOptions): Promise<any>;
  /** Yields the results of a recall as the node reads them, and returns what concerns the whole answer. */
  recallEach(request: RecallRequest, options?: CallOptions): AsyncGenerator<Result, RecallEnd>;
}

/** A node rejected a request, or no node answered it. */
export class CairnError extends Error {
  /** For programs: the node's code, such as precondition_failed, or timeout, unreachable, unknown_outcome, broken_stream. */
  readonly code: string;
  /** The HTTP status; 0 when no node answered. */
  readonly status: number;
  /** The id in the nodes' logs. */
  readonly requestId: string;
  readonly endpoint: string;
  /** Milliseconds that the node asks to wait; 0 for none. */
  readonly retryAfter: number;
  /** The whole body of the last refusal, such as what a key holds after precondition_failed; null for none. */
  readonly body: any;
}

/**
 * A write that may or may not have happened. body.code is precondition_failed if the last attempt met something else
 * than the request expects: read and decide again.
 */
export class UnknownOutcomeError extends CairnError {
  /** The key to repeat the call with, which stores nothing twice; undefined when the operation takes none. */
  readonly idempotencyKey?: string;
}

/** Makes an idempotency key. Keys are in order of time. */
export function newKey(): string;
