import { choose, database, get, may, me, send, signOut, token } from "/console/api.js";
import { attempt, fill, h, pairs } from "/console/dom.js";
import { signInForm } from "/console/signin.js";

// The page on which a person lets an OAuth client act for them. The client's parameters are in the address; what is asked goes out with the token of this tab, so no other page can agree in the person's place.

const main = document.getElementById("main");
const asked = Object.fromEntries(new URLSearchParams(location.search));

/** ask sends the parameters and a decision. A refusal may say where the client waits to be told. */
async function ask(decision) {
  const r = await send("POST", `/oauth/consent?database=${encodeURIComponent(database())}`, JSON.stringify({ ...asked, ...decision }));
  return { ok: r.ok, status: r.status, ...(await r.json().catch(() => ({}))) };
}

const leave = (to) => { signOut(); location.assign(to); };
const card = (title, ...more) => fill(main, h("div", { class: "card signin" }, h("h1", {}, title), ...more));

function refused(a) {
  card("This cannot go on", h("p", { class: "wrong", role: "alert" }, a.error_description ?? `HTTP ${a.status}`),
    a.redirect ? h("button", { type: "button", onclick: () => leave(a.redirect) }, `Back to ${new URL(a.redirect).host}`) : h("p", { class: "soft" }, "Close this page and begin again in the client."));
}

async function show() {
  if (!token()) return signInForm(main, "A client asks for access to this memory. Sign in with a token of yours to see which one.", show);
  await me();
  const a = await ask({});
  if (a.status === 401) { signOut(); return show(); }
  if (!a.ok) return refused(a);
  const names = may("admin") ? (await get("/v1/databases")).databases.map((d) => d.name) : [a.database];
  const where = names.length > 1
    ? h("select", { "aria-label": "Database", onchange: (e) => { choose(e.target.value); show(); } }, ...names.map((n) => h("option", { value: n, selected: n === a.database }, n)))
    : h("span", { class: "mono" }, a.database);
  const rights = ["read", "write"].map((s) => h("input", { type: "checkbox", name: s, checked: a.scopes.includes(s), disabled: !a.scopes.includes(s) }));
  const within = h("input", { name: "namespaces", autocomplete: "off", spellcheck: "false", placeholder: a.namespaces?.join(", ") ?? "all of the database" });
  const decide = (decision) => attempt(async () => {
    const scopes = rights.filter((r) => r.checked).map((r) => r.name), namespaces = within.value.split(",").map((n) => n.trim()).filter(Boolean);
    const done = await ask(decision === "allow" ? { decision, scopes, namespaces } : { decision });
    if (done.ok) leave(done.redirect); else if (done.redirect) refused(done); else throw new Error(done.error_description);
  });
  document.title = `${a.client_name} · Cairn`;
  card(`Let ${a.client_name} use this memory?`,
    h("p", { class: a.client_host ? "soft" : "warn" }, a.client_host ? `${a.client_host} publishes this client.` : "This client registered itself: nobody has checked its name. Allow it only if you have just begun this in it."),
    pairs({ "Sends you to": h("strong", {}, a.redirect_host), "Your token": a.label || "without a label", Database: where }),
    h("fieldset", {}, h("legend", {}, "It may"), ...rights.map((r) => h("label", { class: "inline" }, r, r.name === "read" ? "read memories" : "store, change and forget memories"))),
    h("label", {}, "Only in these namespaces and below (separated by commas)", within),
    h("p", { class: "soft small" }, "It ends when whoever administers the database revokes it (in Admin, or with ", h("code", {}, "cairn token revoke"), "), when your own token ends, or when the client was not used for a month."),
    h("div", { class: "row end" }, h("button", { type: "button", onclick: decide("deny") }, "Deny"), h("button", { type: "button", class: "primary", onclick: decide("allow") }, "Allow")));
}

show().catch((e) => refused({ error_description: e.message }));
