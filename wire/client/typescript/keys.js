import { CairnError } from "./errors.js";
import { sleep } from "./streams.js";

const pageRows = 1000,
  pageMemories = 500; // the most that one answer lists
const tries = 50; // of a change that others' changes overtake

/**
 * overtaken says that a write on a condition met something else. An attempt before it may have been lost on the way: it
 * was not carried out, as the node would have known the write again by its idempotency key.
 */
export function overtaken(e) {
  return e instanceof CairnError && e.body?.code === "precondition_failed";
}

/** Keys reads and writes the keys of one namespace. Its reads see what its client wrote. */
export class Keys {
  #client;
  #namespace;

  constructor(client, namespace) {
    [this.#client, this.#namespace] = [client, namespace];
  }

  /**
   * here is what a read of this namespace says beside its own fields. What is read to be changed is the latest, so that
   * the change of another process is not missed.
   */
  here(latest = false) {
    const fresh = latest ? { consistency: "linearizable" } : { min_index: this.#client.index || undefined };
    return { namespace: this.#namespace, ...fresh };
  }

  /** get returns a key's memory, or undefined. */
  async get(key, { latest } = {}) {
    try {
      return await this.#client.get({ key, ...this.here(latest) });
    } catch (e) {
      if (e instanceof CairnError && e.code === "key_not_found") return undefined;
      throw e;
    }
  }

  /** rows yields the keys below a folder, with their memories if full is set. */
  async *rows(prefix, { full = false, depth, after, latest, limit = full ? pageMemories : pageRows } = {}) {
    for (;;) {
      const { keys, next } = await this.#client.keys({ prefix, full, depth, after, limit, ...this.here(latest) });
      yield* keys;
      if (next === null) return;
      after = next;
    }
  }

  /** batch does all steps, or none. */
  batch(steps) {
    return this.#client.batch({ steps: steps.map((s) => ({ ...s, namespace: this.#namespace })) });
  }

  /** decide runs a function that reads and then writes on a condition, again while another process was faster. */
  async decide(attempt) {
    for (let left = tries, pause = 10; ; pause = Math.min(2 * pause, 500)) {
      try {
        return await attempt();
      } catch (e) {
        if (!overtaken(e) || --left === 0) throw e;
        await sleep(pause * Math.random());
      }
    }
  }
}
