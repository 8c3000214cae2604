package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
)

// foreignPage is the script of a page of a foreign origin, which attacks a listener: it reads with and without
// cookies, writes as forms, beacons and workers do without a preflight, requests permission for headers, loads
// scripts, and opens streams. It returns what it could read.
const foreignPage = `async (listeners) => {
  const read = [];
  const note = (what, text) => { read.push(what + ': ' + String(text).slice(0, 120)); };
  const sleep = (ms) => new Promise((r) => setTimeout(r, ms));
  const within = (p) => Promise.race([p, sleep(3000)]);
  const json = {'Content-Type': 'application/json', 'X-Agent-Id': 'e2e'};
  for (const l of listeners) {
    for (const r of l.requests) {
      const at = l.base + r.path, what = r.method + ' ' + at;
      const init = {method: r.method, body: r.method === 'GET' ? undefined : r.body};
      for (const [how, extra] of [['cors', {}], ['with credentials', {credentials: 'include'}], ['with headers', {headers: json}], ['with a token', {headers: {Authorization: 'Bearer x'}}]]) {
        await within(fetch(at, {...init, ...extra, signal: AbortSignal.timeout(2500)}).then(async (a) => { note(what + ' ' + how, a.status + ' ' + await a.text()); }).catch(() => {}));
      }
      await within(fetch(at, {...init, mode: 'no-cors', signal: AbortSignal.timeout(2500)}).then(async (a) => { const t = await a.text(); if (t) note(what + ' no-cors', t); }).catch(() => {}));
      if (r.method === 'POST') {
        navigator.sendBeacon(at, new Blob([r.body], {type: 'text/plain'}));
        const f = document.createElement('form'), i = document.createElement('input'), w = document.createElement('iframe');
        w.name = 'w' + Math.random(); document.body.append(w, f);
        // {"cmd":...,"x":"=..."} is JSON in a form of text/plain.
        Object.assign(i, {name: r.body.slice(0, -1) + ',"x":"', value: '"}'}); f.append(i);
        Object.assign(f, {action: at, method: 'post', enctype: 'text/plain', target: w.name}); f.submit();
        await sleep(50);
        try { note(what + ' in a frame', w.contentDocument.body.innerText.trim() || (() => { throw 0; })()); } catch {}
      } else if (r.method === 'GET') {
        for (const tag of ['img', 'script', 'iframe']) {
          const e = document.createElement(tag); e.src = at; document.body.append(e);
          await within(new Promise((done) => { e.onload = e.onerror = done; }));
          if (tag === 'iframe') { try { const t = e.contentDocument.body.innerText; if (t) note(what + ' in a frame', t); } catch {} }
        }
        const s = new EventSource(at);
        await within(new Promise((done) => { s.onopen = () => { note(what + ' as a stream', 'open'); done(); }; s.onerror = done; }));
        s.close();
      }
    }
    await within(new Promise((done) => { const s = new WebSocket(l.base.replace('http', 'ws') + '/'); s.onopen = () => { note(l.base + ' as a socket', 'open'); done(); }; s.onerror = done; }));
  }
  return read;
}`

// rebound is the script of a page whose own host name now resolves to the listener, so that all its requests have the
// same origin.
const rebound = `async (requests) => {
  const read = [];
  for (const r of requests) {
    const a = await fetch(r.path, {method: r.method, body: r.method === 'GET' ? undefined : r.body, headers: {'Content-Type': 'application/json', 'X-Agent-Id': 'e2e'}});
    const text = await a.text();
    if (!text.includes('Host not allowed: ')) read.push(r.method + ' ' + r.path + ': ' + a.status + ' ' + text.slice(0, 120));
  }
  return read;
}`

// callSource returns the source of a function call with arguments.
func callSource(t *testing.T, function string, args any) string {
	t.Helper()
	return fmt.Sprintf("(%s)(%s)", function, mustJSON(t, args))
}

// awaitPromise runs a function in the browser and waits for its promise.
func awaitPromise(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// TestForeignPage opens a page of a foreign origin, and one with a rebound host name, in a real browser. They attack
// every HTTP listener of a dev node, and must neither read, run nor write anything. The node must keep running.
func TestForeignPage(t *testing.T) {
	suite.Full(t)
	suite.NotShort(t, "what a browser does")
	t.Parallel()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		io.WriteString(w, "<!doctype html><title>win a prize</title><body></body>")
	}))
	defer evil.Close()
	const name, other = "evil.example", "rebound.example"
	ctx := browser(t, chromedp.Flag("host-resolver-rules", fmt.Sprintf("MAP %s 127.0.0.1, MAP %s 127.0.0.1", name, other)))
	home := filepath.Join(shortDir(t), "h")
	p := cairntest.StartDevIn(t, home)
	stringPost(t, p, "/agents", `{"agent_id":"e2e"}`)
	covenantAsked[json.RawMessage](t, covenantOf(t, p), map[string]any{"kind": "ping"})
	mark := filepath.Join(shortDir(t), "mark")
	before := auditRows(t, home)

	type listener struct { // JSON for the page
		Base     string    `json:"base"`
		Requests []request `json:"requests"`
	}
	listeners := []listener{{p.Line.String, requests("/webhook/wh_guessed", mark)["string"]},
		{p.Line.CovenantHTTP, requests("", mark)["covenant"]},
		{p.Line.HTTP, []request{{"GET", "/", ""}, {"GET", "/v1/health", ""}, {"GET", "/v1/cluster", ""},
			{"GET", "/metrics", ""}, {"GET", "/v1/stats", ""}, {"POST", "/v1/remember", `{"text":"evil"}`},
			{"POST", "/v1/recall", `{"query":"x"}`}, {"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`},
			{"POST", "/v1/admin/tokens", `{"scopes":["admin"]}`}, {"DELETE", "/v1/admin/tokens", ""}}}}
	for _, l := range slices.Clone(listeners) { // the same listeners by an IPv6 address that maps to 127.0.0.1
		listeners = append(listeners, listener{strings.Replace(l.Base, "127.0.0.1", "[::ffff:127.0.0.1]", 1), l.Requests})
	}
	port := func(base string) string { u, _ := url.Parse(base); return u.Port() }

	for _, origin := range []string{"http://" + name + ":" + port(evil.URL), evil.URL} { // of another site, and of another port of this host
		var read []string
		if err := chromedp.Run(ctx, chromedp.Navigate(origin+"/"),
			chromedp.Evaluate(callSource(t, foreignPage, listeners), &read, awaitPromise)); err != nil {
			t.Fatal(err)
		}
		for _, r := range read {
			t.Errorf("a page of %s read %s", origin, r)
		}
		checkUnharmed(t, p, home, mark, before)
	}
	for _, l := range listeners[:2] {
		var read []string
		if err := chromedp.Run(ctx, chromedp.Navigate("http://"+other+":"+port(l.Base)+"/"),
			chromedp.Evaluate(callSource(t, rebound, l.Requests), &read, awaitPromise)); err != nil {
			t.Fatal(err)
		}
		for _, r := range read {
			t.Errorf("a rebound page read %s", r)
		}
		checkUnharmed(t, p, home, mark, before)
	}
	if out, code := cairntest.Run(t, "recall", "evil", "--home", home, "--json"); code != 0 || strings.Contains(out, `"evil"`) {
		t.Errorf("a page has stored a memory: %s", out)
	}
	if _, err := os.Stat(filepath.Join(home, "run", "string", "agents", "evil")); err == nil {
		t.Error("a page has registered an agent")
	}
}
