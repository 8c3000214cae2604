import { choose, database, get, may, me, redeem, signIn, signOut, token, Refused } from "/console/api.js";
import { fill, h, scrolls, toast } from "/console/dom.js";
import { signInForm } from "/console/signin.js";
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
const views = { recall: ["Recall", recall], memories: ["Memories", memories], memory: ["Memory", life, "memories"], graph: ["Graph", graph], mind: ["Mind", mind], log: ["Log", log], metrics: ["Metrics", metrics], requests: ["Requests", requests], admin: ["Admin", admin], cluster: ["Cluster", cluster, "cluster"] };
const fullHeight = new Set(["graph"]);

const main = document.getElementById("main");
const nav = document.querySelector("nav");
const who = document.querySelector(".who");
const here = scrolls(nav);
const state = h("a", { class: "state", href: "#cluster", "aria-label": "Cluster" });
let leave = new AbortController();

/** Where the hash leads; one that cannot be read leads where none does. */
function place() {
  try { return decodeURIComponent(location.hash.slice(1)); } catch { return ""; }
}

/** full gives a view the whole window. */
const full = (on) => document.body.classList.toggle("full", on);

async function show() {
  leave.abort();
  document.querySelectorAll("dialog").forEach((d) => d.close());
  const mine = (leave = new AbortController());
  if (!token()) return signInPage();
  const [name, ...rest] = place().split("/");
  const current = views[name] ? name : "recall";
  const title = views[current][0];
  try {
    await header(current);
    if (mine.signal.aborted) return;
    document.title = `${title} · Cairn`;
    const busy = setTimeout(() => { full(false); fill(main, h("h1", {}, title), h("p", { class: "soft" }, "Loading…")); }, 150);
    mine.signal.addEventListener("abort", () => clearTimeout(busy));
    const page = h("div", {});
    try {
      await views[current][1](page, mine.signal, rest.join("/"));
    } finally {
      clearTimeout(busy); // it would write over an error's message
    }
    if (mine.signal.aborted) return;
    full(fullHeight.has(current));
    fill(main, page);
    page.querySelector("[autofocus]")?.focus();
  } catch (e) {
    if (mine.signal.aborted) return;
    if (e instanceof Refused && e.status === 401) { signOut(); toast(e.message, true); return show(); }
    full(false);
    fill(main, h("h1", {}, title), h("div", { class: "card" }, h("p", {}, e.message), e.status === 403 && h("p", { class: "soft" }, "This token does not have the scope for this. Sign in with one that has it."),
      h("button", { type: "button", onclick: show }, "Try again")));
  }
}

/** The header says where one is, as whom, and how the cluster does. */
async function header(current) {
  const m = await me();
  if (nav.children.length === 0) {
    fill(nav, ...Object.entries(views).filter(([, [, , within]]) => !within).map(([id, [title]]) => h("a", { href: `./#${id}` }, title)), h("a", { href: "/docs" }, "Docs"));
    look();
  }
  for (const a of nav.children) { // changed in place, so that whoever walks it by keyboard stays where they are
    if (a.hash === `#${views[current][2] ?? current}`) a.setAttribute("aria-current", "page"); else a.removeAttribute("aria-current");
  }
  here();
  const names = may("admin") ? (await get("/v1/databases")).databases.map((d) => d.name) : [m.database];
  const where = names.length > 1
    ? h("select", { "aria-label": "Database", onchange: (e) => { choose(e.target.value); show(); } }, ...names.map((n) => h("option", { value: n, selected: n === database() }, n)))
    : h("span", { class: "mono" }, database());
  fill(who, state, h("span", { class: "scopes" }, m.master ? "cluster secret" : m.scopes.join(" · ")), where, h("button", { type: "button", class: "quiet", onclick: () => { signOut(); location.hash = ""; show(); } }, "Sign out"));
}

/** look shows the state of the cluster in the header. */
async function look() {
  if (!token() || document.hidden) return;
  const [mood, said] = await get("/v1/cluster", AbortSignal.timeout(4000)).then((s) => [!s.healthy || s.state_agreement === "diverged" ? "bad" : s.condition === "healthy" ? "good" : "warn", s.condition], (e) => [e instanceof Refused ? "" : "bad", "no answer"]);
  state.hidden = mood === ""; // a token that is bound to namespaces may not see it
  state.setAttribute("aria-label", `Cluster: ${said}`);
  fill(state, h("span", { class: `dot ${mood}` }), h("span", { class: "said" }, said[0].toUpperCase() + said.slice(1)));
}

function signInPage(said = "") {
  full(false);
  fill(nav); fill(who);
  document.title = "Cairn";
  signInForm(main, "Sign in with a client token.", show, said);
}

/** enter signs in with the code of a link. The code leaves the address before it is used, so no history keeps it. */
async function enter() {
  const code = /^#sign-in=(\w+)$/.exec(location.hash)?.[1];
  if (!code) return show();
  history.replaceState(null, "", "#recall");
  try { signIn(await redeem(code)); } catch (e) { return token() ? show() : signInPage(e.message); }
  await show();
}

document.querySelector(".skip").addEventListener("click", (e) => { e.preventDefault(); main.focus(); }); // the hash is the view's
addEventListener("hashchange", enter);
setInterval(look, 5000);
enter();
