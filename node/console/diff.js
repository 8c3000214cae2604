import { h } from "/console/dom.js";

const most = 600; // words, gaps and signs of a text that are compared; longer ones are shown whole
const words = (text) => text.match(/[\p{L}\p{N}_'’-]+|\s+|[^]/gu) ?? [];

/** diff shows how a text became another, word by word: what was taken away, what came, and what stayed. */
export function diff(before, after) {
  const a = words(before), b = words(after);
  if (a.length > most || b.length > most) return [h("del", {}, before), " ", h("ins", {}, after)];
  // The longest words in common of what begins at i in a and at j in b.
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--) for (let j = b.length - 1; j >= 0; j--) common[i][j] = a[i] === b[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const parts = [];
  const add = (tag, word) => { if (parts.at(-1)?.[0] === tag) parts.at(-1)[1] += word; else parts.push([tag, word]); };
  for (let i = 0, j = 0; i < a.length || j < b.length; ) {
    if (i < a.length && j < b.length && a[i] === b[j]) { add("span", a[i++]); j++; }
    else if (j >= b.length || (i < a.length && common[i + 1][j] >= common[i][j + 1])) add("del", a[i++]);
    else add("ins", b[j++]);
  }
  return joined(parts).map(([tag, words]) => h(tag, {}, words));
}

/** joined puts changes together that only a gap between words keeps apart, so that a changed phrase is read in one piece. */
function joined(parts) {
  const out = [];
  let gone = "", came = "";
  const flush = () => { if (gone.trim()) out.push(["del", gone]); if (came) out.push(["ins", came]); gone = came = ""; };
  parts.forEach(([tag, words], i) => {
    const bridge = tag === "span" && !words.trim() && (gone || came) && i < parts.length - 1;
    if (tag === "del" || bridge) gone += words;
    if (tag === "ins" || bridge) came += words;
    if (tag === "span" && !bridge) { flush(); out.push([tag, words]); }
  });
  flush();
  return out;
}
