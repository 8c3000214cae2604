// What the console asks, it asks of the gateway it came from, with the token of whoever signed in.

const key = "cairn-token", place = "cairn-database";
export const token = () => sessionStorage.getItem(key);
export const signIn = (t) => { sessionStorage.setItem(key, t); sessionStorage.removeItem(place); who = null; };
export const signOut = () => { sessionStorage.removeItem(key); sessionStorage.removeItem(place); who = null; };

/** redeem exchanges the code of a sign-in link for a token. */
export async function redeem(code) {
  const r = await send("POST", "/console/sign-in", JSON.stringify({ code }));
  if (!r.ok) throw new Refused(r.status, await r.json().catch(() => null));
  return (await r.json()).token;
}

let who = null;
/** me is what the token may do, and where; asked once. */
export const me = async () => (who ??= await get("/v1/admin/me"));
/** may says whether the token has a right: read, write, owner or admin, which holds what an owner may. */
export const may = (scope) => who?.scopes.some((s) => s === scope || (s === "admin" && scope === "owner")) ?? false;

export const database = () => sessionStorage.getItem(place) ?? who?.database ?? "default";
/** elsewhere is the database that was chosen in place of the token's own. */
export const elsewhere = () => sessionStorage.getItem(place);
export const choose = (name) => sessionStorage.setItem(place, name);

export class Refused extends Error {
  constructor(status, body) {
    super(body?.error ?? `HTTP ${status}`);
    this.status = status;
  }
}

/** send asks for exactly this and returns the answer, whatever its status. */
export function send(method, path, body, signal, media = "application/json") {
  const headers = { "X-Cairn-Forward": "1" }; // the console works on every node: writes are passed on
  if (token()) headers.Authorization = `Bearer ${token()}`;
  if (body !== undefined) headers["Content-Type"] = media;
  return fetch(path, { method, headers, signal, body });
}

const patience = 60_000; // milliseconds for the beginning of an answer

async function request(method, path, body, signal) {
  const other = elsewhere();
  if (other && path.startsWith("/v1/")) path += `${path.includes("?") ? "&" : "?"}database=${encodeURIComponent(other)}`;
  const late = new AbortController(), timer = setTimeout(() => late.abort(new Error(`This node did not answer within ${patience / 1000} seconds.`)), patience);
  const r = await send(method, path, body === undefined ? undefined : JSON.stringify(body), signal ? AbortSignal.any([signal, late.signal]) : late.signal)
    .catch((e) => { throw e instanceof TypeError ? new Error("This node does not answer.") : e; }).finally(() => clearTimeout(timer));
  if (!r.ok) throw new Refused(r.status, await r.json().catch(() => null));
  return r;
}

export const get = async (path, signal) => (await request("GET", path, undefined, signal)).json();
export const post = async (path, body = {}, signal) => (await request("POST", path, body, signal)).json();
export const remove = async (path, signal) => (await request("DELETE", path, undefined, signal)).json();
export const text = async (path) => (await request("GET", path)).text();

/** upload sends a body that is no JSON object. */
export async function upload(path, body, media) {
  const other = elsewhere();
  if (other) path += `${path.includes("?") ? "&" : "?"}database=${encodeURIComponent(other)}`;
  const r = await send("POST", path, body, undefined, media);
  if (!r.ok) throw new Refused(r.status, await r.json().catch(() => null));
  return r.json();
}

export async function lines(path) {
  const all = await text(path);
  return all.split("\n").filter(Boolean).map((l) => JSON.parse(l));
}

/** events hands over the feed until the signal ends it, and comes back when the connection breaks. */
export async function events(each, signal, last = "") {
  while (!signal.aborted) {
    try {
      const r = await request("GET", `/v1/events${last ? `?from=${last}` : ""}`, undefined, signal);
      const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
      let rest = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        const blocks = (rest + value).split("\n\n");
        rest = blocks.pop();
        for (const b of blocks) {
          const f = Object.fromEntries(b.split("\n").filter((l) => l.includes(": ")).map((l) => [l.slice(0, l.indexOf(": ")), l.slice(l.indexOf(": ") + 2)]));
          if (f.id) last = f.id;
          if (f.event) each(f.event, JSON.parse(f.data));
        }
      }
    } catch (e) {
      if (signal.aborted) return;
      if (e instanceof Refused && e.status < 500) throw e;
    }
    await new Promise((ok) => setTimeout(ok, 1000));
  }
}
