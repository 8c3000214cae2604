package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// A pageTest is a browser on the console of a single node.
type pageTest struct {
	t           *testing.T
	ctx         context.Context
	node        *cairntest.Node
	base, token string
	dir         string
}

// openConsole starts a node and a browser, and signs in.
func openConsole(t *testing.T) *pageTest {
	t.Helper()
	suite.NotShort(t, "a browser and a node are not started")
	p := &pageTest{t: t, ctx: browser(t), dir: screenshotDir(t)}
	var home string
	p.node, home = cairntest.StartDev(t)
	secret, err := os.ReadFile(filepath.Join(home, "token"))
	if err != nil {
		t.Fatal(err)
	}
	p.token = strings.TrimSpace(string(secret))
	p.base = p.node.Line.HTTP
	watch(t, p.ctx, func(string) bool { return false })
	p.step("sign in", chromedp.Navigate(p.base+"/#cluster"), see(`input[name=token]`),
		chromedp.SendKeys(`input[name=token]`, p.token+"\n", chromedp.ByQuery), see(`[data-node="1"]`))
	return p
}

func (p *pageTest) step(name string, actions ...chromedp.Action) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, suite.Patience)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		if err := chromedp.Run(p.ctx, shoot(p.dir, "stuck-"+strings.ReplaceAll(name, " ", "-"))); err != nil {
			p.t.Log(err)
		}
		p.t.Fatalf("%s: %v", name, err)
	}
}

func (p *pageTest) ask(method, path string, body any) map[string]any {
	p.t.Helper()
	return gateway(p.t, p.node, p.token, method, path, body)
}

func see(sel string) chromedp.Action   { return chromedp.WaitVisible(sel, chromedp.ByQuery) }
func click(sel string) chromedp.Action { return chromedp.Click(sel, chromedp.ByQuery) }

// waitTrue waits until an expression is true on the page. Its timeout exceeds the half minute between two polls of a
// chart.
func waitTrue(js string) chromedp.Action {
	return chromedp.Poll(js, nil, chromedp.WithPollingTimeout(2*time.Minute))
}

// TestConsoleKeepsAnError checks that the error of a failed view stays visible, although the indicator of a slow view
// appears after 150 ms.
func TestConsoleKeepsAnError(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	const fails = `{ const go = fetch; window.fetch = async (path, o) => String(path).includes("/nope") ? new Response(JSON.stringify({ error: "no such memory", code: "not_found" }), { status: 404, headers: { "Content-Type": "application/json" } }) : go(path, o); }`
	const later = `new Promise((r) => setTimeout(() => r(document.querySelector("main").textContent), 400))`
	var shown string
	p.step("a memory that is not there", see(`main h1`), chromedp.Evaluate(fails, nil),
		chromedp.Navigate(p.base+"/#memory/nope"), waitTrue(`document.querySelector("main").textContent.includes("no such memory")`),
		chromedp.Evaluate(later, &shown, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	if !strings.Contains(shown, "no such memory") || strings.Contains(shown, "Loading") {
		t.Errorf("the page shows %q", shown)
	}
	const broken = `{ const go = fetch; window.fetch = async (path, o) => /admin.me|v1.databases/.test(path) ? go(path, o) : new Response(JSON.stringify({ error: "it broke", code: "internal_error" }), { status: 500, headers: { "Content-Type": "application/json" } }); }`
	p.step("everything is broken", chromedp.Evaluate(broken, nil))
	for _, view := range []string{"recall", "recall/?q=tent", "memories", "memory/some", "graph", "graph/Alice", "mind",
		"log", "metrics", "requests", "admin", "admin/memory", "admin/members", "admin/keys", "admin/audit", "cluster"} {
		p.step(view, chromedp.Navigate(p.base+"/#"+view),
			waitTrue(`document.querySelector("main").textContent.includes("it broke") && !document.querySelector("main").textContent.includes("Loading")`))
	}
}

// TestConsoleShowsShortTextsWhole checks that blank lines of a text do not use up the two lines of a row.
func TestConsoleShowsShortTextsWhole(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	p.ask("POST", "/v1/remember", map[string]any{"text": "Deploys > Rollback\n\nRun make rollback."})
	const row = `document.querySelector(".result .text")`
	p.step("a memory of two paragraphs", chromedp.Navigate(p.base+"/#recall"), waitTrue(row+` !== null`),
		waitTrue(row+`.scrollHeight <= `+row+`.clientHeight`))
}

// TestConsoleMemories checks the search while typing, which cancels the previous request and stores the query in the
// address, the pages back and forth, and the page of a memory, which shows its history and why a query finds it.
func TestConsoleMemories(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	var memories []map[string]any
	for i := range 60 {
		memories = append(memories,
			map[string]any{"text": fmt.Sprintf("The tent number %d stands by the river", i),
				"source": []string{"user", "sensor"}[i%2], "created_at": fmt.Sprintf("2026-01-%02dT12:00:00Z", 1+i/2), "namespace": "camp"})
	}
	memories = append(memories, map[string]any{"text": "Alice leads the payments team"},
		map[string]any{"text": "Osprey is the staging database"}, map[string]any{"text": "Alice leads the payments group"})
	rids := p.ask("POST", "/v1/remember/batch", map[string]any{"memories": memories})["rids"].([]any)
	osprey := rids[61].(string)
	p.ask("POST", "/v1/correct",
		map[string]any{"rid": osprey, "new_text": "Osprey is the production database", "reason": "it was promoted"})
	p.ask("POST", "/v1/recall", map[string]any{"query": "Osprey database"})

	// Pages of 25, 25 and 13 memories, by cursor, forward and back.
	const first = `document.querySelector("tbody tr .link")?.textContent`
	const rows = `document.querySelectorAll("tbody tr").length`
	var one, two, again, asked string
	p.step("pages", chromedp.Navigate(p.base+"/#memories"), waitTrue(rows+` === 25`), chromedp.Evaluate(first, &one),
		click(`.pages button:last-child`), waitTrue(fmt.Sprintf("%s !== %q", first, "Alice leads the payments group")),
		chromedp.Evaluate(first, &two),
		click(`.pages button:last-child`), waitTrue(rows+` === 13`), chromedp.Reload(), waitTrue(rows+` === 13`),
		click(`.pages button:first-child`), waitTrue(rows+` === 25`), chromedp.Evaluate(first, &again))
	if one != "Alice leads the payments group" || two != "The tent number 37 stands by the river" || again != two {
		t.Errorf("pages begin with %q, %q, and %q on the way back", one, two, again)
	}
	p.step("back by the browser", chromedp.Evaluate(`history.back()`, nil), waitTrue(rows+` === 13`))

	// Filters: source and days.
	p.step("filters", chromedp.Navigate(p.base+"/#memories/?source=sensor&from=2026-01-03&to=2026-01-04"), waitTrue(rows+` === 2`),
		screenshots(p.dir, "memories-filtered"))

	// Delay the first request until the second is sent, which must cancel it.
	const slow = `{ const go = fetch; window.cancelled = 0; window.asked = 0; window.fetch = (path, o) => { if (path.startsWith("/v1/recall") && window.asked++ === 0) return new Promise((_, no) => o.signal.addEventListener("abort", () => { window.cancelled++; no(o.signal.reason); })); return go(path, o); }; }`
	p.step("search", chromedp.Navigate(p.base+"/#memories"), waitTrue(rows+` === 25`), chromedp.Evaluate(slow, nil),
		chromedp.SendKeys(`input[name=q]`, "payments", chromedp.ByQuery), waitTrue(`window.asked === 1`),
		chromedp.SendKeys(`input[name=q]`, " team", chromedp.ByQuery), waitTrue(`window.cancelled === 1`),
		waitTrue(first+` === "Alice leads the payments team"`),
		chromedp.Evaluate(`location.hash + (window.asked < "payments team".length ? "" : " with a question a letter")`, &asked),
		screenshots(p.dir, "memories-search"))
	if asked != "#memories/?q=payments+team" {
		t.Errorf("the address: %s", asked)
	}
	if gaps := p.ask("GET", "/v1/insights/gaps", nil); strings.Contains(fmt.Sprint(gaps), "payments") {
		t.Errorf("what is half typed counts as a question: %v", gaps)
	}
	p.step("pages of a search", chromedp.Navigate(p.base+"/#memories/?q=tent+river"), waitTrue(rows+` === 25`),
		click(`.pages button:last-child`),
		waitTrue(`document.querySelector("[role=status].grow").textContent.startsWith("26 to 50")`), chromedp.Reload(),
		waitTrue(`document.querySelector("[role=status].grow")?.textContent.startsWith("26 to 50")`))

	suite.Eventually(t, "the recall to be counted", func() bool { return p.ask("GET", "/v1/memory/"+osprey, nil)["access_count"] == 1.0 })
	var life string
	p.step("life", chromedp.Navigate(p.base+"/#memories/?q=osprey"),
		waitTrue(`document.querySelector("tbody tr .link")?.textContent.includes("production")`), click(`tbody tr .link`),
		see(`dialog a[href^="#memory/"]`), click(`dialog a[href^="#memory/"]`),
		see(`[data-event=corrected]`),
		chromedp.Evaluate(`[...document.querySelectorAll("[data-event]")].map((e) => e.dataset.event + ": " + e.innerText).join("|") + [...document.querySelectorAll("[data-event] del")].map((e) => "[" + e.textContent + "] {" + e.nextSibling.textContent + "}")`,
			&life), screenshots(p.dir, "life"))
	for _, want := range []string{"written: ", "Osprey is the staging database", "[staging] {production}", "it was promoted",
		"Recalled 1 time"} {
		if !strings.Contains(life, want) {
			t.Errorf("its life does not tell %q: %s", want, life)
		}
	}
	p.step("why", chromedp.SendKeys(`input[name=why]`, "which database is production\n", chromedp.ByQuery),
		see(`form .sum .bar`), waitTrue(`document.querySelector("form .pill.good")?.textContent.startsWith("place 1 of")`),
		chromedp.SetValue(`input[name=why]`, "tents", chromedp.ByQuery),
		chromedp.SendKeys(`input[name=why]`, "\n", chromedp.ByQuery),
		waitTrue(`document.querySelector("form .pill.bad")?.textContent === "not found"`), screenshots(p.dir, "why-not"))
	p.step("undo", click(`[data-event=corrected] button`),
		waitTrue(`document.querySelector(".small-dialog [data-returns='0']")?.textContent === "Osprey is the staging database"`),
		screenshots(p.dir, "undo"), click(`.small-dialog .danger`), waitTrue(`document.querySelectorAll("[data-event=corrected]").length === 2`))
	if m := p.ask("GET", "/v1/memory/"+osprey, nil); m["text"] != "Osprey is the staging database" {
		t.Errorf("after taking the earlier text again it says %v", m["text"])
	}
	p.step("cut", chromedp.Navigate(p.base+"/#recall/?q=tent"), see(`article.result .score`), click(`button[name=cut]`),
		see(`.cutrow .bar`), waitTrue(`document.querySelector(".cutrow .pill").textContent === "place 9"`), screenshots(p.dir, "cut"))
}

// TestConsoleRecalls checks that the console opens on the newest memories, that a screen shows eight results with
// text and reasons in words, that the printed parts of a score add up to it, and that the address restores the query.
func TestConsoleRecalls(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	var memories []map[string]any
	for i := range 20 {
		memories = append(memories,
			map[string]any{"text": fmt.Sprintf("The tent number %d stands by the river, and rain falls on it", i),
				"importance": float64(i) / 20, "namespace": "camp"})
	}
	p.ask("POST", "/v1/remember/batch", map[string]any{"memories": memories})
	p.step("newest", chromedp.Navigate(p.base+"/#"), waitTrue(`document.querySelectorAll("article.result").length === 8`),
		waitTrue(`document.querySelector("article.result .text").textContent.startsWith("The tent number 19 ")`), screenshots(p.dir, "recall-newest"),
		click(`.results + .row button`), waitTrue(`document.querySelectorAll("article.result").length === 16`))
	const added = `[...document.querySelectorAll(".sum")].map((s) => [...s.querySelectorAll("b")].map((b) => Math.round(10 * Number(b.textContent.replace("−", "-").replace(/[^0-9.-]/g, ""))))).filter((n) => n.slice(0, -1).reduce((a, b) => a + b, 0) !== n.at(-1) || n.length < 2).length`
	var seen, wrong int
	var text string
	p.step("answer", chromedp.Navigate(p.base+"/#recall"), waitTrue(`document.querySelectorAll("article.result").length === 8`),
		chromedp.SendKeys(`input[name=q]`, "which tent stands by the river in the rain\n", chromedp.ByQuery),
		waitTrue(`document.querySelectorAll(".score").length === 8`),
		chromedp.Evaluate(`[...document.querySelectorAll("article.result")].filter((e) => e.getBoundingClientRect().bottom <= innerHeight).length`,
			&seen), chromedp.Evaluate(`document.querySelectorAll(".score").forEach((b) => b.click())`, nil),
		waitTrue(`document.querySelectorAll(".sum").length === 8`),
		chromedp.Evaluate(added, &wrong), chromedp.Text(`main`, &text, chromedp.ByQuery), screenshots(p.dir, "recall-sums"))
	if seen != 8 || wrong != 0 {
		t.Errorf("%d results on a screen of 900 pixels; the parts of %d scores do not add up: %s", seen, wrong, text)
	}
	if strings.Contains(text, "fts_sourced") || !strings.Contains(text, "same words") {
		t.Errorf("reasons: %s", text)
	}
	// The first answer arrives after the answer with a filter; the button is disabled until the request has ended.
	const slow = `{ const go = fetch; window.fetch = async (path, o) => { const r = await go(path, o); if (path.startsWith("/v1/recall") && !window.release) await new Promise((yes) => { window.release = yes; }); return r; }; }`
	const filter = `{ const i = document.querySelector("input[name=namespace]"); i.value = "nowhere"; i.dispatchEvent(new Event("change")); }`
	p.step("the last question's answer", chromedp.Navigate(p.base+"/#recall"),
		waitTrue(`document.querySelectorAll("article.result").length === 8 && !document.querySelector(".score")`),
		chromedp.Evaluate(slow, nil), chromedp.SendKeys(`input[name=q]`, "which tent stands by the river in the rain\n", chromedp.ByQuery),
		waitTrue(`window.release`), chromedp.Evaluate(filter, nil),
		waitTrue(`document.querySelector("main").textContent.includes("Nothing is known")`),
		chromedp.Evaluate(`window.release()`, nil), waitTrue(`!document.querySelector("form.ask button.primary").disabled`),
		chromedp.Text(`main`, &text, chromedp.ByQuery))
	if !strings.Contains(text, "Nothing is known") {
		t.Errorf("the answer to an earlier question stands: %s", text)
	}
	p.step("by its address", chromedp.Navigate(p.base+"/#recall/?q=which+tent"), chromedp.Reload(),
		waitTrue(`document.querySelector("input[name=q]")?.value.startsWith("which tent") && document.querySelectorAll(".score").length === 8`),
		see(`a.state[aria-label="Cluster: healthy"]`), click(`a.state`), see(`[data-node="1"]`))
}

// TestConsoleDrawsThePastThatWasAskedFor checks that the answer for six hours, which arrives after the one for an
// hour is drawn, does not replace it.
func TestConsoleDrawsThePastThatWasAskedFor(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	const slow = `{ const go = fetch, of = (minutes) => ({ ok: true, json: async () => { setTimeout(() => { window["drawn" + minutes] = true; }); return { nodes: [{ node_id: 1, error: minutes + " minutes", at: [], marks: [] }] }; } });
		window.fetch = (path, o) => !path.startsWith("/v1/cluster/metrics") ? go(path, o) : path.endsWith("=360") ? new Promise((yes) => { window.release = () => yes(of(360)); }) : Promise.resolve(of(60)); }`
	choose := func(minutes int) chromedp.Action {
		return chromedp.Evaluate(fmt.Sprintf(`{ const s = document.querySelector("select[aria-label='How far back']"); s.value = "%d"; s.dispatchEvent(new Event("change")); }`,
			minutes), nil)
	}
	var text string
	p.step("the past", chromedp.Navigate(p.base+"/#metrics"), see(`.past section.chart`), chromedp.Evaluate(slow, nil),
		choose(360), waitTrue(`window.release`), choose(60), waitTrue(`window.drawn60`),
		chromedp.Evaluate(`window.release()`, nil), waitTrue(`window.drawn360`), chromedp.Text(`.past .legend`, &text, chromedp.ByQuery))
	if !strings.Contains(text, "60 minutes") || strings.Contains(text, "360") {
		t.Errorf("an hour was asked for, and drawn is %q", text)
	}
}

// TestConsoleCorrectsWhatWasChanged checks that a correction of the importance keeps the text unchanged, including
// its line endings, and only reports success.
func TestConsoleCorrectsWhatWasChanged(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	p := openConsole(t)
	const text = "The ferry leaves at nine.\r\nIt comes back at ten."
	rid, _ := p.ask("POST", "/v1/remember", map[string]any{"text": text})["rid"].(string)
	var shown string
	p.step("correct", chromedp.Navigate(p.base+"/#memory/"+rid), see(`article details summary`),
		click(`article details summary`), chromedp.SetValue(`article input[aria-label=Importance]`, "0.9", chromedp.ByQuery),
		chromedp.SendKeys(`article input[aria-label=Reason]`, "it matters", chromedp.ByQuery),
		click(`article details button.primary`), see(`[data-event=corrected]`),
		chromedp.Evaluate(`new Promise((said) => setTimeout(() => said(document.getElementById("toast").textContent)))`,
			&shown, func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	if m := p.ask("GET", "/v1/memory/"+rid, nil); m["text"] != text || m["importance"] != 0.9 || shown != "Corrected" {
		t.Errorf("%q of importance %v, and the page says %q", m["text"], m["importance"], shown)
	}
}
