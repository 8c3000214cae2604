import { database, get, may, post, remove } from "/console/api.js";
import { attempt, button, confirmedByName, count, dialog, empty, fill, h, pill, scrolls, submit, toast, when } from "/console/dom.js";
import { backups, embedding, moves, settings } from "/console/views/keeping.js";
import { keys } from "/console/views/keys.js";
import { members } from "/console/views/members.js";

/** Each section shows one thing to administer, and asks for that alone. What changes something asks for its name. */
const sections = {
  tokens: ["Tokens", drawn(({ rows, draw, signal }) => [h("div", { class: "card" }, h("h2", {}, "Tokens"), rows, makeToken(draw)), async () => {
    const { tokens } = await get("/v1/admin/tokens", signal);
    fill(rows, tokens.length > 0 ? table(["Token", "Label", "Database", "Scopes", "Limits", "Last used", ""], tokens.map((t) => token(t, draw))) : empty("There are no tokens.", "The cluster secret is not one of them."));
  }])],
  databases: ["Databases", drawn(({ rows, draw, signal }) => [h("div", { class: "card" }, h("h2", {}, "Databases"), rows, makeDatabase(draw)), async () => {
    const { databases } = await get("/v1/databases", signal);
    const quotas = await Promise.all(databases.map((d) => get(`/v1/admin/databases/${encodeURIComponent(d.name)}/quota`, signal)));
    fill(rows, table(["Database", "Memories", "Most memories", "Limits on each node", ""], quotas.map((q) => quota(q, draw))));
  }])],
  memory: ["Embedder and policies", async (signal) => parts(signal, embedding(), settings())],
  members: ["Members", async (signal) => parts(signal, members(table))],
  keys: ["Keys", async (signal) => (may("admin") ? parts(signal, keys(table)) : [onlyAdmin()])],
  backup: ["Backup and files", async () => [backups(), moves()]],
  audit: ["Audit", async (signal) => (may("admin") ? [h("div", { class: "card" }, h("h2", {}, "Who changed what"), changes((await get("/v1/admin/audit?limit=50", signal)).audit))] : [onlyAdmin()])],
};

const onlyAdmin = () => empty("This token may not see it.", "Sign in with a token of scope admin.");

/** parts are cards that draw themselves. */
async function parts(signal, ...all) {
  await Promise.all(all.map((p) => p.draw(signal)));
  return all.map((p) => p.card);
}

/** drawn makes a section of a card whose rows are drawn again after each change. */
function drawn(make) {
  return async (signal) => {
    let redraw;
    const [card, draw] = make({ rows: h("div", {}), draw: () => redraw(), signal });
    await (redraw = draw)();
    return [card];
  };
}

/** Tokens, databases, members, keys and certificates, backups, policies, and who changed what: a section each. */
export async function admin(page, signal, chosen) {
  const current = sections[chosen] ? chosen : "tokens";
  const tabs = h("nav", { class: "tabs", "aria-label": "Sections" }, ...Object.entries(sections).map(([id, [title]]) => h("a", { href: `./#admin/${id}`, "aria-current": id === current && "page" }, title)));
  scrolls(tabs);
  fill(page, h("h1", { class: "unseen" }, "Admin"), tabs, ...(await sections[current][1](signal)));
}

/** table shows rows whose cells say their column where there is no room for a head. */
const table = (names, rows) => {
  for (const r of rows) for (const [i, cell] of [...r.cells].entries()) if (names[i]) cell.dataset.label = names[i];
  return h("table", { class: "stack admin" }, h("thead", {}, h("tr", {}, ...names.map((n) => h(n ? "th" : "td", {}, n)))), h("tbody", {}, ...rows));
};

const bounds = (b) => [b.max_rps && `${b.max_rps} a second`, b.burst && `${b.burst} at once`, b.max_batch_size && `${b.max_batch_size} a request`].filter(Boolean).join(", ") || "none";

function token(t, draw) {
  const ended = t.revoked_at ?? (t.expires_at !== null && t.expires_at * 1000 < Date.now() ? t.expires_at : null);
  const revoke = async () => {
    if (!(await confirmedByName(`Revoke the token ${t.label || t.hash_prefix}? Clients that show it are refused at once.`, t.label || t.hash_prefix, "Revoke"))) return;
    await post("/v1/admin/tokens/revoke", { token: t.hash_prefix });
    toast("Revoked");
    await draw();
  };
  return h("tr", { "data-token": t.label || t.hash_prefix }, h("td", { class: "mono" }, t.hash_prefix), h("td", {}, t.label), h("td", {}, t.database), h("td", {}, (t.scopes.length > 0 ? t.scopes.join(" · ") : "read · write") + (t.namespaces ? ` below ${t.namespaces.join(", ")}` : "")), h("td", { class: "soft" }, bounds(t)),
    h("td", { class: "soft" }, t.last_used_at === null ? "never" : when(t.last_used_at)), h("td", {}, ended !== null ? pill("bad", t.revoked_at !== null ? "revoked" : "expired") : h("div", { class: "row" }, button("Limit…", { "aria-label": `Limit ${t.label || t.hash_prefix}` }, () => limits("Limits", t.label || t.hash_prefix, t, [], (values) => post("/v1/admin/tokens/limit", { token: t.hash_prefix, ...values }), draw), "owner"),
      button("Revoke…", { class: "danger", "aria-label": `Revoke ${t.label || t.hash_prefix}` }, revoke, "owner"))));
}

function makeToken(draw) {
  const label = h("input", { name: "label", required: true, autocomplete: "off" }), place = h("input", { name: "database", value: database(), autocomplete: "off" }), days = h("input", { name: "days", type: "number", min: 1, placeholder: "never" });
  const spaces = h("input", { name: "namespaces", autocomplete: "off", placeholder: "all" });
  const scopes = ["read", "write", "owner", "admin"].map((s) => h("label", { class: "inline" }, h("input", { type: "checkbox", name: s, disabled: !may(s), checked: s === "read" }), s));
  const make = async () => {
    const chosen = scopes.map((l) => l.firstChild).filter((c) => c.checked).map((c) => c.name);
    if (chosen.length === 0) throw new Error("Choose a scope.");
    const made = await post("/v1/admin/tokens", { label: label.value, database: place.value, scopes: chosen, namespaces: spaces.value.split(",").map((n) => n.trim()).filter(Boolean), expires_at: days.value ? Date.now() / 1000 + 86400 * Number(days.value) : undefined });
    label.value = "";
    dialog("The token's text, shown once", h("p", {}, "Copy it now: the cluster stores only its hash and cannot show it again."), h("pre", { class: "mono code token", tabindex: 0 }, made.token),
      h("p", {}, "In the configuration of an MCP client:"), h("pre", { class: "mono code connect", tabindex: 0 }, JSON.stringify({ mcpServers: { cairn: { type: "http", url: `${location.origin}/mcp`, headers: { Authorization: `Bearer ${made.token}` } } } }, null, 2)));
    await draw();
  };
  return h("form", { class: "filters", "aria-label": "Create a token", onsubmit: attempt(make) }, h("label", {}, "label", label), h("label", {}, "database", place), h("label", {}, "ends after days", days), h("label", {}, "namespaces", spaces), ...scopes, submit("Create token", {}, "owner"));
}

function quota(q, draw) {
  const drop = async () => {
    if (!(await confirmedByName(`Delete the database ${q.database} with ${count(q.active_memories, "memory", "memories")}? Its tokens are revoked. A backup is the only way back.`, q.database, "Delete"))) return;
    await remove(`/v1/databases/${encodeURIComponent(q.database)}`);
    toast("Deleted");
    await draw();
  };
  const path = `/v1/admin/databases/${encodeURIComponent(q.database)}/quota`;
  return h("tr", { "data-database": q.database }, h("td", {}, q.database), h("td", { class: "num" }, q.active_memories.toLocaleString()), h("td", { class: "soft num" }, q.max_memories || "no bound"), h("td", { class: "soft" }, bounds(q)),
    h("td", {}, h("div", { class: "row" }, button("Quota…", { "aria-label": `Quota of ${q.database}` }, () => limits("Quota", q.database, q, ["max_memories"], (values) => post(path, values), draw), "admin"), button("Delete…", { class: "danger", "aria-label": `Delete ${q.database}`, disabled: !may("admin") || q.database === "default" }, drop, "admin"))));
}

const meanings = { max_memories: "most memories", max_rps: "operations a second", burst: "at once", max_batch_size: "memories a request" };

/** limits asks for bounds and sets them; 0 is no bound. */
function limits(kind, name, now, more, set, draw) {
  const inputs = [...more, "max_rps", "burst", "max_batch_size"].map((name) => h("input", { type: "number", min: 0, name, value: now[name] }));
  const d = dialog(`${kind} of ${name}`, h("form", { onsubmit: attempt(async () => { if (!(await confirmedByName(`Change the ${kind.toLowerCase()} of ${name}?`, name, "Set"))) return; await set(Object.fromEntries(inputs.map((i) => [i.name, Number(i.value)]))); d.close(); toast("Set"); await draw(); }) }, h("p", { class: "soft" }, "0 is no bound."),
    h("div", { class: "filters" }, ...inputs.map((i) => h("label", {}, meanings[i.name], i))), h("div", { class: "row end" }, h("button", { class: "primary" }, "Set…"))));
}

function makeDatabase(draw) {
  const name = h("input", { name: "newdatabase", required: true, autocomplete: "off", pattern: "[A-Za-z0-9_\\-][A-Za-z0-9._\\-]{0,63}" });
  return h("form", { class: "filters", "aria-label": "Create a database", onsubmit: attempt(async () => { await post("/v1/databases", { name: name.value }); name.value = ""; toast("Created"); await draw(); }) }, h("label", {}, "name", name), submit("Create database", {}, "admin"));
}

const changes = (list) => (list.length === 0 ? empty("Nothing was changed yet.") : table(["When", "Who", "What", "On", "How"], list.map((a) =>
  h("tr", {}, h("td", { class: "nobreak" }, when(a.at)), h("td", {}, a.label || h("span", { class: "mono" }, a.by)), h("td", {}, a.what), h("td", { class: "mono" }, a.on), h("td", { class: "soft" }, a.how)))));
