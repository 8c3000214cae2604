package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cairndb/cairn/oplog/suite"
)

// unreadable is a script that lists what people cannot read or click on a page: text, field values and placeholders
// with a contrast below 4.5, or below 3 if large; a page wider than its window; text wider than its button; controls
// without a name; and click targets lower than 44 pixels. It skips disabled elements.
const unreadable = `(() => {
	const bad = new Set(), pen = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgba = (c) => { pen.clearRect(0, 0, 1, 1); pen.fillStyle = c; pen.fillRect(0, 0, 1, 1); const d = pen.getImageData(0, 0, 1, 1).data; return [d[0], d[1], d[2], d[3] / 255]; };
	const over = (a, b) => [0, 1, 2].map((i) => a[i] * a[3] + b[i] * (1 - a[3])).concat(1);
	const light = (c) => { const [r, g, b] = c.map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
	const seen = (e) => e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && e.getBoundingClientRect().width > 1;
	const name = (e) => e.tagName.toLowerCase() + (typeof e.className === "string" && e.className ? "." + e.className.split(" ").join(".") : "");
	/** read compares a text with what is behind its element; s is the style it is written in, faint what that style alone takes from its ink. */
	const read = (e, text, s, faint = 1) => {
		const layers = [];
		let alpha = 1;
		for (let p = e; p; p = p.parentElement) { const t = getComputedStyle(p); layers.push(rgba(t.backgroundColor)); alpha *= Number(t.opacity); }
		const behind = layers.reverse().reduce((under, l) => over(l, under), rgba(getComputedStyle(document.documentElement).colorScheme.includes("dark") && matchMedia("(prefers-color-scheme: dark)").matches ? "#121212" : "#fff"));
		const ink = rgba(e instanceof SVGElement ? s.fill : s.color);
		ink[3] *= alpha * faint;
		const [a, b] = [light(over(ink, behind)), light(behind)].sort((x, y) => y - x), ratio = (a + 0.05) / (b + 0.05), px = parseFloat(s.fontSize);
		if (ratio < (px >= 24 || (px >= 18.66 && Number(s.fontWeight) >= 700) ? 3 : 4.5)) bad.add(name(e) + " contrast " + ratio.toFixed(2) + ": " + text.trim().slice(0, 30));
	};
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n; (n = walk.nextNode()); ) {
		const e = n.parentElement;
		if (!n.data.trim() || !seen(e) || ["SCRIPT", "STYLE", "OPTION", "NOSCRIPT"].includes(e.tagName) || e.closest(":disabled, .skip")) continue;
		read(e, n.data, getComputedStyle(e));
	}
	for (const e of document.querySelectorAll("input:enabled:not([type=checkbox], [type=range]), select:enabled, textarea:enabled")) {
		if (!seen(e)) continue;
		const hint = getComputedStyle(e, "::placeholder");
		if (e.value) read(e, e.value, getComputedStyle(e)); else if (e.placeholder) read(e, e.placeholder, hint, Number(hint.opacity));
	}
	for (const e of document.querySelectorAll("a[href], button, input, select, textarea, summary, canvas, [tabindex='0']")) {
		const said = e.ariaLabel || [...(e.labels ?? [])].map((l) => l.textContent).join("") || (e.matches("input, select, textarea") ? "" : e.textContent) || e.title;
		if (seen(e) && !said?.trim()) bad.add("no name: " + e.outerHTML.slice(0, 80));
	}
	for (const e of document.querySelectorAll("button, nav a, .pill")) if (seen(e) && getComputedStyle(e).textOverflow !== "ellipsis" && e.scrollWidth > e.clientWidth + 1) bad.add(name(e) + " is too narrow for its text: " + e.textContent.slice(0, 30));
	if (document.documentElement.scrollWidth > innerWidth) bad.add("the page is " + document.documentElement.scrollWidth + " wide");
	for (const e of document.querySelectorAll("button:enabled, nav a, select, summary, input:not([type=checkbox])")) {
		if (!seen(e) || e.closest(".skip") || e.matches("button.link")) continue; // a link in text is as high as its line
		const h = e.getBoundingClientRect().height;
		if (h < 44) bad.add(name(e) + " is " + h.toFixed(0) + " high: " + (e.ariaLabel ?? e.textContent).slice(0, 30));
	}
	return [...bad];
})()`

// TestConsoleIsReadable checks every view and the reference in both themes and at three widths: text must be
// readable, click targets large enough for a thumb, and controls named.
func TestConsoleIsReadable(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p, axe := openConsole(t), newAxe(t)
	addExampleData(t, p.node, p.token)
	long := strings.Repeat("n", 500) // no space for a line break
	p.ask("POST", "/v1/remember", map[string]any{"text": long, "namespace": long, "memory_type": long, "domain": long, "source": long})
	p.ask("POST", "/v1/admin/tokens", map[string]any{"label": long})
	rid := p.ask("POST", "/v1/remember", map[string]any{"text": "The staging database is called osprey"})["rid"].(string)
	p.ask("POST", "/v1/correct", map[string]any{"rid": rid, "new_text": "The staging database is called kestrel", "reason": "renamed"})
	for _, view := range []struct{ name, path, ready string }{
		{"cluster", "/#cluster", `[data-node="1"]`}, {"recall", "/#recall/?q=staging%20database", `article.result .score`},
		{"memories", "/#memories", `tbody tr`}, {"life", "/#memory/" + rid, `[data-event=corrected]`},
		{"graph", "/#graph", `canvas.graph`}, {"mind", "/#mind", `article.conflict`},
		{"log", "/#log", `ol.log li`}, {"metrics", "/#metrics", `section.chart`},
		{"requests", "/#requests/remember", `[data-operation=remember]`}, {"admin", "/#admin", `input[name=label]`},
		{"admin-databases", "/#admin/databases", `[data-database=default]`},
		{"admin-memory", "/#admin/memory", `form[aria-label=Policies]`},
		{"admin-members", "/#admin/members", `[data-member="1"]`}, {"admin-keys", "/#admin/keys", `[data-home="1"]`},
		{"admin-backup", "/#admin/backup", `form[aria-label="Make a backup"]`},
		{"admin-audit", "/#admin/audit", `main table`}, {"docs", "/docs", `#Memory`},
	} {
		p.step(view.name, chromedp.Navigate(p.base+view.path), see(view.ready))
		if view.name == "recall" { // show the parts of a score
			p.step("a sum", click(`article.result .score`), see(`.sum`))
		}
		for _, theme := range []string{"light", "dark"} {
			for _, width := range []int64{1440, 768, 360} {
				var bad []string
				name := fmt.Sprintf("%s-%s-%d", view.name, theme, width)
				p.step(name, emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme},
					{Name: "prefers-reduced-motion", Value: "reduce"}}), chromedp.EmulateViewport(width, 900),
					chromedp.Evaluate(unreadable, &bad), shoot(p.dir, name))
				if bad = append(bad, axe.violations(p, name)...); len(bad) > 0 {
					t.Errorf("%s:\n\t%s", name, strings.Join(bad, "\n\t"))
				}
			}
		}
	}
	var found string
	p.step("search the reference", chromedp.Navigate(p.base+"/docs"), see(`.search input`),
		chromedp.SendKeys(`.search input`, "halves merge", chromedp.ByQuery),
		waitTrue(`document.querySelector(".search [role=status]").textContent.startsWith("0 of ")`),
		chromedp.Navigate(p.base+"/docs?q=forget+rid+reason"),
		waitTrue(`!document.querySelector("#forget").hidden && document.querySelector("#recall").hidden`),
		chromedp.Text(`.search [role=status]`, &found, chromedp.ByQuery),
		screenshots(p.dir, "docs-search"), chromedp.Evaluate(`location.hash = "#recall"`, nil), waitTrue(`!document.querySelector("#recall").hidden`))
	p.step("try it", chromedp.Click(`#recall a[href="/#requests/recall"]`, chromedp.ByQuery), see(`[data-operation=recall]`))
	if found == "" {
		t.Error("the search does not say how many it found")
	}
}

// axe is the source of axe-core, which CI installs with npm, or "" if it is not installed.
type axe string

func newAxe(t *testing.T) axe {
	path := os.Getenv("CAIRN_AXE")
	if path == "" {
		t.Log("axe's rules are left out: CAIRN_AXE does not name axe.min.js (npm install axe-core)")
		return ""
	}
	rules, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return axe(rules)
}

// violations returns the violations that axe finds on the current page.
func (a axe) violations(p *pageTest, name string) (bad []string) {
	if a == "" {
		return nil
	}
	const run = `axe.run(document, { resultTypes: ["violations"] }).then((r) => r.violations.flatMap((v) => v.nodes.map((n) => "axe " + v.id + ": " + n.html.slice(0, 120))))`
	p.step("axe-"+name, chromedp.Evaluate(string(a)+";0", nil),
		chromedp.Evaluate(run, &bad, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return bad
}
