import { choose, database, get, may, me, signIn, signOut, token, Refused } from "/console/api.js";
import { fill, h, pill, toast } from "/console/dom.js";
import { cluster } from "/console/views/cluster.js";
import { recall } from "/console/views/recall.js";
import { memories } from "/console/views/memories.js";
import { life } from "/console/views/life.js";
import { graph } from "/console/views/graph.js";
import { mind } from "/console/views/mind.js";
import { log } from "/console/views/log.js";
import { admin } from "/console/views/admin.js";
import { requests } from "/console/views/requests.js";
import { metrics } from "/console/views/metrics.js";

// A view fills the page and may go on working until its signal ends. One that belongs to another stands in its place in the menu.
const views = { cluster: ["Cluster", cluster], recall: ["Recall", recall], memories: ["Memories", memories], memory: ["Memory", life, "memories"], graph: ["Graph", graph], mind: ["Mind", mind], log: ["Log", log], metrics: ["Metrics", metrics], requests: ["Requests", requests], admin: ["Admin", admin] };

const main = document.getElementById("main");
const nav = document.querySelector("nav");
const who = document.querySelector(".who");
let leave = new AbortController();

/** Where the hash leads; one that cannot be read leads where none does. */
function place() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

async function show() {
  leave.abort();
  document.querySelectorAll("dialog").forEach((d) => d.close());
  const mine = (leave = new AbortController());
  if (!token()) return signInPage();
  const [name, ...rest] = place().split("/");
  const current = views[name] ? name : "cluster";
  const title = views[current][0];
  try {
    await header(current);
    if (mine.signal.aborted) return;
    document.title = `${title} · Cairn`;
    const busy = setTimeout(() => fill(main, h("h1", {}, title), h("p", { class: "soft" }, "Loading…")), 150);
    mine.signal.addEventListener("abort", () => clearTimeout(busy));
    const page = h("div", {});
    try {
      await views[current][1](page, mine.signal, rest.join("/"));
    } finally {
      clearTimeout(busy); // it would write over an error's message
    }
    if (mine.signal.aborted) return;
    fill(main, page);
    page.querySelector("[autofocus]")?.focus();
  } catch (e) {
    if (mine.signal.aborted) return;
    if (e instanceof Refused && e.status === 401) { signOut(); toast(e.message, true); return show(); }
    fill(main, h("h1", {}, title), h("div", { class: "card" }, h("p", {}, e.message), e.status === 403 && h("p", { class: "soft" }, "This token does not have the scope for this. Sign in with one that has it."),
      h("button", { type: "button", onclick: show }, "Try again")));
  }
}

/** The header says where one is, and as whom. */
async function header(current) {
  const m = await me();
  if (nav.children.length === 0) fill(nav, ...Object.entries(views).filter(([, [, , within]]) => !within).map(([id, [title]]) => h("a", { href: `#${id}` }, title)));
  for (const a of nav.children) { // changed in place, so that whoever walks it by keyboard stays where they are
    if (a.hash === `#${views[current][2] ?? current}`) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  nav.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" });
  const names = may("admin") ? (await get("/v1/databases")).databases.map((d) => d.name) : [m.database];
  const where = names.length > 1
    ? h("select", { "aria-label": "Database", onchange: (e) => { choose(e.target.value); show(); } }, ...names.map((n) => h("option", { value: n, selected: n === database() }, n)))
    : h("span", { class: "mono" }, database());
  fill(who, pill("", m.master ? "cluster secret" : m.scopes.join(" · ")), where, h("button", { type: "button", class: "quiet", onclick: () => { signOut(); location.hash = ""; show(); } }, "Sign out"));
}

function signInPage() {
  fill(nav); fill(who);
  document.title = "Cairn";
  const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-label": "Token", placeholder: "ydb_…", class: "grow" });
  const wrong = h("p", { class: "wrong", role: "alert" });
  fill(main, h("form", { class: "card signin", onsubmit: async (e) => {
    e.preventDefault();
    signIn(input.value.trim());
    try { await me(); show(); } catch (err) { signOut(); wrong.textContent = err.message; input.select(); }
  } }, h("img", { src: "/console/icon.svg", alt: "", width: 56, height: 56 }), h("h1", {}, "Cairn"), h("p", { class: "soft" }, "Sign in with a client token, or the cluster's secret."),
  h("div", { class: "row" }, input, h("button", { class: "primary" }, "Sign in")), wrong,
  h("p", { class: "soft small" }, "A node started with ", h("code", {}, "cairn dev"), " keeps a token in its home, in the file named token. ", h("code", {}, "cairn token create"), " makes others. It stays in this tab.")));
  input.focus();
}

document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); main.focus(); }); // the hash is the view's
addEventListener("hashchange", show);
show();
