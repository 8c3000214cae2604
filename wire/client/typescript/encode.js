/** newKey makes an idempotency key: the time in milliseconds and 80 random bits, so that keys are in order of time. */
export function newKey() {
  const random = crypto.getRandomValues(new Uint8Array(10));
  return (
    Date.now().toString(16).padStart(12, "0") + Array.from(random, (b) => b.toString(16).padStart(2, "0")).join("")
  );
}

// JSON has no NaN, no Infinity and no invalid Date: JSON.stringify would write null, which is a field that is not given.
function finite(name, v) {
  const is = this[name]; // a Date is null here already
  if ((typeof is === "number" && !Number.isFinite(is)) || (is instanceof Date && v === null)) {
    throw new RangeError(`${name}: ${is} is no value for JSON`);
  }
  return v;
}

const text = (v) => (v instanceof Date ? v.toISOString() : typeof v === "object" ? JSON.stringify(v, finite) : String(v));

/** encode splits a request into the path with its query and the body, as the operation's row says. */
export function encode(op, request, database) {
  const left = { ...request };
  const take = (name) => {
    const v = left[name];
    delete left[name];
    return v;
  };
  const path = op.path.replace(/\{(\w+)\}/g, (_, name) => {
    const v = take(name);
    if (v === undefined || v === null || v === "") throw new TypeError(`missing '${name}'`);
    return encodeURIComponent(text(v));
  });
  const query = new URLSearchParams();
  for (const name of op.method === "GET" ? Object.keys(left) : (op.query ?? [])) {
    const v = take(name);
    if (v === undefined || v === null) continue;
    for (const one of Array.isArray(v) ? v : [v]) query.append(name, text(one));
  }
  if (database) query.append("database", database);
  const asked = query.size ? `${path}?${query}` : path;
  return {
    path: asked,
    body: op.method === "GET" || Object.keys(left).length === 0 ? undefined : JSON.stringify(left, finite),
  };
}

/** later reports whether a log position is behind another; both are decimal numbers that may exceed 2^53. */
export const later = (a, b) => BigInt(a) > BigInt(b || 0);
