import { get, signIn, signOut, token, Refused } from "/console/api.js";
import { fill, h, toast } from "/console/dom.js";
import { cluster } from "/console/views/cluster.js";
import { recall } from "/console/views/recall.js";
import { memories } from "/console/views/memories.js";
import { graph } from "/console/views/graph.js";
import { mind } from "/console/views/mind.js";
import { log } from "/console/views/log.js";
import { metrics } from "/console/views/metrics.js";

// A view fills the page and may go on working until its signal ends.
const views = { cluster: ["Cluster", cluster], recall: ["Recall", recall], memories: ["Memories", memories], graph: ["Graph", graph], mind: ["Mind", mind], log: ["Log", log], metrics: ["Metrics", metrics] };

const main = document.getElementById("main");
const nav = document.querySelector("nav");
const who = document.querySelector(".who");
let leave = new AbortController();

async function show() {
  leave.abort();
  document.querySelectorAll("dialog").forEach((d) => d.close());
  leave = new AbortController();
  if (!token()) return signInPage();
  const [name, ...rest] = decodeURIComponent(location.hash.slice(1)).split("/");
  const current = views[name] ? name : "cluster";
  fill(nav, ...Object.entries(views).map(([id, [title]]) => h("a", { href: `#${id}`, "aria-current": id === current ? "page" : false }, title)));
  fill(who, h("button", { type: "button", onclick: () => { signOut(); show(); } }, "Sign out"));
  document.title = `${views[current][0]} · Cairn`;
  fill(main, h("h1", {}, views[current][0]), h("p", { class: "soft" }, "Loading…"));
  try {
    await views[current][1](main, leave.signal, rest.join("/"));
  } catch (e) {
    if (leave.signal.aborted) return;
    if (e instanceof Refused && e.status === 401) { signOut(); return show(); }
    fill(main, h("h1", {}, views[current][0]), h("div", { class: "card" }, h("p", {}, e.message), e.status === 403 && h("p", { class: "soft" }, "This token may not see this. Sign in with one that has the right.")));
  }
}

function signInPage() {
  fill(nav); fill(who);
  const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-label": "Token" });
  fill(main, h("form", { class: "card signin", onsubmit: async (e) => {
    e.preventDefault();
    signIn(input.value.trim());
    try { await get("/v1/stats"); show(); } catch (err) { signOut(); toast(err.message); input.select(); }
  } }, h("h1", {}, "Sign in"), h("p", { class: "soft" }, "Use a client token. A node started with cairn dev keeps one in its home, in the file named token."),
  h("div", { class: "row" }, h("div", { class: "grow" }, input), h("button", { class: "primary" }, "Sign in"))));
  input.style.width = "100%";
  input.focus();
}

addEventListener("hashchange", show);
show();
