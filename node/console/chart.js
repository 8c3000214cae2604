import { fill, h, when } from "/console/dom.js";

const width = 600, height = 100, lines = 2; // the box of a chart; lines that divide its scale

/** bound is the least round number that holds a value: 1, 2 or 5 times a power of ten, and of 1,024 for bytes; an even one for what is counted whole. */
function bound(v, base) {
  if (base === "whole") v = Math.max(2, v);
  if (!(v > 0)) return 1;
  const unit = base === 1024 ? 1024 ** Math.max(0, Math.floor(Math.log(v) / Math.log(1024))) : 1, x = v / unit, ten = 10 ** Math.floor(Math.log10(x));
  return unit * ten * (base === "whole" && ten === 1 ? [2, 4, 6, 10] : [1, 2, 5, 10]).find((n) => n * ten >= x * 0.999);
}

/**
 * chart draws lines over time, with a scale in their unit, the times below, and what each line says under the pointer. say writes a value with its
 * unit; draw takes series {name, at, values, colour}, the span of time and marks {at, text}. Where a value is null the line has a gap.
 */
export function chart(title, say, base) {
  const svg = h("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: "none", role: "img" }), scale = h("div", { class: "scale", "aria-hidden": true }), span = h("div", { class: "span" });
  const tip = h("div", { class: "tip", hidden: true }), now = h("b", { class: "num" }, "–"), area = h("div", { class: "area" }, svg, tip), cursor = h("line", { class: "at", y1: 0, y2: height });
  const el = h("section", { class: "card chart" }, h("div", { class: "row" }, h("h2", { class: "grow" }, title), now), h("div", { class: "plot" }, scale, area, span));
  let shown = null;

  function draw(series, from, to, marks = []) {
    shown = { series, from, to };
    const known = series.flatMap((s) => s.values).filter((v) => v !== null), top = bound(Math.max(0, ...known), base);
    const x = (at) => ((width * (at - from)) / (to - from || 1)).toFixed(1), y = (v) => (height - 1 - ((height - 3) * v) / top).toFixed(1);
    fill(scale, ...Array.from({ length: lines + 1 }, (_, i) => h("span", {}, say((top * (lines - i)) / lines))));
    fill(span, ...(to - from > 600 ? [from, (from + to) / 2, to] : [from, to]).map((t, i, all) => h("span", {}, i === all.length - 1 ? "now" : clock(t, to))));
    fill(svg, ...Array.from({ length: lines + 1 }, (_, i) => h("line", { x1: 0, x2: width, y1: y((top * i) / lines), y2: y((top * i) / lines) })),
      ...marks.map((m) => h("line", { class: "mark", x1: x(m.at), x2: x(m.at), y1: 0, y2: height }, h("title", {}, m.text))),
      ...series.map((s, i) => h("path", { class: `n${(s.colour ?? i) % 6}`, d: path(s, x, y), "data-node": s.name })));
    const last = series.map((s) => [s.name, s.values.findLast((v) => v !== null)]).filter(([, v]) => v !== undefined);
    now.textContent = last.length === 0 ? "–" : last.length === 1 ? say(last[0][1]) : `at most ${say(Math.max(...last.map(([, v]) => v)))}`;
    svg.setAttribute("aria-label", `${title}: ${last.map(([name, v]) => `${name} ${say(v)}`).join(", ") || "nothing measured"}`);
  }
  function point(e) {
    if (!shown) return;
    const box = svg.getBoundingClientRect(), at = shown.from + ((shown.to - shown.from) * (e.clientX - box.x)) / box.width;
    const near = shown.series.map((s) => { let best = -1; s.at.forEach((t, i) => { if (best < 0 || Math.abs(t - at) < Math.abs(s.at[best] - at)) best = i; }); return [s, best]; }).filter(([, i]) => i >= 0);
    if (near.length === 0) return;
    const t = near[0][0].at[near[0][1]], x = (width * (t - shown.from)) / (shown.to - shown.from);
    fill(tip, h("div", {}, when(t)), ...near.map(([s, i], n) => h("div", {}, h("i", { class: `c${(s.colour ?? n) % 6}` }), `${s.name} ${s.values[i] === null ? "not measured" : say(s.values[i])}`)));
    tip.hidden = false;
    tip.style.left = `${Math.max(0, Math.min(box.width - tip.offsetWidth, (x / width) * box.width - tip.offsetWidth / 2))}px`;
    cursor.setAttribute("x1", x); cursor.setAttribute("x2", x);
    svg.append(cursor);
  }
  svg.addEventListener("pointermove", point);
  svg.addEventListener("pointerdown", point);
  svg.addEventListener("pointerleave", () => { tip.hidden = true; cursor.remove(); });
  return { el, draw };
}

/** clock writes a time as briefly as the span that ends at `to` allows. */
const clock = (t, to) => new Date(t * 1000).toLocaleString(undefined, to - t > 86400 ? { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" } : { hour: "2-digit", minute: "2-digit" });

function path(s, x, y) {
  let d = "", begun = false;
  s.values.forEach((v, k) => {
    if (v === null) { begun = false; return; }
    d += begun ? `L${x(s.at[k])},${y(v)}` : `M${x(s.at[k])},${y(v)}h1`; // a point alone is seen too
    begun = true;
  });
  return d || "M0,0";
}
