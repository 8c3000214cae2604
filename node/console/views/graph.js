import { get, post } from "/console/api.js";
import { attempt, count, cut, empty, fill, h, pairs, pill, submit, toast, when } from "/console/dom.js";
import { layout } from "/console/views/layout.js";
import { openMemory } from "/console/views/memory.js";

const most = 60; // relations that one entity unfolds at once

/** Entities and relations: drag to move, click to see and unfold. */
export async function graph(page, signal, start) {
  const nodes = new Map(), links = new Map();
  const lines = h("g", {}), dots = h("g", {}), svg = h("svg", { class: "graph", viewBox: "0 0 900 560", role: "group", "aria-label": "Entities and their relations" }, lines, dots);
  const name = h("input", { value: start, placeholder: "an entity", class: "grow", "aria-label": "Entity", list: "entities" }), known = h("datalist", { id: "entities" });
  const side = h("div", { class: "card side" }), note = h("p", { class: "soft small" });
  const move = layout(svg, nodes, links, signal);

  function node(id, x, y) {
    if (!nodes.has(id)) {
      const n = { id, x: (x ?? 450) + 40 * Math.cos(nodes.size * 2.4), y: (y ?? 280) + 40 * Math.sin(nodes.size * 2.4), vx: 0, vy: 0, degree: 0, open: false };
      n.dot = h("circle", { r: 8 });
      n.el = h("g", { class: "node", tabindex: 0, role: "button", "aria-label": id }, n.dot, h("text", { "text-anchor": "middle", dy: 26 }, cut(id, 26)), h("title", {}, id));
      n.el.addEventListener("pointerdown", (e) => drag(e, n));
      n.el.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); visit(n); } });
      nodes.set(id, n);
      dots.append(n.el);
    }
    return nodes.get(id);
  }
  async function unfold(id) {
    const n = node(id);
    n.open = true;
    n.el.classList.add("open");
    const { edges } = await get(`/v1/edges?entity=${encodeURIComponent(id)}`, signal);
    for (const e of edges.slice(0, most)) {
      if (links.has(e.edge_id)) continue;
      const l = { a: node(e.src, n.x, n.y), b: node(e.dst, n.x, n.y), line: h("line", {}), label: h("text", { class: "rel", "text-anchor": "middle" }, e.rel_type) };
      for (const end of [l.a, l.b]) end.dot.setAttribute("r", Math.min(18, 7 + 1.6 * ++end.degree));
      links.set(e.edge_id, l);
      lines.append(l.line, l.label);
    }
    note.textContent = `${count(nodes.size, "entity", "entities")}, ${count(links.size, "relation")}. Drag to move, click to unfold.`;
    move.warm();
  }
  const visit = attempt(async (n) => {
    for (const o of nodes.values()) o.el.classList.toggle("chosen", o === n);
    await Promise.all([n.open ? null : unfold(n.id), profile(n.id)]);
  });
  async function profile(id) {
    const at = encodeURIComponent(id);
    const [p, said] = await Promise.all([get(`/v1/entities/${at}`, signal).catch(() => null), get(`/v1/chronology?entity=${at}&limit=20`, signal).catch(() => ({ items: [] }))]);
    fill(side, h("h2", {}, id), p && h("div", {}, h("div", { class: "chips" }, p.entity_type !== "unknown" && pill("", p.entity_type), ...p.relations.map((r) => pill("", r))),
      pairs({ Relations: p.links, Memories: p.memories, Mood: p.memories > 0 ? p.average_valence.toFixed(2) : "", "Last seen": p.last_seen && when(p.last_seen) })),
    said.items.length > 0 ? h("ul", { class: "plain" }, ...said.items.toReversed().slice(0, 8).map((m) => h("li", {}, h("button", { type: "button", class: "link text", onclick: () => openMemory(m.rid) }, cut(m.text, 140))))) : h("p", { class: "soft small" }, "No memory names it."));
  }
  function drag(e, n) {
    e.preventDefault();
    n.el.focus({ preventScroll: true });
    const from = [e.clientX, e.clientY], scale = 1 / svg.getScreenCTM().a;
    let moved = false;
    const drift = (ev) => {
      moved ||= Math.hypot(ev.clientX - from[0], ev.clientY - from[1]) > 4;
      n.x += ev.movementX * scale; n.y += ev.movementY * scale; n.held = true;
      move.warm(0.3);
    };
    const up = () => { n.held = false; removeEventListener("pointermove", drift); removeEventListener("pointerup", up); if (!moved) visit(n); };
    addEventListener("pointermove", drift);
    addEventListener("pointerup", up);
  }
  const relate = ["entity", "relationship", "target"].map((p) => h("input", { placeholder: p, "aria-label": p, class: "grow", required: true }));
  const { entities } = await get("/v1/entities?limit=300", signal);
  fill(known, ...entities.map((e) => h("option", { value: e.name })));
  fill(side, h("h2", {}, "Graph"), h("p", { class: "soft" }, "Choose an entity to see what is known of it."), h("div", { class: "chips" }, ...entities.toSorted((a, b) => b.mentions - a.mentions).slice(0, 12).map((e) =>
    h("button", { type: "button", class: "chip", onclick: () => visit(node(e.name)) }, e.name, h("span", { class: "soft" }, ` ${e.mentions}`)))));
  fill(page, h("h1", {}, "Graph"), h("form", { class: "card row nowrap", onsubmit: attempt(async () => { if (name.value) await visit(node(name.value)); }) }, name, known, h("button", { class: "primary" }, "Show")),
    entities.length === 0 ? empty("No entities yet.", "Relate two below, or remember something that names somebody.") : h("div", { class: "beside" }, h("div", {}, svg, note), side),
    h("form", { class: "card", onsubmit: attempt(async () => { await post("/v1/relate", Object.fromEntries(relate.map((i) => [i.placeholder, i.value]))); toast("Related"); node(relate[0].value).open = false; await visit(node(relate[0].value)); }) },
      h("h2", {}, "Relate"), h("div", { class: "row" }, ...relate, submit("Relate", {}, "write"))));
  const first = start ? [start] : entities.toSorted((a, b) => b.mentions - a.mentions).slice(0, 6).map((e) => e.name);
  await Promise.all(first.map(unfold));
  if (start) { // its neighbours' relations as well
    await Promise.all([...nodes.keys()].slice(1, 9).map(unfold));
    nodes.get(start).el.classList.add("chosen");
    await profile(start);
  }
}
