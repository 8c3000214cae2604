import { get, post } from "/console/api.js";
import { attempt, count, cut, empty, fill, h, pairs, pill, submit, toast, when } from "/console/dom.js";
import { finder } from "/console/find.js";
import { openMemory } from "/console/views/memory.js";
import { scene } from "/console/views/scene.js";

const most = 60, atFirst = 150, unfolded = 60; // relations that one entity unfolds at once; entities shown at first, and those of them whose relations are asked for

/** When a relation was stored: its id begins with that time. An id that another product made says nothing. */
const stored = (id) => (/^[0-9a-f]{8}-[0-9a-f]{4}-7/.test(id) ? parseInt(id.slice(0, 8) + id.slice(9, 13), 16) / 1000 : null);

// A colour a type of entity; types that are not listed share the fifth, entities of no type the last.
const colours = { person: 0, people: 0, organisation: 2, organization: 2, org: 2, team: 2, place: 1, location: 1, tech: 3, product: 3, project: 3 };
const colour = (type) => (!type || type === "unknown" ? 5 : colours[type] ?? 4);
const named = (type) => (!type || type === "unknown" ? "no type" : type);

/** Entities and relations: all of them, or those around one. Click to see and unfold, drag to move, filter by relation and time. */
export async function graph(page, signal, start) {
  const about = h("section", {}), note = h("p", { class: "soft small", role: "status" }), kinds = h("div", { class: "chips", role: "group", "aria-label": "Relations" }), legend = h("div", { class: "legend" });
  const time = h("input", { type: "range", name: "time", min: 0, max: 1000, value: 1000, "aria-label": "Relations stored until", class: "grow" }), until = h("output", { class: "small nobreak" });
  const hidden = new Set(), types = new Map(), s = scene(signal, { choose: attempt((n) => visit(n)), chosen: (n) => { note.textContent = `${n.id}: ${count(n.degree, "relation")} shown`; } });

  function node(id, near) {
    const n = s.node(id, near);
    n.colour = colour(types.get(id));
    return n;
  }
  async function unfold(id) {
    const n = node(id);
    n.rest ??= (await get(`/v1/edges?entity=${encodeURIComponent(id)}`, signal)).edges;
    n.open = true;
    for (const e of n.rest.splice(0, most)) s.link(e.edge_id, node(e.src, n), node(e.dst, n), e.rel_type, stored(e.edge_id));
  }
  /** shown draws what has come: relations to filter by, the legend, and the layout. */
  function shown() {
    const counted = new Map(), there = new Map();
    for (const l of s.links.values()) counted.set(l.type, (counted.get(l.type) ?? 0) + 1);
    for (const n of s.nodes.values()) { const t = named(types.get(n.id)); there.set(t, (there.get(t) ?? 0) + 1); }
    fill(kinds, ...[...counted].sort((a, b) => b[1] - a[1]).slice(0, 24).map(([type, n]) => h("button", { type: "button", class: "chip", "aria-pressed": hidden.has(type) ? "false" : "true", onclick: (e) => {
      if (!hidden.delete(type)) hidden.add(type);
      e.currentTarget.setAttribute("aria-pressed", hidden.has(type) ? "false" : "true");
      filter();
    } }, type.replaceAll("_", " "), h("span", { class: "soft" }, ` ${n}`))));
    fill(legend, ...[...there].sort((a, b) => b[1] - a[1]).map(([type, n]) => h("span", {}, h("i", { class: `c${colour(type === "no type" ? "" : type)}` }), `${type} ${n}`)));
    filter();
    s.warm();
  }
  function filter() {
    let first = Infinity, last = -Infinity;
    for (const l of s.links.values()) if (l.created !== null) { first = Math.min(first, l.created); last = Math.max(last, l.created); }
    const at = Number(time.value) === 1000 ? Infinity : first + ((last - first) * time.value) / 1000;
    s.filter((l) => !hidden.has(l.type) && (l.created === null || l.created <= at));
    until.textContent = at === Infinity ? "until now" : `until ${when(at)}`;
    time.disabled = !(last > first);
    note.textContent = `${s.nodes.size} of ${count(Math.max(entities.length, s.nodes.size), "entity", "entities")}${entities.length === 1000 ? " or more" : ""}, ${count(s.links.size, "relation")}. Click to unfold, drag to move; drag the ground, turn the wheel or use two fingers to look around.`;
  }
  time.addEventListener("input", filter);
  async function visit(n) {
    s.select(n);
    await Promise.all([n.open && n.rest.length === 0 ? null : unfold(n.id).then(shown), profile(n)]);
    relations(n);
  }
  const related = h("div", {});
  async function profile(n) {
    const at = encodeURIComponent(n.id);
    const [p, said] = await Promise.all([get(`/v1/entities/${at}`, signal).catch(() => null), get(`/v1/chronology?entity=${at}&limit=20`, signal).catch(() => ({ items: [] }))]);
    if (p) { types.set(n.id, p.entity_type); n.colour = colour(p.entity_type); }
    fill(about, h("div", { class: "row" }, h("h2", { class: "grow" }, n.id), p && pill("", named(p.entity_type)), h("button", { type: "button", class: "quiet", onclick: () => { s.select(null); overview(); } }, "All")),
      p && pairs({ Relations: p.links, Memories: p.memories, Mood: p.average_valence !== 0 && p.average_valence.toFixed(2), "Last seen": p.last_seen && when(p.last_seen) }), related,
      h("h3", {}, "Memories"), said.items.length > 0 ? h("ul", { class: "plain" }, ...said.items.toReversed().slice(0, 8).map((m) => h("li", {}, h("button", { type: "button", class: "link text", onclick: () => openMemory(m.rid) }, cut(m.text, 140))))) : h("p", { class: "soft small" }, "No memory names it."));
  }
  /** relations lists in words what the picture shows around an entity. */
  function relations(n) {
    const here = [...s.links.values()].filter((l) => l.a === n || l.b === n);
    fill(related, h("h3", {}, "Relations"), here.length === 0 ? h("p", { class: "soft small" }, "It has none.") : h("ul", { class: "plain relations" }, ...here.slice(0, most).map((l) => { const o = l.a === n ? l.b : l.a; return h("li", {}, l.a === n ? "" : "← ", h("span", { class: "soft" }, `${l.type.replaceAll("_", " ")} `), h("button", { type: "button", class: "link", onclick: attempt(() => visit(o)) }, o.id)); })),
      n.rest?.length > 0 && h("button", { type: "button", onclick: attempt(() => visit(n)) }, `Unfold ${count(Math.min(most, n.rest.length), "more", "more")} of ${n.rest.length}`));
  }
  /** overview lists every entity that was answered, so that each can be reached without the picture. */
  function overview() {
    fill(about, h("h2", {}, "Entities"), h("p", { class: "soft small" }, "Choose one to see what is known of it."), h("div", { class: "chips" }, ...entities.slice(0, 300).map((e) =>
      h("button", { type: "button", class: "chip", onclick: attempt(() => visit(node(e.name))) }, e.name, h("span", { class: "soft" }, ` ${e.mentions}`)))), entities.length > 300 && h("p", { class: "soft small" }, `These are the 300 most mentioned of ${entities.length}. Find the others by name.`));
  }
  const tool = (label, title, f) => h("button", { type: "button", "aria-label": title, title, onclick: f }, label);
  const relate = ["entity", "relationship", "target"].map((p) => h("input", { placeholder: p, "aria-label": p, class: "grow", required: true }));
  const { entities } = await get("/v1/entities?limit=1000&sort=mentions", signal);
  for (const e of entities) types.set(e.name, e.type);
  const form = h("section", {}, h("h2", {}, "Relate"), h("form", { onsubmit: attempt(async () => { await post("/v1/relate", Object.fromEntries(relate.map((i) => [i.placeholder, i.value]))); toast("Related"); const n = node(relate[0].value); delete n.rest; n.open = false; await visit(n); }) }, h("div", { class: "row" }, ...relate, submit("Relate", {}, "write"))));
  const filters = h("section", {}, h("h2", {}, "Show"), kinds, h("div", { class: "row nowrap" }, time, until), h("p", { class: "soft small" }, "The slider goes by the time at which each relation was stored; one that was deleted since is not shown."), note);
  overview();
  fill(page, h("h1", { class: "unseen" }, "Graph"), h("div", { class: "graphs" }, h("div", { class: "stage" }, s.canvas, finder(signal, (name) => visit(node(name)), start),
    h("div", { class: "tools" }, tool("+", "Zoom in", () => s.zoom(1.25)), tool("−", "Zoom out", () => s.zoom(0.8)), tool("⤢", "Show all", () => s.all())), legend),
  h("div", { class: "side" }, entities.length === 0 ? empty("No entities yet.", "Relate two below, or remember something that names a person or a thing.") : about, filters, form)));
  if (!start) for (const e of entities.slice(0, atFirst)) node(e.name);
  const [first, ...others] = start ? [start] : entities.slice(0, unfolded).map((e) => e.name);
  if (first !== undefined) await unfold(first); // a token that may not see relations learns it at once
  await Promise.all(others.map(unfold));
  if (start) { // its neighbours' relations as well
    await Promise.all([...s.nodes.keys()].slice(1, 9).map(unfold));
    const n = s.nodes.get(start);
    s.select(n);
    await profile(n);
    relations(n);
  }
  shown();
}
