import { CairnError } from "./errors.js";
import { Keys, overtaken } from "./keys.js";

const root = "/memories";
const folderSize = "4K"; // as local file systems say
const mostLines = 999_999;
const batchSteps = 10_000; // at most
const blank = "(blank file)";

const absent = (path) => new Error(`The path ${path} does not exist. Please provide a valid path.`);

/** keyOf is the key of a path. A path may have . and .. as long as it stays below /memories. */
function keyOf(path) {
  if (!path.startsWith(root)) throw new Error(`Path must start with ${root}, got: ${path}`);
  const segments = [root];
  for (const segment of path.slice(root.length).split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(segment.normalize("NFC"));
    if (segments.length === 0) throw new Error(`Path ${path} would escape ${root} directory`);
  }
  return segments.join("/");
}

// A file's text is its memory's. A memory has words, so a blank text is in the metadata.
const textOf = (memory) => memory.metadata.content ?? memory.text;
const memoryOf = (text) =>
  text.trim() === "" ? { text: blank, searchable: false, metadata: { content: text } } : { text, searchable: true };

function sizeOf(bytes) {
  if (bytes === 0) return "0B";
  const power = Math.floor(Math.log(bytes) / Math.log(1024)),
    size = bytes / 1024 ** power;
  return (size % 1 === 0 ? String(size) : size.toFixed(1)) + ["B", "K", "M", "G"][power];
}

const numbered = (lines, from) => lines.map((line, i) => `${String(from + i).padStart(6)}\t${line}`).join("\n");

/** refused says which path a key that is taken stands for. */
function refused(e, path) {
  if (!(e instanceof CairnError)) return e;
  if (overtaken(e)) return new Error(`File ${path} already exists`);
  if (e.code === "key_taken") return new Error(`The path ${path} is above or below a file: ${e.body.key ?? ""}`);
  return e;
}

/**
 * CairnMemory keeps the files of Anthropic's memory tool in a cluster. A file is a memory whose key is the path. Each
 * command that changes a file reads it and writes it only if no other agent has changed it meanwhile; otherwise it
 * begins again. What a model reads is what it reads of the SDK's own BetaLocalFilesystemMemoryTool, except that a
 * folder lasts as long as there is a file in it.
 */
export class CairnMemory {
  #keys;

  constructor(client, { namespace = "memories" } = {}) {
    this.#keys = new Keys(client, namespace);
  }

  async view({ path, view_range: range }) {
    const key = keyOf(path),
      memory = key === root ? undefined : await this.#keys.get(key);
    if (!memory) return this.#list(path, key);
    const lines = textOf(memory).split("\n");
    if (lines.length > mostLines)
      throw new Error(
        `File ${path} has too many lines (${lines.length}). Maximum is ${mostLines.toLocaleString("en-US")} lines.`,
      );
    const [from, to] = range?.length === 2 ? [Math.max(1, range[0]), range[1]] : [1, -1];
    const shown = lines.slice(from - 1, to === -1 ? lines.length : to);
    return `Here's the content of ${path} with line numbers:\n${numbered(shown, from)}`;
  }

  async create({ path, file_text: text }) {
    const key = keyOf(path);
    if (await this.#isFolder(key)) throw new Error(`File ${path} already exists`);
    const step = { op: "put", key, memory: memoryOf(text), if_absent: true };
    await this.#keys.batch([step]).catch((e) => {
      throw refused(e, path);
    });
    return `File created successfully at: ${path}`;
  }

  async str_replace({ path, old_str: old, new_str: replacement }) {
    const { lines, at } = await this.#edit(path, (text) => {
      const found = text.split("\n").flatMap((line, i) => (line.includes(old) ? [i + 1] : []));
      if (found.length === 0)
        throw new Error(`No replacement was performed, old_str \`${old}\` did not appear verbatim in ${path}.`);
      if (found.length > 1)
        throw new Error(
          `No replacement was performed. Multiple occurrences of old_str \`${old}\` in lines: ${found.join(", ")}. Please ensure it is unique`,
        );
      const changed = text.replace(old, () => replacement);
      return { text: changed, lines: changed.split("\n"), at: found[0] - 1 };
    });
    const first = Math.max(0, at - 2);
    const snippet = numbered(lines.slice(first, at + 3), first + 1);
    return `The memory file has been edited. Here is the snippet showing the change (with line numbers):\n${snippet}`;
  }

  async insert({ path, insert_line: at, insert_text: inserted }) {
    await this.#edit(path, (text) => {
      const lines = text.split("\n");
      if (at < 0 || at > lines.length)
        throw new Error(
          `Invalid \`insert_line\` parameter: ${at}. It should be within the range of lines of the file: [0, ${lines.length}]`,
        );
      lines.splice(at, 0, inserted.replace(/\n$/, ""));
      return { text: lines.join("\n") };
    });
    return `The file ${path} has been edited.`;
  }

  async delete({ path }) {
    const key = keyOf(path);
    if (key === root) throw new Error(`Cannot delete the ${root} directory itself`);
    const gone = await this.#each(key, (file) => ({ op: "delete", key: file.key, if_revision: file.revision }));
    if (gone === 0) throw new Error(`The path ${path} does not exist`);
    return `Successfully deleted ${path}`;
  }

  async rename({ old_path: path, new_path: path2 }) {
    const [key, to] = [keyOf(path), keyOf(path2)];
    if (key === root) throw new Error(`Cannot rename the ${root} directory itself`);
    if ((await this.#keys.get(to, { latest: true })) || (await this.#isFolder(to)))
      throw new Error(`The destination ${path2} already exists`);
    if (to.startsWith(key + "/")) throw new Error(`The path ${path2} is inside ${path}`);
    const moved = await this.#each(key, (file) => ({
      op: "rename",
      key: file.key,
      to: to + file.key.slice(key.length),
      if_revision: file.revision,
    })).catch((e) => {
      throw refused(e, path2);
    });
    if (moved === 0) throw new Error(`The path ${path} does not exist`);
    return `Successfully renamed ${path} to ${path2}`;
  }

  /** edit makes of a file's text what change returns for it, and returns the rest of that. */
  #edit(path, change) {
    const key = keyOf(path);
    return this.#keys.decide(async () => {
      const memory = key === root ? undefined : await this.#keys.get(key, { latest: true });
      if (!memory) throw (await this.#isFolder(key)) ? new Error(`The path ${path} is not a file.`) : absent(path);
      const { text, ...rest } = change(textOf(memory));
      await this.#keys.batch([{ op: "put", key, memory: memoryOf(text), if_revision: memory.revision }]);
      return rest;
    });
  }

  /** each does a step with a file, or with all files of a folder at once, and returns how many they were. */
  #each(key, step) {
    let done = 0;
    return this.#keys.decide(async () => {
      const one = await this.#keys.get(key, { latest: true }),
        files = one ? [{ key, revision: one.revision }] : [];
      if (!one) for await (const file of this.#keys.rows(key, { latest: true })) files.push(file);
      for (let i = 0; i < files.length; i += batchSteps) {
        const { results } = await this.#keys.batch(files.slice(i, i + batchSteps).map(step));
        done += results.length;
      }
      return done;
    });
  }

  async #isFolder(key) {
    if (key === root) return true;
    for await (const _ of this.#keys.rows(key, { depth: 1, limit: 1, latest: true })) return true;
    return false;
  }

  async #bytes({ key, bytes }) {
    const memory = bytes === blank.length ? await this.#keys.get(key) : undefined;
    return memory ? new TextEncoder().encode(textOf(memory)).length : bytes;
  }

  async #list(path, key) {
    const folder = new Map(); // name to size, or to the folder's own names
    for await (const row of this.#keys.rows(key, { depth: 2 })) {
      const [name, below] = row.key.slice(key.length + 1).split("/");
      const shown = row.key.endsWith("/") ? new Map() : sizeOf(await this.#bytes(row));
      if (below === undefined) folder.set(name, shown);
      else folder.set(name, (folder.get(name) ?? new Map()).set(below, shown));
    }
    if (folder.size === 0 && key !== root) throw absent(path);
    const lines = [`${folderSize}\t${path}`];
    const add = (names, above) => {
      for (const name of [...names.keys()].sort()) {
        const below = names.get(name);
        if (name.startsWith(".") || name === "node_modules") continue;
        lines.push(typeof below === "string" ? `${below}\t${above}${name}` : `${folderSize}\t${above}${name}/`);
        if (typeof below !== "string") add(below, `${above}${name}/`);
      }
    };
    add(folder, `${path}/`);
    return `Here're the files and directories up to 2 levels deep in ${path}, excluding hidden items and node_modules:\n${lines.join("\n")}`;
  }
}
