package main

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser opens a headless browser that reports everything a page should not do.
func browser(t *testing.T) context.Context {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		t.Skip("no Chromium on this machine: the console is not looked at")
	}
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 90*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// watch collects what a page complains of. expected says which failures belong to the test.
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
			if u, err := url.Parse(e.Request.URL); err == nil && u.Scheme != "data" && u.Scheme != "chrome-error" && u.Hostname() != "127.0.0.1" {
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

// shots is where pictures of the pages go.
func shots(t *testing.T) string {
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

func signInAt(base, token string) chromedp.Tasks {
	return chromedp.Tasks{
		chromedp.Navigate(base + "/"),
		chromedp.WaitVisible(`input[name=token]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name=token]`, token+"\n", chromedp.ByQuery),
		chromedp.WaitVisible(`[data-node="3"]`, chromedp.ByQuery),
	}
}

// TestConsole does what a person does: signs in, remembers, recalls, opens a memory, corrects it, and watches a leader die.
func TestConsole(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a browser and three nodes are not started")
	}
	ctx := browser(t)
	dir := shots(t)
	nodes, token := startThree(t, 0, 1, 2)
	l := leaderOf(t, nodes)
	watch(t, ctx, func(string) bool { return false })
	hostile := `Heron <img src=x onerror="console.error(1)"> is the staging database`
	var title, text string
	if err := chromedp.Run(ctx,
		signInAt(nodes[l].line.HTTP, token), shoot(dir, "cluster"),
		chromedp.Navigate(nodes[l].line.HTTP+"/#recall"),
		chromedp.WaitVisible(`input[name=memory]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name=memory]`, hostile+"\n", chromedp.ByQuery),
		chromedp.WaitVisible(`#toast.on`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name=query]`, "staging database", chromedp.ByQuery),
		chromedp.Click(`input[name=compare]`, chromedp.ByQuery),
		chromedp.SendKeys(`input[name=query]`, "\n", chromedp.ByQuery),
		chromedp.WaitVisible(`article.result`, chromedp.ByQuery),
		chromedp.Text(`article.result .text`, &text, chromedp.ByQuery), shoot(dir, "recall"),
		chromedp.Click(`article.result button`, chromedp.ByQuery),
		chromedp.WaitVisible(`dialog details summary`, chromedp.ByQuery),
		chromedp.Click(`dialog details summary`, chromedp.ByQuery),
		chromedp.WaitVisible(`dialog textarea`, chromedp.ByQuery),
		chromedp.SetValue(`dialog textarea`, "Osprey is the staging database", chromedp.ByQuery),
		chromedp.SendKeys(`dialog input[aria-label=Reason]`, "renamed", chromedp.ByQuery),
		chromedp.Click(`dialog button.primary`, chromedp.ByQuery),
		chromedp.WaitVisible(`dialog details[open] .card`, chromedp.ByQuery),
		chromedp.Text(`dialog p.text`, &title, chromedp.ByQuery), shoot(dir, "memory"),
	); err != nil {
		t.Fatal(err)
	}
	if text != hostile || title != "Osprey is the staging database" {
		t.Errorf("recalled %q, corrected to %q", text, title)
	}
	if _, code := cli(t, "relate", "Alice", "leads", "payments", "--addr", nodes[l].line.Wire, "--token", token); code != 0 {
		t.Error("not related")
	}
	for _, view := range []string{"memories", "graph", "log", "metrics"} {
		ready := map[string]string{"memories": "tbody tr", "graph": "svg.graph circle", "log": "ol.log li", "metrics": "svg.chart path"}[view]
		if err := chromedp.Run(ctx, chromedp.Navigate(nodes[l].line.HTTP+"/#"+view), chromedp.WaitReady(ready, chromedp.ByQuery), chromedp.Sleep(600*time.Millisecond), shoot(dir, view)); err != nil {
			t.Fatalf("%s: %v", view, err)
		}
	}
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(390, 844), shoot(dir, "narrow"), chromedp.EmulateViewport(1280, 900)); err != nil {
		t.Fatal(err)
	}
}

// A page that a follower serves shows the leader's death within five seconds.
func TestConsoleSeesALeaderDie(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a browser and three nodes are not started")
	}
	ctx := browser(t)
	nodes, token := startThree(t, 0, 1, 2)
	l := leaderOf(t, nodes)
	f := nodes[(l+1)%3]
	watch(t, ctx, func(s string) bool { return strings.HasPrefix(s, "status 503") })
	if err := chromedp.Run(ctx, signInAt(f.line.HTTP, token), chromedp.WaitVisible(fmt.Sprintf(`[data-node="%d"][data-role="Leader"]`, l+1), chromedp.ByQuery)); err != nil {
		t.Fatal(err)
	}
	nodes[l].kill()
	start := time.Now()
	if err := chromedp.Run(ctx,
		chromedp.WaitVisible(fmt.Sprintf(`[data-node="%d"][data-role="unreachable"]`, l+1), chromedp.ByQuery),
		chromedp.WaitVisible(`[data-role="Leader"]`, chromedp.ByQuery), shoot(shots(t), "after-death")); err != nil {
		t.Fatal(err)
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("after %s", d)
	}
}
