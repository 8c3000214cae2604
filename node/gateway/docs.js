// The reference is one page; the search hides what does not hold all words that are looked for.

const bar = document.querySelector(".search"), input = bar.querySelector("input"), found = bar.querySelector("[role=status]");
const sections = [...document.querySelectorAll("section")].map((e) => ({ e, text: e.textContent.toLowerCase() }));
const subjects = [...document.querySelectorAll(".subject")];

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const s of sections) {
    s.e.hidden = !words.every((w) => s.text.includes(w));
    n += s.e.hidden ? 0 : 1;
  }
  for (const s of subjects) s.hidden = !s.querySelector("section:not([hidden])");
  found.textContent = words.length > 0 ? `${n} of ${sections.length}` : "";
  history.replaceState(null, "", (words.length > 0 ? `?q=${encodeURIComponent(input.value)}` : location.pathname) + location.hash);
}

bar.hidden = false;
input.value = new URLSearchParams(location.search).get("q") ?? "";
input.addEventListener("input", search);
addEventListener("hashchange", () => { // a link leads to what the search may hide
  if (document.getElementById(location.hash.slice(1))?.hidden) { input.value = ""; search(); }
});
if (input.value !== "") search();
