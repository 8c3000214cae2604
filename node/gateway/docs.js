// The reference is one page. The search hides the sections that lack one of its words, and their places in the contents.

const bar = document.querySelector(".search"), input = bar.querySelector("input"), found = bar.querySelector("[role=status]");
const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
const sections = [...document.querySelectorAll("section")].map((e) => ({ e, text: e.textContent.toLowerCase(), link: links.get(e.id) }));
const subjects = [...document.querySelectorAll(".subject")], groups = [...document.querySelectorAll("nav details")];

function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  let n = 0;
  for (const s of sections) {
    s.e.hidden = !words.every((w) => s.text.includes(w));
    if (s.link) s.link.parentElement.hidden = s.e.hidden;
    n += s.e.hidden ? 0 : 1;
  }
  for (const s of subjects) s.hidden = !s.querySelector("section:not([hidden])");
  for (const g of groups) {
    g.hidden = !g.querySelector("li:not([hidden])");
    g.open = words.length > 0 || g.querySelector("a[aria-current]") !== null;
  }
  found.textContent = words.length > 0 ? `${n} of ${sections.length}` : "";
  history.replaceState(null, "", (words.length > 0 ? `?q=${encodeURIComponent(input.value)}` : location.pathname) + location.hash);
}

// The contents show where the reader is.
const reading = new IntersectionObserver((seen) => {
  for (const s of seen) {
    const link = links.get(s.target.id);
    if (!s.isIntersecting || !link) continue;
    for (const other of links.values()) other.removeAttribute("aria-current");
    link.setAttribute("aria-current", "location");
    const group = link.closest("details");
    if (group) group.open = true;
    if (matchMedia("(min-width: 56rem)").matches) link.scrollIntoView({ block: "nearest" });
  }
}, { rootMargin: "0px 0px -80% 0px" });
for (const s of sections) reading.observe(s.e);

bar.hidden = false;
input.value = new URLSearchParams(location.search).get("q") ?? "";
input.addEventListener("input", search);
addEventListener("hashchange", () => { // a link leads to what the search may hide
  if (document.getElementById(location.hash.slice(1))?.hidden) { input.value = ""; search(); }
});
if (input.value !== "") search();
