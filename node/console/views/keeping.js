import { database, get, post, remove, send, text, upload } from "/console/api.js";
import { attempt, button, confirmedByName, count, fill, h, pairs, submit, toast } from "/console/dom.js";

/** backups makes a backup of all databases and saves it where the browser saves files. */
export function backups() {
  const done = h("progress", { hidden: true, "aria-label": "Downloaded", max: 1, value: 0 }), said = h("p", { class: "soft", role: "status" });
  const make = async () => {
    done.hidden = false;
    said.textContent = "The node writes the backup…";
    try {
      const made = await post("/v1/admin/backups", {});
      const r = await send("GET", `/v1/admin/backups/${encodeURIComponent(made.id)}`);
      if (!r.ok) throw new Error((await r.json().catch(() => null))?.error ?? `HTTP ${r.status}`);
      const parts = [], reader = r.body.getReader();
      for (let n = 0; ;) {
        const { value, done: ended } = await reader.read();
        if (ended) break;
        parts.push(value);
        done.value = (n += value.length) / (made.size || 1);
        said.textContent = `${(n / 1e6).toFixed(1)} of ${(made.size / 1e6).toFixed(1)} MB`;
      }
      await remove(`/v1/admin/backups/${encodeURIComponent(made.id)}`);
      const at = URL.createObjectURL(new Blob(parts)), name = `state-${String(made.index).padStart(20, "0")}.cairn`;
      h("a", { href: at, download: name }).click();
      URL.revokeObjectURL(at);
      fill(said, `${name}: the state at entry ${made.index.toLocaleString()}, hash `, h("span", { class: "mono" }, made.state_hash.slice(0, 10)), ". ", h("code", {}, "cairn backup verify DIR"), " checks the directory that it lies in.");
    } catch (e) { said.textContent = ""; throw e; } finally { done.hidden = true; }
  };
  return h("div", { class: "card" }, h("h2", {}, "Backup"), h("p", { class: "soft" }, "All databases as this node has them, in one file. A large state is better fetched by ", h("code", {}, "cairn backup"), ", which goes on where a download broke off. Restoring takes a stopped node: ", h("code", {}, "cairn restore"), "."),
    h("form", { "aria-label": "Make a backup", onsubmit: attempt(make) }, submit("Make a backup", {}, "admin")), done, said);
}

/** An export is stored part by part, so that there is progress and no request is long. */
const partBytes = 1 << 20;

/** moves saves a database's memories as lines, and stores those of such a file. */
export function moves() {
  const done = h("progress", { hidden: true, "aria-label": "Stored", max: 1, value: 0 }), said = h("p", { class: "soft", role: "status" });
  const file = h("input", { type: "file", name: "memories", accept: ".jsonl,.ndjson,.json", required: true, "aria-label": "File of memories" });
  const save = async () => {
    const at = URL.createObjectURL(new Blob([await text("/v1/export")]));
    h("a", { href: at, download: `${database()}.jsonl` }).click();
    URL.revokeObjectURL(at);
  };
  const restore = async () => {
    const [from] = file.files;
    if (!(await confirmedByName(`Store the memories of ${from.name}, ${(from.size / 1e6).toFixed(1)} MB, in ${database()}? They get new ids. The same file again stores nothing twice.`, database(), "Store"))) return;
    done.hidden = false;
    try {
      const key = `console-${from.name}-${from.size}-${from.lastModified}`.replace(/[^\x21-\x7e]/g, "_").slice(0, 400);
      let stored = 0, rest = "", at = 0;
      const put = async (part) => {
        if (part.trim() === "") return;
        stored += (await upload(`/v1/import?key=${encodeURIComponent(`${key}-${at}`)}`, part, "application/x-ndjson")).memories;
      };
      const decoder = new TextDecoder();
      for (; at < from.size; at += partBytes) {
        rest += decoder.decode(await from.slice(at, at + partBytes).arrayBuffer(), { stream: at + partBytes < from.size });
        const end = rest.lastIndexOf("\n") + 1;
        await put(rest.slice(0, end));
        rest = rest.slice(end);
        done.value = Math.min(1, (at + partBytes) / from.size);
        said.textContent = `${count(stored, "memory", "memories")} stored`;
      }
      await put(rest);
      said.textContent = `${count(stored, "memory", "memories")} of ${from.name} stored in ${database()}`;
      file.value = "";
    } finally { done.hidden = true; }
  };
  return h("div", { class: "card" }, h("h2", {}, `Memories of ${database()} as a file`), h("p", { class: "soft" }, "One JSON object on each line: memories, then relations. Those of a backup are restored without stopping a node by ", h("code", {}, "cairn restore --from DIR --database NAME --into OTHER"), "."),
    h("div", { class: "filters" }, button("Save…", {}, save), h("form", { "aria-label": "Store memories from a file", class: "filters", onsubmit: attempt(restore) }, file, submit("Store…", {}, "write"))), done, said);
}

const policies = [["default_ttl_secs", "let memories without a time expire after seconds"], ["working_ttl_secs", "forget memories of tier working after seconds"], ["episodic_ttl_secs", "forget memories of tier episodic after seconds"], ["promote_after", "accesses after which a memory moves up a tier"]];
const switches = [["consolidate", "merge memories that say the same"], ["quiet_mind", "no background cognition"]];

/** settings are a database's policies, which it keeps its memories by. */
export function settings() {
  const form = h("div", {});
  const draw = async (signal) => {
    const now = await get("/v1/admin/settings", signal);
    const numbers = policies.map(([name, about]) => h("label", {}, about, h("input", { type: "number", min: 0, name, value: now[name] })));
    const checks = switches.map(([name, about]) => h("label", { class: "inline" }, h("input", { type: "checkbox", name, checked: now[name] }), about));
    const set = async () => {
      if (!(await confirmedByName(`Change the policies of ${database()}?`, database(), "Set"))) return;
      const inputs = [...form.querySelectorAll("input")];
      await post("/v1/admin/settings", Object.fromEntries(inputs.map((i) => [i.name, i.type === "checkbox" ? i.checked : Number(i.value)])));
      toast("Set");
    };
    fill(form, h("form", { "aria-label": "Policies", onsubmit: attempt(set) }, h("div", { class: "filters" }, ...numbers), h("div", { class: "filters" }, ...checks, submit("Set policies…", {}, "owner"))));
  };
  return { card: h("div", { class: "card" }, h("h2", {}, `Policies of ${database()}`), h("p", { class: "soft" }, "0 is never."), form), draw };
}

/** embedding is what embeds a database's memories, and how far that is. */
export function embedding() {
  const about = h("div", {});
  const draw = async (signal) => {
    const name = database(), path = `/v1/admin/databases/${encodeURIComponent(name)}/embedding`;
    const now = await get(path, signal);
    const changing = now.changes_to;
    const set = async (body, question, verb) => {
      if (!(await confirmedByName(question, name, verb))) return;
      const { lacking } = await post(path, body);
      toast(lacking ? `Started. Without this model: node ${lacking.join(", ")}` : "Done");
      await draw();
    };
    const choice = h("select", { name: "embedder", "aria-label": "Model" }, ...now.has.map((m) => h("option", { value: m }, m)), h("option", { value: "none" }, "none"));
    const use = () => set({ embedder: choice.value }, choice.value === "none" ? `Remove the vectors of ${name}? Its memories are found by words alone.`
      : `Embed the ${count(now.of, "memory", "memories")} of ${name} with ${choice.value}? It runs in the background, and the vectors it has answer until all are made.`, "Change");
    const end = () => set({ cancel: true }, `End the change of ${name} to ${changing}? What was made for it is removed.`, "End");
    fill(about, pairs({ Model: now.embedder ?? "none: clients bring vectors, or recall goes by words", ...changing && { "Changes to": changing }, Embedded: `${now.done.toLocaleString()} of ${now.of.toLocaleString()}`, "Last error": now.last_error }),
      now.missing > 0 && now.embedder && h("progress", { max: now.of, value: now.done, "aria-label": "Embedded" }),
      changing ? button("Keep the model it has…", {}, end, "admin") : h("form", { "aria-label": "Embedder", class: "filters", onsubmit: attempt(use) }, choice, submit("Change…", {}, "admin")));
  };
  return { card: h("div", { class: "card" }, h("h2", {}, `Embedder of ${database()}`), about), draw };
}
