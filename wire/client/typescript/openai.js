import { newKey } from "./encode.js";
import { Keys } from "./keys.js";

const pieceItems = 5000; // that a step deletes at once

/** canonical is the JSON of a value with the names of its objects in order. */
const canonical = (value) =>
  JSON.stringify(value, (_, v) =>
    v && typeof v === "object" && !Array.isArray(v)
      ? Object.fromEntries(Object.entries(v).sort(([a], [b]) => (a < b ? -1 : 1)))
      : v,
  );

async function digest(value) {
  const sum = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(canonical(value)));
  return Array.from(new Uint8Array(sum), (b) => b.toString(16).padStart(2, "0")).join("");
}

/**
 * CairnSession keeps the history of an agent of OpenAI's Agents SDK in a cluster. Each change is one atomic step: the
 * items under /SESSION/items/ change only if /SESSION/head is as it was read, so that two processes lose nothing of
 * each other's. applyHistoryTransaction happens once for an operationId, whoever repeats it.
 */
export class CairnSession {
  #keys;
  #searchable;
  #id;

  constructor(client, { sessionId = newKey(), namespace = "openai", searchable = false } = {}) {
    [this.#keys, this.#id, this.#searchable] = [new Keys(client, namespace), sessionId, searchable];
  }

  async getSessionId() {
    return this.#id;
  }

  async getItems(limit) {
    const { next } = limit === undefined ? { next: 0 } : await this.#head();
    return limit <= 0 ? [] : this.#items(limit === undefined ? 0 : Math.max(0, next - limit));
  }

  addItems(items) {
    return items.length === 0 ? Promise.resolve() : this.#change(({ next }) => this.#replacing(next, next, items));
  }

  popItem() {
    return this.#change(async ({ next }) => {
      if (next === 0) return {};
      const [item] = await this.#items(next - 1);
      return { ...this.#replacing(next - 1, next, []), result: item };
    });
  }

  async clearSession() {
    const some = ({ next }) => ({
      ...this.#replacing(Math.max(0, next - pieceItems), next, []),
      result: next > pieceItems,
    });
    while (await this.#change(some));
    for await (const { key } of this.#keys.rows(this.#key("operations"))) await this.#keys.batch([{ op: "delete", key }]);
  }

  applyHistoryTransaction({ operationId, transaction }) {
    if (typeof operationId !== "string" || !operationId.trim())
      throw new TypeError("operationId: want a text that is not blank");
    const { type, items, expectedSuffix = [], replacement = items } = transaction;
    if (!Array.isArray(replacement) || (type !== "append_items" && type !== "replace_suffix"))
      throw new TypeError(`transaction: ${type} is neither append_items nor replace_suffix with its items`);
    return this.#change(async ({ next }) => {
      const key = this.#key("operations", encodeURIComponent(operationId)),
        sum = await digest(transaction);
      const before = await this.#keys.get(key);
      if (before) {
        if (before.text !== sum) throw new Error(`operation ${operationId} was applied with another transaction`);
        return {};
      }
      const from = next - expectedSuffix.length;
      if (from < 0 || canonical(await this.#items(from)) !== canonical(expectedSuffix))
        throw new Error("the history no longer ends with the expected items");
      const { steps, next: end } = this.#replacing(from, next, replacement);
      return {
        next: end,
        steps: [...steps, { op: "put", key, memory: { text: sum, searchable: false }, if_absent: true }],
      };
    });
  }

  #key(...segments) {
    return [`/${encodeURIComponent(this.#id)}`, ...segments].join("/");
  }

  #itemKey(number) {
    return this.#key("items", String(number).padStart(12, "0"));
  }

  /** head is how many items there are, and its revision. */
  async #head(latest) {
    const memory = await this.#keys.get(this.#key("head"), { latest });
    return memory ? { next: memory.metadata.next, revision: memory.revision } : { next: 0 };
  }

  async #items(from) {
    const items = [];
    const after = from > 0 ? this.#itemKey(from - 1) : undefined;
    for await (const { memory } of this.#keys.rows(this.#key("items"), { full: true, after }))
      items.push(JSON.parse(memory.text));
    return items;
  }

  /** replacing is the steps that put items in the place of those from a number to an end. */
  #replacing(from, end, items) {
    const steps = items.map((item, i) => ({
      op: "put",
      key: this.#itemKey(from + i),
      memory: { text: JSON.stringify(item), memory_type: "message", searchable: this.#searchable },
    }));
    for (let n = from + items.length; n < end; n++) steps.push({ op: "delete", key: this.#itemKey(n) });
    return { steps, next: from + items.length };
  }

  /** change does what plan says for the head as it is, in one log entry. */
  #change(plan) {
    return this.#keys.decide(async () => {
      const head = await this.#head(true);
      const { steps = [], next, result } = await plan(head);
      if (steps.length === 0) return result;
      const memory = { text: this.#id, searchable: false, metadata: { next, change: newKey() } }; // each change makes a revision
      const expected = head.revision === undefined ? { if_absent: true } : { if_revision: head.revision };
      await this.#keys.batch([{ op: "put", key: this.#key("head"), memory, ...expected }, ...steps]);
      return result;
    });
  }
}
