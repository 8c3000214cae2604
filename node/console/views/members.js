import { get, may, post } from "/console/api.js";
import { attempt, button, confirmedByName, count, fill, h, pill, submit, toast } from "/console/dom.js";

/** survives says what a number of voters can lose. */
function survives(voters) {
  const quorum = Math.floor(voters / 2) + 1, lost = voters - quorum;
  return `${count(voters, "voter")}, of which ${quorum} must answer: ${lost === 0 ? "none may fail" : `${lost} may fail`}`;
}

/** members lists the cluster's nodes and changes them; each change says first what it comes to. */
export function members(table) {
  const rows = h("div", {});
  const draw = async (signal) => {
    const t = await get("/v1/cluster/topology", signal);
    const voters = t.nodes.filter((n) => n.voter).length;
    fill(rows, h("p", { class: "soft" }, `${survives(voters)}.`), table(["Node", "Role", "State", "Peers' port", ""], t.nodes.map((n) => row(n, t, voters, draw))));
  };
  const id = h("input", { name: "joining", type: "number", min: 1, required: true }), addr = h("input", { name: "joinaddr", required: true, placeholder: "10.0.0.4:7440", autocomplete: "off" });
  const role = h("select", { name: "joinrole" }, h("option", { value: "voter" }, "voter"), h("option", { value: "readreplica" }, "read replica"));
  const join = async () => {
    if (!(await confirmedByName(`Add node ${id.value} at ${addr.value}? ${role.value === "voter" ? "Its vote counts from then on: start it first." : "It answers reads and has no vote."}`, id.value, "Add"))) return;
    toast((await post("/v1/cluster/join", { node_id: Number(id.value), addr: addr.value, role: role.value })).message);
    await draw();
  };
  const card = h("div", { class: "card" }, h("h2", {}, "Members"), h("form", { class: "filters", "aria-label": "Add a member", onsubmit: attempt(join) }, h("label", {}, "node", id), h("label", {}, "its peers' port", addr), h("label", {}, "as", role), submit("Add member…", {}, "admin")), rows);
  return { card, draw };
}

function row(n, t, voters, draw) {
  const name = `node ${n.node_id}`;
  const change = (verb, question, button) => async () => {
    if (!(await confirmedByName(question, String(n.node_id), button))) return;
    toast((await post(`/v1/cluster/${verb}`, { node_id: n.node_id })).message);
    await draw();
  };
  const lead = change("transfer", `Have ${name} lead? Writes wait for about a second; none is lost.`, "Hand over");
  const away = change("remove", `Remove ${name}? ${n.voter ? `There are then ${survives(voters - 1)}. ` : ""}${n.is_leader ? "It leads: another is elected first. " : ""}It keeps its files, and comes back only by being added.`, "Remove");
  const promote = change("promote", `Give ${name} a vote? There are then ${survives(voters + 1)}.`, "Promote");
  return h("tr", { "data-member": n.node_id }, h("td", {}, `Node ${n.node_id}`), h("td", {}, n.voter ? "voter" : "read replica"), h("td", {}, n.is_leader ? pill("brand", "Leader") : n.reachable ? n.state : pill("bad", "▲ unreachable")), h("td", { class: "mono" }, n.addr),
    h("td", {}, t.nodes.length > 1 && may("admin") && h("div", { class: "row" }, n.voter && !n.is_leader && button("Lead…", { "aria-label": `Have ${name} lead` }, lead, "admin"), !n.voter && button("Promote…", { "aria-label": `Promote ${name}` }, promote, "admin"),
      button("Remove…", { class: "danger", "aria-label": `Remove ${name}` }, away, "admin"))));
}
