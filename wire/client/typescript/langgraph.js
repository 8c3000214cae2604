import { BaseStore } from "@langchain/langgraph-checkpoint";
import { Keys } from "./keys.js";

const mostFound = 1000; // by one recall

/** folderOf is the folder of a namespace: a segment for each label. */
const folderOf = (labels) => labels.map((l) => "/" + encodeURIComponent(l)).join("");
/** pathOf is the key of an item. No label begins with a colon, so that no item is where another has a folder. */
const pathOf = ({ namespace, key }) => `${folderOf(namespace)}/:${encodeURIComponent(key)}`;
const labelsOf = (path) => path.slice(1).split("/").slice(0, -1).map(decodeURIComponent);

const tokens = (path) => path.match(/\[[^\]]*\]|\{[^}]*\}|[^.[{]+/g) ?? [];

/** texts yields what a path such as a.b, x[*].c, arr[-1], {f,g} or $ leads to. */
function texts(value, [token, ...rest]) {
  if (value === null || value === undefined) return [];
  if (token === undefined) return [typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)];
  if (token === "$") return texts(value, rest);
  if (token[0] === "{")
    return token
      .slice(1, -1)
      .split(",")
      .flatMap((field) => texts(value, [...tokens(field.trim()), ...rest]));
  if (typeof value !== "object") return [];
  if (token === "*" || token === "[*]") return Object.values(value).flatMap((v) => texts(v, rest));
  if (token[0] === "[") return Array.isArray(value) ? texts(value.at(Number(token.slice(1, -1))), rest) : [];
  return texts(value[token], rest);
}

const operators = {
  $eq: (a, b) => a === b,
  $ne: (a, b) => a !== b,
  $gt: (a, b) => Number(a) > Number(b),
  $gte: (a, b) => Number(a) >= Number(b),
  $lt: (a, b) => Number(a) < Number(b),
  $lte: (a, b) => Number(a) <= Number(b),
  $in: (a, b) => Array.isArray(b) && b.includes(a),
  $nin: (a, b) => !Array.isArray(b) || !b.includes(a),
};

/** passes compares a value's top-level fields with a filter of LangGraph's. */
const passes = (value, filter = {}) =>
  Object.entries(filter).every(([name, want]) => {
    const tests = typeof want === "object" && want !== null && Object.keys(want).every((k) => k in operators);
    return tests ? Object.entries(want).every(([k, v]) => operators[k](value[name], v)) : value[name] === want;
  });

const matches = ({ matchType, path }, labels) => {
  const at = matchType === "prefix" ? 0 : labels.length - path.length;
  return path.length <= labels.length && path.every((label, i) => label === "*" || label === labels[at + i]);
};

/**
 * CairnStore keeps the long-term memory of LangGraph agents in a cluster. An item is a memory under the key
 * /label/…/:key; a batch is one atomic step; a search with a query is a recall.
 */
export class CairnStore extends BaseStore {
  #client;
  #keys;
  #fields;

  constructor(client, { namespace = "langgraph", fields = ["$"] } = {}) {
    super();
    [this.#client, this.#keys, this.#fields] = [client, new Keys(client, namespace), fields];
  }

  async batch(operations) {
    const results = Array(operations.length).fill(null);
    const reads = [],
      writes = new Map(); // of several puts of one key the last wins
    operations.forEach((op, i) => {
      if ("namespacePrefix" in op) reads.push(this.#search(op).then((found) => (results[i] = found)));
      else if ("value" in op) writes.set(pathOf(op), op);
      else if (!("key" in op)) reads.push(this.#list(op).then((found) => (results[i] = found)));
    });
    await Promise.all(reads); // these see the state before the writes, as the gets of a step do
    const gets = operations.flatMap((op, i) => ("key" in op && !("value" in op) ? [[i, pathOf(op)]] : []));
    if (writes.size === 0) {
      await Promise.all(gets.map(async ([i, path]) => (results[i] = await this.#get(path))));
      return results;
    }
    const steps = [
      ...gets.map(([, key]) => ({ op: "get", key })),
      ...Array.from(writes, ([key, op]) => this.#write(key, op)),
    ];
    const answer = await this.#keys.batch(steps);
    await Promise.all(
      gets.map(async ([i, path], n) => {
        const { found, memory } = answer.results[n];
        results[i] = memory ? item(memory) : found ? await this.#get(path) : null; // an answer has no room for all
      }),
    );
    return results;
  }

  #write(key, { namespace, key: name, value, index }) {
    if (value === null) return { op: "delete", key };
    const found = index === false ? [] : (index ?? this.#fields).flatMap((path) => texts(value, tokens(path)));
    const under = namespace.map((_, i) => folderOf(namespace.slice(0, i + 1)));
    const memory = {
      text: found.join("\n") || name,
      searchable: found.length > 0,
      metadata: { namespace, key: name, value },
      attributes: { under },
    };
    return { op: "put", key, memory };
  }

  async #get(key) {
    const memory = await this.#keys.get(key);
    return memory ? item(memory) : null;
  }

  async #search({ namespacePrefix, query, filter, limit = 10, offset = 0 }) {
    const prefix = folderOf(namespacePrefix),
      found = [],
      seen = new Set();
    if (query) {
      const under = prefix ? { under: { contains: prefix } } : undefined;
      const { results } = await this.#client.recall({
        query,
        top_k: mostFound,
        filter: under,
        skip_reinforce: true,
        ...this.#keys.here(),
      });
      for (const { metadata, score } of results) {
        const path = pathOf(metadata);
        if (passes(metadata.value, filter) && !seen.has(path) && seen.add(path).size > offset && found.length < limit)
          found.push([path, score]);
      }
    }
    const items = (await Promise.all(found.map(async ([path, score]) => [await this.#get(path), score]))).flatMap(
      ([i, score]) => (i ? [{ ...i, score }] : []),
    );
    if (items.length >= limit) return items;
    let skip = Math.max(0, offset - seen.size); // items without a score follow those that have one
    for await (const { key, memory } of this.#keys.rows(prefix || "/", { full: true })) {
      if (seen.has(key) || !passes(memory.metadata.value, filter) || skip-- > 0) continue;
      if (items.push({ ...item(memory), score: undefined }) >= limit) break;
    }
    return items;
  }

  async #list({ matchConditions = [], maxDepth, limit = 100, offset = 0 }) {
    const first = matchConditions.find((c) => c.matchType === "prefix")?.path ?? [];
    const fixed = first.slice(0, first.includes("*") ? first.indexOf("*") : first.length);
    const found = new Map();
    for await (const { key } of this.#keys.rows(folderOf(fixed) || "/")) {
      const labels = labelsOf(key);
      if (!matchConditions.every((c) => matches(c, labels))) continue;
      const short = labels.slice(0, maxDepth ?? labels.length);
      found.set(folderOf(short), short);
    }
    return [...found.values()]
      .sort((a, b) => a.join(":").localeCompare(b.join(":")))
      .slice(offset, offset + limit);
  }
}

const item = ({ metadata: { namespace, key, value }, created_at, updated_at }) => ({
  value,
  key,
  namespace,
  createdAt: new Date(created_at * 1000),
  updatedAt: new Date(updated_at * 1000),
});
