import { me, signIn, signOut } from "/console/api.js";
import { fill, h } from "/console/dom.js";

/** signInForm fills a page with the form that asks for a token, and goes on when the node accepts it. */
export function signInForm(page, why, then, said = "") {
  const input = h("input", { type: "password", name: "token", autocomplete: "off", required: true, "aria-label": "Token", placeholder: "ydb_…", class: "grow" });
  const wrong = h("p", { class: "wrong", role: "alert" }, said);
  fill(page, h("form", { class: "card signin", onsubmit: async (e) => {
    e.preventDefault();
    signIn(input.value.trim());
    try { await me(); then(); } catch (err) { signOut(); wrong.textContent = err.message; input.select(); }
  } }, h("img", { src: "/console/icon.svg", alt: "", width: 56, height: 56 }), h("h1", {}, "Cairn"), h("p", { class: "soft" }, why),
  h("div", { class: "row" }, input, h("button", { class: "primary" }, "Sign in")), wrong,
  h("p", { class: "soft small" }, "A node started with ", h("code", {}, "cairn dev"), " prints a link that signs you in, and keeps a token in its home, in the file named token. ", h("code", {}, "cairn token create"), " makes others. The console keeps the token in this tab alone.")));
  input.focus();
}
