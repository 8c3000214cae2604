package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/oplog/suite"
)

// browser opens a headless browser that reports everything a page must not do.
func browser(t *testing.T, more ...chromedp.ExecAllocatorOption) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine: no page is looked at")
	}
	machineLinks.RLock()
	t.Cleanup(machineLinks.RUnlock)
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900),
		chromedp.WSURLReadTimeout(2*time.Minute)) // the browser may start slowly on a busy machine
	// The test's context would end before the browser is closed and has removed its files.
	ctx, cancel := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), append(opts, more...)...)
	t.Cleanup(cancel)
	quiet := func(string, ...any) {} // the library logs errors about events that it does not know
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(quiet))
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*suite.Patience)
	t.Cleanup(func() {
		defer cancel()
		if err := chromedp.Cancel(ctx); err != nil {
			t.Logf("closing the browser: %v", err)
		}
	})
	return ctx
}

// watch collects the errors of a page. expected reports which of them belong to the test.
func watch(t *testing.T, ctx context.Context, expected func(string) bool) {
	t.Helper()
	var mu sync.Mutex
	var bad []string
	note := func(s string) {
		mu.Lock()
		defer mu.Unlock()
		if !expected(s) {
			bad = append(bad, s)
		}
	}
	urls := map[network.RequestID]string{}
	chromedp.ListenTarget(ctx, func(ev any) {
		switch e := ev.(type) {
		case *runtime.EventExceptionThrown:
			note("exception: " + e.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				note("console error")
			}
		case *log.EventEntryAdded:
			if e.Entry.Level == log.LevelError {
				note("log: " + e.Entry.Text + " " + e.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			mu.Lock()
			urls[e.RequestID] = e.Request.URL
			mu.Unlock()
			if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && u.Scheme != "chrome-error" &&
				u.Hostname() != "127.0.0.1" {
				note("request to another host: " + e.Request.URL)
			}
		case *network.EventResponseReceived:
			if e.Response.Status >= 400 {
				note(fmt.Sprintf("status %d: %s", e.Response.Status, e.Response.URL))
			}
		}
	})
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		for _, b := range bad {
			t.Error(b)
		}
	})
}

// screenshotDir returns the directory for screenshots.
func screenshotDir(t *testing.T) string {
	if dir := os.Getenv("CAIRN_SCREENSHOTS"); dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	return t.TempDir()
}

func shoot(dir, name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var b []byte
		if err := chromedp.CaptureScreenshot(&b).Do(ctx); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+".png"), b, 0o600)
	})
}

// screenshots takes screenshots of a page, wide and narrow, in the light and the dark theme.
func screenshots(dir, name string) chromedp.Action {
	night := func(scheme string) chromedp.Action {
		return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme},
			{Name: "prefers-reduced-motion", Value: "reduce"}})
	}
	return chromedp.Tasks{night("light"), shoot(dir, name+"-light"), night("dark"), shoot(dir, name+"-dark"),
		chromedp.EmulateViewport(390, 844), shoot(dir, name+"-narrow-dark"), night("light"),
		shoot(dir, name+"-narrow-light"), chromedp.EmulateViewport(1280, 900)}
}

func signInAt(base, token string) chromedp.Tasks {
	return chromedp.Tasks{
		chromedp.Navigate(base + "/#cluster"),
		chromedp.WaitVisible(`input[name=token]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name=token]`, token+"\n", chromedp.ByQuery),
		chromedp.WaitVisible(`[data-node="3"]`, chromedp.ByQuery),
	}
}

// gateway sends a request to a node's gateway, to prepare a page.
func gateway(t *testing.T, n *cairntest.Node, token, method, path string, body any) (out map[string]any) {
	t.Helper()
	tg := cli.Target{Endpoints: []string{n.Line.HTTP}, TokenText: token, Timeout: suite.Patience}
	if err := tg.Get(t.Context(), method, path, body, &out); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// addExampleData fills a cluster with example data: people and their work, a contradiction, and a duplicate.
func addExampleData(t *testing.T, leader *cairntest.Node, token string) {
	t.Helper()
	var memories []map[string]any
	for i, text := range []string{"Alice leads the payments team and reviews every release",
		"Bob is on call this week for the search cluster", "Payments moved to the new ledger in March",
		"The staging database is called heron", "Carol prefers short meetings in the morning",
		"The deploy on friday failed because the disk of heron was full",
		"Alice lives in Berlin", "Alice lives in Lisbon", "The backup job runs every night at two",
		"The backup job runs every night at two o'clock"} {
		memories = append(memories,
			map[string]any{"text": text, "importance": 0.4 + 0.05*float64(i), "namespace": []string{"default", "work"}[i/6],
				"source": "user", "domain": []string{"", "ops"}[i%2]})
	}
	gateway(t, leader, token, "POST", "/v1/remember/batch", map[string]any{"memories": memories})
	for _, r := range [][3]string{{"Alice", "leads", "payments"}, {"Bob", "works on", "search"},
		{"Carol", "leads", "search"}, {"payments", "uses", "ledger"}, {"heron", "hosts", "ledger"},
		{"Bob", "reports to", "Carol"}, {"Dora", "lives_in", "Oslo"}, {"Dora", "lives_in", "Bergen"}} {
		gateway(t, leader, token, "POST", "/v1/relate", map[string]any{"entity": r[0], "relationship": r[1], "target": r[2]})
	}
	gateway(t, leader, token, "POST", "/v1/think", map[string]any{"run_consolidation": false})
	for range 2 {
		gateway(t, leader, token, "POST", "/v1/recall", map[string]any{"query": "where is the key to the garden", "namespace": "nowhere"})
	}
}

// TestConsole walks through the console on a follower: it signs in, remembers, recalls, opens a memory, corrects it,
// forgets another, resolves a contradiction, moves the graph, and follows the log.
func TestConsole(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "a browser and three nodes are not started")
	ctx := browser(t)
	dir := screenshotDir(t)
	nodes, token := startThree(t, 0, 1, 2)
	l := leaderOf(t, nodes)
	leader, page := nodes[l], nodes[(l+1)%3].Line.HTTP
	addExampleData(t, leader, token)
	watch(t, ctx, func(s string) bool { // the log asks for the names of a relation that was deleted since
		return strings.Contains(s, "404") && strings.Contains(s, "/v1/edges/")
	})
	step := func(name string, actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			if err := chromedp.Run(ctx, shoot(dir, "stuck-"+name)); err != nil {
				t.Log(err)
			}
			t.Fatalf("%s: %v", name, err)
		}
	}
	on := chromedp.ByQuery
	var title, text string

	step("sign in", chromedp.Navigate(page+"/"), see(`input[name=token]`), screenshots(dir, "signin"), signInAt(page, token),
		screenshots(dir, "cluster"))

	hostile := `Heron <img src=x onerror="console.error(1)"> is the staging database`
	step("remember", chromedp.Navigate(page+"/#recall"), see(`input[name=memory]`), screenshots(dir, "recall-empty"),
		chromedp.SendKeys(`input[name=memory]`, hostile+"\n", on), see(`#toast.on`))
	step("recall", click(`input[name=compare]`), chromedp.SendKeys(`input[name=q]`, "img onerror staging database\n", on),
		see(`article.result .score`), click(`article.result .score`), see(`article.result .sum .bar`),
		chromedp.Text(`article.result .text`, &text, on), screenshots(dir, "recall"))
	if text != hostile {
		t.Errorf("recalled %q", text)
	}
	step("correct", click(`article.result button`), see(`dialog details summary`), click(`dialog details summary`),
		see(`dialog textarea`), screenshots(dir, "correct"),
		chromedp.SetValue(`dialog textarea`, "Osprey is the staging database", on),
		chromedp.SendKeys(`dialog input[aria-label=Reason]`, "renamed", on), click(`dialog button.primary`),
		see(`dialog details[open] .was`), chromedp.Text(`dialog p.text`, &title, on), screenshots(dir, "memory"),
		chromedp.KeyEvent(kb.Escape), chromedp.WaitNotPresent(`dialog`, on))
	if title != "Osprey is the staging database" {
		t.Errorf("corrected to %q", title)
	}

	const holdBack = `{ const go = fetch; window.fetch = (path, o) => path.startsWith("/v1/recall") ? new Promise((_, no) => o.signal.addEventListener("abort", () => no(o.signal.reason))) : go(path, o); }`
	step("leave while it asks again", chromedp.Navigate(page+"/#recall/?q=Osprey"),
		waitTrue(`document.querySelector("input[name=q]")?.value === "Osprey" && document.querySelector("article.result .score")`),
		chromedp.Evaluate(holdBack, nil), click(`article.result button`), see(`dialog details summary`), click(`dialog details summary`),
		see(`dialog textarea`), chromedp.SetValue(`dialog textarea`, "Osprey is the production database", on),
		chromedp.SendKeys(`dialog input[aria-label=Reason]`, "moved", on), click(`dialog button.primary`),
		waitTrue(`document.querySelector("dialog p.text")?.textContent.includes("production")`),
		chromedp.Navigate(page+"/#memories"), see(`tbody tr`), chromedp.Reload(), see(`tbody tr`))

	var at, hash string
	step("by keyboard", chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.Focus(`.skip`, on),
		chromedp.KeyEvent(kb.Enter), chromedp.Evaluate(`document.activeElement.id`, &at),
		chromedp.Focus(`nav a[href="./#memories"]`, on), chromedp.KeyEvent(kb.Enter), see(`tbody tr`),
		chromedp.Evaluate(`document.activeElement.hash`, &hash))
	if at != "main" || hash != "#memories" {
		t.Errorf("the skip link leads to %q; in the menu the focus went to %q", at, hash)
	}
	step("memories", chromedp.Navigate(page+"/#memories"), see(`tbody tr`), screenshots(dir, "memories"),
		chromedp.SendKeys(`input[name=namespace]`, "work\n", on),
		chromedp.WaitNotPresent(`//td[text()="default"]`, chromedp.BySearch), click(`tbody tr button`),
		see(`dialog .danger`+", dialog summary"), click(`dialog details summary`), click(`dialog .danger`),
		see(`.small-dialog .danger`), shoot(dir, "confirm"), click(`.small-dialog .danger`),
		chromedp.WaitNotPresent(`dialog`, on), see(`#toast.on`))
	if st := gateway(t, leader, token, "GET", "/v1/stats?namespace=work", nil); st["tombstoned_memories"] != 1.0 {
		t.Errorf("after forgetting: %v", st)
	}

	step("all of the graph", chromedp.Navigate(page+"/#graph"), see(`canvas.graph[data-links]`), see(`.side .chip`),
		shoot(dir, "graph-all"))
	step("graph", chromedp.Navigate(page+"/#graph/Alice"), see(`canvas.graph[data-chosen="Alice"]`), see(`.side dl`), screenshots(dir, "graph"))

	// A conflict of two relations shows both, says what Keep takes away, and fills the merge with what they say.
	const dora = `//article[contains(@class, "conflict")][.//p[contains(text(), "Oslo")]]`
	var asked, merged string
	step("a conflict of relations", chromedp.Navigate(page+"/#mind"), chromedp.WaitVisible(dora, chromedp.BySearch),
		chromedp.WaitVisible(dora+`//p[text()="Dora lives in Bergen"]`, chromedp.BySearch),
		chromedp.Click(dora+`//button[starts-with(text(), "Merge")]`, chromedp.BySearch), see(`dialog textarea`),
		chromedp.Value(`dialog textarea`, &merged, on), chromedp.KeyEvent(kb.Escape), chromedp.WaitNotPresent(`dialog`, on),
		chromedp.Click(dora+`//button[text()="Keep A"]`, chromedp.BySearch), see(`.small-dialog .danger`),
		chromedp.Text(`.small-dialog`, &asked, on), shoot(dir, "keep-a-relation"), click(`.small-dialog .danger`),
		chromedp.WaitNotPresent(dora, chromedp.BySearch))
	if want := []string{"Dora lives in Bergen", "Dora lives in Oslo"}; !slices.Equal(slices.Sorted(slices.Values(strings.Split(merged, "\n"))), want) {
		t.Errorf("the merge begins as %q, want %q", merged, want)
	}
	if !strings.Contains(asked, "Dora lives in ") {
		t.Errorf("it asks %q and does not say what is forgotten", asked)
	}
	step("mind", chromedp.Navigate(page+"/#mind"), see(`article.conflict`), screenshots(dir, "mind"),
		click(`article.conflict .side-by-side:first-child > button`), see(`.small-dialog .danger`), click(`.small-dialog .danger`),
		chromedp.WaitNotPresent(`article.conflict`, on))
	if got := gateway(t, leader, token, "GET", "/v1/conflicts?status=open", nil); len(got["conflicts"].([]any)) != 0 {
		t.Errorf("still open: %v", got)
	}

	step("log", chromedp.Navigate(page+"/#log"), see(`ol.log li`))
	stored := gateway(t, leader, token, "POST", "/v1/remember", map[string]any{"text": "while the log is watched"})
	step("live log", waitTrue(fmt.Sprintf(`document.querySelector("ol [data-id='%s']")?.textContent === "while the log is watched"`,
		stored["rid"])), screenshots(dir, "log"))
	const lines = `document.querySelector(".past section.chart").querySelectorAll("path[data-node]")`
	step("the past of all nodes", chromedp.Navigate(page+"/#metrics"), see(`.past section.chart`),
		waitTrue(`[...`+lines+`].filter((p) => p.getAttribute("d").startsWith("M") && p.getAttribute("d") !== "M0,0").length === 3`),
		see(`[data-mark=election]`),
		waitTrue(`document.querySelectorAll("[data-mark=start]").length === 3 && document.querySelectorAll("line.mark").length > 0`),
		screenshots(dir, "metrics-past"))
	// A day of three nodes, one of which was down for an hour; each node starts before its first sample.
	const day = `{ const go = fetch; window.fetch = async (path, o) => { if (!path.startsWith("/v1/cluster/metrics")) return go(path, o); const body = await (await go(path, o)).json(), now = Date.now() / 1000;
		for (const n of body.nodes) { n.at = Array.from({ length: 240 }, (_, i) => now - 360 * (239 - i)); for (const k of Object.keys(n)) if (Array.isArray(n[k]) && k !== "at" && k !== "marks") n[k] = n.at.map((_, i) => (n.node_id === 2 && i >= 100 && i < 110 ? null : 20 * n.node_id + 8 * Math.sin(i / 12 + n.node_id)));
			n.marks.push({ at: n.at[0] - 1, kind: "start" }, { at: n.at[110], kind: "election", term: 9, leader_id: 3 }); }
		return new Response(JSON.stringify(body)); }; }`
	step("a day of all nodes", chromedp.Navigate(page+"/#log"), see(`ol.log`), chromedp.Evaluate(day, nil),
		chromedp.Navigate(page+"/#metrics"), see(`.past section.chart`), waitTrue(lines+`[1].getAttribute("d").split("M").length === 3`),
		waitTrue(`[...document.querySelectorAll("[data-mark=election]")].some((m) => m.textContent.includes("Node 3 was elected in term 9"))`),
		waitTrue(`document.querySelectorAll("[data-mark=start]").length === 6`), screenshots(dir, "metrics-day"))
	step("metrics", see(`.live section.chart`),
		waitTrue(`(document.querySelector(".live section.chart b")?.textContent ?? "–") !== "–"`), screenshots(dir, "metrics"),
		waitTrue(`document.querySelectorAll(".live section.chart path:not(.area)")[8]?.getAttribute("d")?.split("L").length > 1`),
		shoot(dir, "metrics-later"))

	step("docs", chromedp.Navigate(page+"/docs"), see(`#Memory`), screenshots(dir, "docs"), chromedp.Navigate(page+"/#cluster"),
		see(`[data-node="3"]`))

	// With a read-only token the console shows everything, and offers no action that the token does not permit.
	reader := gateway(t, leader, token, "POST", "/v1/admin/tokens", map[string]any{"scopes": []string{"read"}})["token"].(string)
	var offered int
	step("as a reader", click(`.who button`), see(`input[name=token]`), signInAt(page, reader),
		chromedp.Navigate(page+"/#memories"), see(`tbody tr button`), click(`tbody tr button`), see(`dialog summary`),
		click(`dialog details summary`),
		see(`dialog .danger`),
		chromedp.Evaluate(`document.querySelectorAll("dialog .danger:enabled, dialog .primary:enabled").length`, &offered),
		shoot(dir, "reader"))
	if offered != 0 {
		t.Error("a token that may only read is offered to correct and forget")
	}
}

// TestConsoleSeesALeaderDie checks that a page of a follower shows the death of the leader, within five seconds if
// browser and nodes have enough CPU.
func TestConsoleSeesALeaderDie(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "a browser and three nodes are not started")
	ctx := browser(t)
	nodes, token := startThree(t, 0, 1, 2)
	l := leaderOf(t, nodes)
	f := nodes[(l+1)%3]
	gateway(t, nodes[l], token, "POST", "/v1/remember", map[string]any{"text": "Heron is the staging database"})
	watch(t, ctx, func(s string) bool { return strings.HasPrefix(s, "status 503") })
	if err := chromedp.Run(ctx, signInAt(f.Line.HTTP, token),
		chromedp.WaitVisible(fmt.Sprintf(`[data-node="%d"][data-role="Leader"]`, l+1), chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	nodes[l].Kill()
	start := time.Now()
	if err := chromedp.Run(ctx,
		chromedp.WaitVisible(fmt.Sprintf(`[data-node="%d"][data-role="unreachable"]`, l+1), chromedp.ByQuery),
		chromedp.WaitVisible(`[data-role="Leader"]`, chromedp.ByQuery), shoot(screenshotDir(t), "after-death")); err != nil {
		t.Fatal(err)
	}
	d := time.Since(start)
	t.Logf("seen after %s", d)
	var compared string
	if err := chromedp.Run(ctx, chromedp.Navigate(f.Line.HTTP+"/#recall"), see(`input[name=q]`), click(`input[name=compare]`),
		chromedp.SendKeys(`input[name=q]`, "Heron\n", chromedp.ByQuery), see(`main .pill`),
		chromedp.Text(`main .pill`, &compared, chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	if compared != "▲ not every node answered" {
		t.Errorf("answers compared without the dead node: %s", compared)
	}
	if d > 2*time.Minute {
		t.Errorf("after %s", d)
	}
}
