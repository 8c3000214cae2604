import { elsewhere, get, may, send } from "/console/api.js";
import { languages, query } from "/console/code.js";
import { attempt, button, confirmedByName, fill, h, pill, toast } from "/console/dom.js";
import { fields } from "/console/form.js";
import { tutorial } from "/console/views/tutorial.js";

const most = 256 << 10; // of an answer, as much of it as is shown

let known;
/** Operations by name, as the gateway describes them. */
const operations = async (signal) => (known ??= described(await get("/openapi.json", signal)));

function described(doc) {
  const all = new Map();
  const whole = (p) => p.$ref ? doc.components.parameters[p.$ref.split("/").at(-1)] : p; // many operations have it
  for (const [path, methods] of Object.entries(doc.paths)) for (const [method, o] of Object.entries(methods)) all.set(o.operationId, { ...o, parameters: o.parameters?.map(whole), path, method: method.toUpperCase() });
  return { all, subjects: doc.tags.map((t) => ({ ...t, operations: [...all.values()].filter((o) => o.tags.includes(t.name)) })) };
}

/** Any operation, by a form made from its description: run it, and take it along as code. */
export async function requests(page, signal, chosen) {
  const { all, subjects } = await operations(signal);
  const name = all.has(chosen) ? chosen : "recall";
  const pick = h("select", { "aria-label": "Operation", name: "operation", onchange: () => { location.hash = `#requests/${pick.value}`; } },
    ...subjects.map((s) => h("optgroup", { label: s.name }, ...s.operations.map((o) => h("option", { value: o.operationId, selected: o.operationId === name }, `${o.operationId} – ${o.method} ${o.path}`)))));
  const area = h("div", {});
  const open = (operation, values) => { pick.value = operation; return one(area, all.get(operation), signal, values); };
  fill(page, h("h1", { class: "unseen" }, "Requests"), h("div", { class: "ask" }, h("label", { class: "grow" }, "operation", pick)), tutorial(open), area);
  open(name);
}

/** one is the form of an operation. It returns a function that runs what the form holds. */
function one(area, o, signal, values = {}) {
  const parts = Object.fromEntries(["path", "query"].map((where) => {
    const list = (o.parameters ?? []).filter((p) => p.in === where);
    return [where, fields(Object.fromEntries(list.map((p) => [p.name, { ...p.schema, description: p.description }])), list.filter((p) => p.required).map((p) => p.name), where)];
  }));
  const media = Object.keys(o.requestBody?.content ?? {})[0], schema = o.requestBody?.content[media].schema ?? {};
  const isJSON = media === "application/json", text = h("textarea", { class: "mono", "aria-label": "Body", rows: 6, placeholder: media });
  const body = fields(isJSON ? schema.properties ?? {} : {}, schema.required ?? [], "body");
  parts.path.fill(values); parts.query.fill({ ...values, database: elsewhere() ?? undefined }); body.fill(values);

  const request = (of = (f) => f.values()) => {
    const inPath = of(parts.path), asked = query(of(parts.query));
    const path = o.path.replace(/\{(\w+)\}/g, (whole, name) => (inPath[name] === undefined ? whole : encodeURIComponent(inPath[name]))) + (asked && `?${asked}`);
    return { method: o.method, path, url: location.origin + path, media, body: isJSON ? JSON.stringify(of(body)) : media ? text.value : undefined, named: { ...inPath, ...of(parts.query), ...(isJSON ? of(body) : {}) }[o["x-confirm"]] };
  };
  const out = h("div", { "aria-live": "polite" }), code = h("pre", { class: "mono code", tabindex: 0, "aria-label": "Code" });
  const scope = o.security?.[0]?.token?.[0], allowed = !scope || may(scope);
  const run = async () => {
    const r = request();
    if (r.named !== undefined && !(await confirmedByName(`${o.operationId}: ${o.summary}`, String(r.named), "Run"))) return null;
    return answered(out, r, signal);
  };
  let language = "curl";
  const write = () => { code.textContent = languages[language](request((f) => f.sketch())); }; // also while something is missing
  const copy = Object.keys(languages).map((l) => h("button", { type: "button", "aria-pressed": String(l === language), onclick: attempt(() => {
    language = l;
    copy.forEach((b) => b.setAttribute("aria-pressed", String(b.textContent === l)));
    write();
  }) }, l));
  const group = (title, f) => f.elements.length > 0 && h("fieldset", {}, h("legend", {}, title), h("div", { class: "fields" }, ...f.elements));
  const form = h("form", { class: "card", novalidate: true, "data-operation": o.operationId, onsubmit: attempt(run), oninput: write, onchange: write },
    h("div", { class: "row" }, pill("brand", o.method), h("code", { class: "grow mono" }, o.path), scope && pill(allowed ? "" : "bad", allowed ? `needs ${scope}` : `this token may not ${scope}`), h("a", { href: `/docs#${o.operationId}` }, "Reference")),
    h("p", {}, o.summary), group("In the path", parts.path), group("Body", body), media && !isJSON && h("label", {}, `body: ${media}`, text), group("Parameters", parts.query),
    h("div", { class: "row end" }, h("button", { class: "primary", disabled: !allowed }, "Run")));
  const beside = h("div", { class: "beside" }, h("div", { class: "card" }, h("div", { class: "row" }, ...copy,
    button("Copy", { class: "primary" }, async () => { write(); await navigator.clipboard.writeText(code.textContent); toast("Copied"); })), code, h("p", { class: "soft small" }, "The token comes from the environment variable CAIRN_TOKEN.")), out);
  fill(area, h("div", { class: "request" }, form, beside));
  write();
  return run;
}

/** answered sends a request and shows what comes back, as it comes. */
async function answered(out, r, signal) {
  const stop = new AbortController(), start = performance.now();
  const status = h("span", { class: "grow" }, "Waiting…"), shown = h("pre", { class: "mono code answer", tabindex: 0, "aria-label": "Answer" }), halt = h("button", { type: "button", onclick: () => stop.abort() }, "Stop");
  const card = h("div", { class: "card" }, h("div", { class: "row" }, h("h2", {}, "Answer"), status, halt), shown);
  fill(out, card);
  try {
    const resp = await send(r.method, r.path, r.body, AbortSignal.any([signal, stop.signal]), r.media);
    const media = resp.headers.get("Content-Type") ?? "";
    fill(status, pill(resp.ok ? "good" : "bad", `${resp.status} ${resp.statusText}`), h("span", { class: "soft small" }, ` ${(performance.now() - start).toFixed(0)} ms`));
    card.dataset.status = resp.status;
    if (media.includes("octet-stream")) {
      const blob = await resp.blob();
      fill(shown, h("a", { href: URL.createObjectURL(blob), download: "backup" }, `Save ${blob.size.toLocaleString()} bytes`));
      return null;
    }
    const whole = await stream(resp, stop, (text) => { shown.textContent = text; });
    if (!media.includes("application/json")) return whole;
    const value = JSON.parse(whole);
    shown.textContent = JSON.stringify(value, null, 2);
    return resp.ok ? value : null;
  } catch (e) {
    if (signal.aborted) return null;
    if (e.name !== "AbortError") throw e;
    status.append(" stopped");
    return null;
  } finally { halt.remove(); }
}

/** stream reads an answer to its end, or as much of it as is shown. */
async function stream(resp, stop, each) {
  const reader = resp.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return text;
    text += value;
    if (text.length > most) { each(`${text.slice(0, most)}\n… the rest is not shown`); stop.abort(); return text; }
    each(text);
  }
}
