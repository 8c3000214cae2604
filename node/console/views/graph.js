import { get, post } from "/console/api.js";
import { attempt, count, cut, empty, fill, h, pairs, pill, submit, toast, when } from "/console/dom.js";
import { openMemory } from "/console/views/memory.js";
import { scene } from "/console/views/scene.js";

const most = 60; // relations that one entity unfolds at once

/** When a relation was stored: its id begins with that time. An id that another product made says nothing. */
const stored = (id) => (/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? parseInt(id.slice(0, 8) + id.slice(9, 13), 16) / 1000 : null);

/** Entities and relations: click to see and unfold, drag to move, filter by relation and time. */
export async function graph(page, signal, start) {
  const name = h("input", { value: start, placeholder: "an entity", class: "grow", "aria-label": "Entity", list: "entities" }), known = h("datalist", { id: "entities" });
  const side = h("div", { class: "card side" }), note = h("p", { class: "soft small", role: "status" }), kinds = h("div", { class: "chips", role: "group", "aria-label": "Relations" });
  const time = h("input", { type: "range", name: "time", min: 0, max: 1000, value: 1000, "aria-label": "Relations stored until", class: "grow" }), until = h("output", { class: "small nobreak" });
  const hidden = new Set(), s = scene(signal, { choose: attempt((n) => visit(n)), chosen: (n) => { note.textContent = `${n.id}: ${count(n.degree, "relation")} shown`; } });

  async function unfold(id) {
    const n = s.node(id);
    n.rest ??= (await get(`/v1/edges?entity=${encodeURIComponent(id)}`, signal)).edges;
    n.open = true;
    for (const e of n.rest.splice(0, most)) s.link(e.edge_id, s.node(e.src, n), s.node(e.dst, n), e.rel_type, stored(e.edge_id));
    drawFilters();
    s.warm();
  }
  function drawFilters() {
    const counted = new Map();
    for (const l of s.links.values()) counted.set(l.type, (counted.get(l.type) ?? 0) + 1);
    fill(kinds, ...[...counted].sort((a, b) => b[1] - a[1]).slice(0, 24).map(([type, n]) => h("button", { type: "button", class: "chip", "aria-pressed": hidden.has(type) ? "false" : "true", onclick: (e) => {
      if (!hidden.delete(type)) hidden.add(type);
      e.currentTarget.setAttribute("aria-pressed", hidden.has(type) ? "false" : "true");
      filter();
    } }, type.replaceAll("_", " "), h("span", { class: "soft" }, ` ${n}`))));
    filter();
  }
  function filter() {
    let first = Infinity, last = -Infinity;
    for (const l of s.links.values()) if (l.created !== null) { first = Math.min(first, l.created); last = Math.max(last, l.created); }
    const at = Number(time.value) === 1000 ? Infinity : first + ((last - first) * time.value) / 1000;
    s.filter((l) => !hidden.has(l.type) && (l.created === null || l.created <= at));
    until.textContent = at === Infinity ? "until now" : `until ${when(at)}`;
    time.disabled = !(last > first);
    note.textContent = `${count(s.nodes.size, "entity", "entities")}, ${count(s.links.size, "relation")}. Click to unfold, drag to move; drag the ground, turn the wheel or use two fingers to look around.`;
  }
  time.addEventListener("input", filter);
  async function visit(n) {
    s.select(n);
    await Promise.all([n.open && n.rest.length === 0 ? null : unfold(n.id), profile(n)]);
    relations(n);
  }
  const about = h("div", {}), related = h("div", {});
  async function profile(n) {
    const at = encodeURIComponent(n.id);
    const [p, said] = await Promise.all([get(`/v1/entities/${at}`, signal).catch(() => null), get(`/v1/chronology?entity=${at}&limit=20`, signal).catch(() => ({ items: [] }))]);
    fill(about, p && h("div", { class: "chips" }, p.entity_type !== "unknown" && pill("", p.entity_type)), p && pairs({ Relations: p.links, Memories: p.memories, Mood: p.memories > 0 ? p.average_valence.toFixed(2) : "", "Last seen": p.last_seen && when(p.last_seen) }),
      said.items.length > 0 ? h("ul", { class: "plain" }, ...said.items.toReversed().slice(0, 8).map((m) => h("li", {}, h("button", { type: "button", class: "link text", onclick: () => openMemory(m.rid) }, cut(m.text, 140))))) : h("p", { class: "soft small" }, "No memory names it."));
    fill(side, h("h2", {}, n.id), about, related);
  }
  /** relations lists in words what the picture shows around an entity. */
  function relations(n) {
    const here = [...s.links.values()].filter((l) => l.a === n || l.b === n);
    fill(related, h("h3", {}, "Relations"), h("ul", { class: "plain relations" }, ...here.slice(0, most).map((l) => { const o = l.a === n ? l.b : l.a; return h("li", {}, l.a === n ? "" : "← ", h("span", { class: "soft" }, `${l.type.replaceAll("_", " ")} `), h("button", { type: "button", class: "link", onclick: attempt(() => visit(o)) }, o.id)); })),
      n.rest?.length > 0 && h("button", { type: "button", onclick: attempt(() => visit(n)) }, `Unfold ${count(Math.min(most, n.rest.length), "more", "more")} of ${n.rest.length}`));
  }
  const tool = (label, title, f) => h("button", { type: "button", "aria-label": title, title, onclick: f }, label);
  const relate = ["entity", "relationship", "target"].map((p) => h("input", { placeholder: p, "aria-label": p, class: "grow", required: true }));
  const { entities } = await get("/v1/entities?limit=300", signal);
  fill(known, ...entities.map((e) => h("option", { value: e.name })));
  fill(side, h("h2", {}, "Graph"), h("p", { class: "soft" }, "Choose an entity to see what is known of it."), h("div", { class: "chips" }, ...entities.toSorted((a, b) => b.mentions - a.mentions).slice(0, 12).map((e) =>
    h("button", { type: "button", class: "chip", onclick: attempt(() => visit(s.node(e.name))) }, e.name, h("span", { class: "soft" }, ` ${e.mentions}`)))));
  fill(page, h("h1", {}, "Graph"), h("form", { class: "card row nowrap", onsubmit: attempt(async () => { if (name.value) await visit(s.node(name.value)); }) }, name, known, h("button", { class: "primary" }, "Show")),
    entities.length === 0 ? empty("No entities yet.", "Relate two below, or remember something that names a person or a thing.") : h("div", { class: "beside" }, h("div", {}, h("div", { class: "stage" }, s.canvas, h("div", { class: "tools" }, tool("+", "Zoom in", () => s.zoom(1.25)), tool("−", "Zoom out", () => s.zoom(0.8)), tool("⤢", "Show all", () => s.all()))),
      note, kinds, h("div", { class: "row nowrap" }, time, until), h("p", { class: "soft small" }, "The slider goes by the time at which each relation was stored; one that was deleted since is not shown.")), side),
    h("form", { class: "card", onsubmit: attempt(async () => { await post("/v1/relate", Object.fromEntries(relate.map((i) => [i.placeholder, i.value]))); toast("Related"); const n = s.node(relate[0].value); delete n.rest; n.open = false; await visit(n); }) },
      h("h2", {}, "Relate"), h("div", { class: "row" }, ...relate, submit("Relate", {}, "write"))));
  const first = start ? [start] : entities.toSorted((a, b) => b.mentions - a.mentions).slice(0, 6).map((e) => e.name);
  await Promise.all(first.map(unfold));
  if (start) { // its neighbours' relations as well
    await Promise.all([...s.nodes.keys()].slice(1, 9).map(unfold));
    const n = s.nodes.get(start);
    s.select(n);
    await profile(n);
    relations(n);
  }
}
