import { h } from "/console/dom.js";

// A form made from a schema of openapi.json: an input a field, with its type, its range, what it is when left out, and what it means.

/**
 * fields are the inputs of an object's schema. values() leaves out what was left blank and throws on what is no value of its type; sketch()
 * throws on nothing: it has what there is so far, and examples of what is missing and required.
 */
export function fields(properties, required, id) {
  const all = Object.entries(properties).sort(([a], [b]) => required.includes(b) - required.includes(a)).map(([name, schema]) => field(name, schema, required.includes(name), `${id}-${name}`));
  return {
    elements: all.map((f) => f.element),
    values: () => Object.fromEntries(all.map((f) => [f.name, f.value()]).filter(([, v]) => v !== undefined)),
    sketch: () => Object.fromEntries(all.map((f) => [f.name, f.sketch()]).filter(([, v]) => v !== undefined)),
    fill: (values) => all.forEach((f) => f.set(values[f.name])),
  };
}

const types = (s) => [s.type ?? []].flat();

function field(name, schema, must, id) {
  const [input, read] = control(schema, must, id);
  input.name = name;
  return {
    name,
    element: h("div", { class: "field" }, h("label", { for: id }, h("code", {}, name), h("span", { class: "small" }, kind(schema, must))), input, h("p", { class: "soft small", id: `${id}-help` }, schema.description)),
    set: (v) => { input.value = v === undefined ? "" : typeof v === "object" ? JSON.stringify(v, null, 1) : String(v); },
    sketch() { try { return input.value.trim() === "" ? (must ? schema.examples?.[0] : undefined) : read(input.value); } catch { return input.value; } },
    value() {
      if (input.value.trim() === "") {
        if (must) { input.focus(); throw new Error(`${name} is required.`); }
        return undefined;
      }
      try { return read(input.value); } catch (e) { input.focus(); throw new Error(`${name}: ${e.message}`); }
    },
  };
}

/** kind says in words what a field takes. */
function kind(s, must) {
  const from = s.exclusiveMinimum !== undefined ? `more than ${s.exclusiveMinimum}` : s.minimum, range = s.maximum !== undefined ? `${from ?? ""} to ${s.maximum}` : from !== undefined ? (s.exclusiveMinimum !== undefined ? from : `${from} or more`) : "";
  const type = s.$ref ? s.$ref.split("/").at(-1) : types(s).includes("array") ? `list of ${s.items?.$ref?.split("/").at(-1) ?? types(s.items ?? {}).join(" or ")}` : s.enum ? "choice" : types(s).join(" or ") || "any JSON";
  return [type, range, must && "required", s.default !== undefined && `${JSON.stringify(s.default)} when left out`].filter(Boolean).join(" · ");
}

function control(s, must, id) {
  const t = types(s), props = { id, "aria-describedby": `${id}-help`, required: must };
  const choice = (all, read) => [h("select", props, h("option", { value: "" }, must ? "" : "left out"), ...all.map((v) => h("option", { value: v }, v))), read];
  if (s.enum) return choice(s.enum, (v) => v);
  if (t.length === 1 && t[0] === "boolean") return choice(["true", "false"], (v) => v === "true");
  if (t.length === 1 && (t[0] === "integer" || t[0] === "number")) return [h("input", { ...props, type: "number", min: s.minimum ?? s.exclusiveMinimum, max: s.maximum, step: t[0] === "integer" ? 1 : "any" }), number];
  const example = s.examples?.[0];
  if (t.length === 0 || t.includes("array") || t.includes("object")) return [h("textarea", { ...props, rows: 3, class: "mono", spellcheck: "false", placeholder: example === undefined ? (t.includes("array") ? "[]" : "JSON") : JSON.stringify(example) }), JSON.parse];
  return [h("input", { ...props, autocomplete: "off", placeholder: example }), t.includes("number") && !t.includes("string") ? number : t.includes("number") ? (v) => (Number.isNaN(Number(v)) ? v : Number(v)) : (v) => v];
}

/** number is exact, or stays the text that it was: the gateway takes large integers as text. */
function number(v) {
  const n = Number(v);
  if (Number.isNaN(n)) throw new Error("want a number");
  return Number.isInteger(n) && !Number.isSafeInteger(n) ? v : n;
}
