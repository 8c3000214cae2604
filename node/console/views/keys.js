import { get } from "/console/api.js";
import { ago, empty, fill, h, pill, when } from "/console/dom.js";

const side = { clients: "clients", peers: "members" };
const look = { valid: "good", ends_soon: "warn", ended: "bad", not_yet: "bad" };

/** keys shows what each member's files are encrypted with and which certificates its ports show. No key is in any answer. */
export function keys(table) {
  const about = h("div", {}), card = h("div", { class: "card keys" }, h("h2", {}, "Keys and certificates"), about);
  const draw = async (signal) => {
    const { nodes } = await get("/v1/cluster/keys", signal);
    const certificates = nodes.flatMap((n) => n.certificates.map((c) => ({ ...c, node: n.node_id })));
    fill(about, ...warnings(nodes, certificates).map((w) => h("p", { class: "warn", role: "status" }, `▲ ${w}`)),
      h("h3", {}, "Encryption of each home"), table(["Node", "Home", "Data key", "Made", "Master key", ""], nodes.flatMap(home)),
      h("h3", {}, "Certificates"), certificates.length > 0 ? table(["Node", "Shown to", "Subject", "Valid for", "Ends", ""], certificates.map(certificate)) : empty("No node has a certificate.", h("code", {}, "cairn cluster cert"), " makes some, and [tls] names them."),
      h("h3", {}, "Ports"), table(["Node", "Port", "Address", ""], nodes.flatMap((n) => n.ports.map((p) => port(n, p)))));
    const t = setInterval(() => { for (const e of about.querySelectorAll("[data-until]")) e.textContent = left(Number(e.dataset.until)); }, 1000);
    signal.addEventListener("abort", () => clearInterval(t));
  };
  return { card, draw };
}

/** left is how long a certificate is still valid. */
function left(until) {
  const seconds = until - Date.now() / 1000;
  if (seconds < 0) return `ended ${ago(-seconds)} ago`;
  if (seconds >= 86400) return `in ${ago(seconds)}`;
  const two = (n) => String(Math.floor(n)).padStart(2, "0");
  return `in ${two(seconds / 3600)}:${two((seconds / 60) % 60)}:${two(seconds % 60)}`;
}

/** warnings are what an administrator has to do something about. */
function warnings(nodes, certificates) {
  const all = nodes.filter((n) => n.error).map((n) => `Node ${n.node_id} did not answer: its keys and certificates are not known here.`);
  const heard = nodes.filter((n) => !n.error), plain = heard.filter((n) => !n.encrypted);
  if (plain.length > 0 && plain.length < heard.length) all.push(`The home of node ${plain.map((n) => n.node_id).join(", ")} is not encrypted, while others are.`);
  for (const c of certificates) {
    const whose = `The certificate that node ${c.node} shows to ${side[c.shown_to]}`;
    if (c.state === "ended") all.push(`${whose} has ended: connections are refused until its files are replaced.`);
    if (c.state === "ends_soon") all.push(`${whose} ends ${left(c.not_after)}: replace its files; the node reads them again by itself.`);
    if (c.state === "not_yet") all.push(`${whose} is not valid before ${when(c.not_before)}: compare the node's clock.`);
  }
  for (const n of heard) for (const p of n.ports) if (!p.tls && !p.loopback) all.push(`Port ${p.name} of node ${n.node_id} is plain text and reachable from other machines: tokens and memories can be read on the way. Configure ${p.name === "peers" ? "[tls.cluster]" : "[tls]"}.`);
  return all;
}

function home(n) {
  const rotation = n.rewriting.length > 0 ? pill("warn", `rotating: ${n.rewriting.join(", ")} left`) : "";
  if (n.error) return [h("tr", {}, h("td", {}, `Node ${n.node_id}`), h("td", {}, pill("bad", "▲ did not answer")), h("td", {}), h("td", {}), h("td", {}), h("td", {}))];
  if (!n.encrypted) return [h("tr", { "data-home": n.node_id }, h("td", {}, `Node ${n.node_id}`), h("td", {}, pill("", "not encrypted")), h("td", {}), h("td", {}), h("td", {}), h("td", {}))];
  return n.keys.map((k) => h("tr", { "data-home": n.node_id, "data-key": k.id }, h("td", {}, `Node ${n.node_id}`), h("td", {}, pill("good", "encrypted")), h("td", { class: "mono" }, k.id), h("td", { title: when(k.created_at) }, `${ago(Date.now() / 1000 - k.created_at)} ago`),
    h("td", { class: "mono" }, k.master), h("td", {}, k.active ? pill("brand", "active") : rotation || pill("", "replaced"))));
}

const certificate = (c) => h("tr", { "data-certificate": `${c.node} ${c.shown_to}` }, h("td", {}, `Node ${c.node}`), h("td", {}, side[c.shown_to]), h("td", { class: "mono", title: `signed by ${c.issuer}` }, c.subject), h("td", { class: "mono" }, c.names.join(", ") || "–"),
  h("td", { title: when(c.not_after), "data-until": c.not_after }, left(c.not_after)), h("td", {}, pill(look[c.state], c.state.replace("_", " "))));

const port = (n, p) => h("tr", { "data-port": `${n.node_id} ${p.name}` }, h("td", {}, `Node ${n.node_id}`), h("td", {}, p.name), h("td", { class: "mono" }, p.addr), h("td", {}, p.tls ? pill("good", "TLS") : p.loopback ? pill("", "plain, this machine only") : pill("bad", "▲ plain text")));
