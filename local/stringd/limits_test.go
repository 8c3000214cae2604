package stringd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/oplog/suite"
)

// Links that lead out of the workspace are rejected, wherever a path is used. A link inside the workspace works like
// any other path.
func TestLinksDoNotLeadOut(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	outside := filepath.Join(d.dir, "outside")
	inside := d.home("docs")
	for _, dir := range []string{outside, inside} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "f.md"),
			[]byte("# secret of "+filepath.Base(dir)+"\n<!-- #b -->\nblock\n<!-- /b -->\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"out": outside, "outfile.md": filepath.Join(outside, "f.md"),
		"dangling.md": filepath.Join(outside, "new.md"),
		"up":          "../../..", "in": inside, "twice": filepath.Join(d.home(), "out")} {
		if err := os.Symlink(to, d.home(link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.home("includes.md"), []byte("[!include:b](out/f.md)\n[!nav:m](outfile.md)\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"out/f.md", "outfile.md", "outfile.md#b", "up/outside/f.md", "twice/f.md",
		"../../outside/f.md", outside + "/f.md", "file://" + outside + "/f.md", "in/../out/f.md"} {
		for _, cmd := range []string{"/open " + path, "/edit " + path, "/write --force " + path + "\nmine",
			"/append " + path + "\nmine", "/replace " + path + "\nsecret\n---\nmine"} {
			o := d.exec("main", cmd)
			if o.OK || o.Code != "FILE_NOT_ALLOWED" || strings.Contains(o.Content, "secret of outside") {
				t.Errorf("%q: %+v", cmd, o)
			}
		}
	}
	for _, dir := range []string{"out", "up", "twice", "in/../out", outside} {
		d.fails("main", "/ls "+dir, "FILE_NOT_ALLOWED")
		d.fails("main", "/open "+dir, "FILE_NOT_ALLOWED")
	}
	if o := d.exec("main", "/write dangling.md\nmine"); o.OK {
		t.Errorf("a file was made behind a link: %+v", o)
	}
	if o := d.exec("main", "/open includes.md"); !o.OK || strings.Contains(o.Content, "block") || strings.Contains(o.Content, "secret") {
		t.Errorf("an include and a menu from outside: %+v", o)
	}
	if b, err := os.ReadFile(filepath.Join(outside, "f.md")); err != nil || !strings.HasPrefix(string(b), "# secret of outside") {
		t.Errorf("the file outside is %q, %v", b, err)
	}
	has(t, d.ok("main", "/open in/f.md"), "secret of docs")
	free := start(t, func(c *stringd.Config) { c.FullAccess = true })
	has(t, free.ok("main", "/open "+outside+"/f.md"), "secret of outside")
}

// Actions over HTTP: every method, the places of fields, templates for the answer, and the allowed hosts.
func TestHTTPActions(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	var seen atomic.Value
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		seen.Store(fmt.Sprintf("%s %s key=%s %s", r.Method, r.RequestURI, r.Header.Get("X-Key"), b))
		switch r.URL.Path {
		case "/gone":
			http.NotFound(w, r)
		case "/broken":
			http.Error(w, strings.Repeat("x", 1000), http.StatusServiceUnavailable)
		case "/away":
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusFound)
		default:
			fmt.Fprintf(w, `{"id":7,"list":[{"n":"a"},{"n":"b"}],"method":%q}`, r.Method)
		}
	}))
	defer host.Close()
	doc := "# Actions\n"
	for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} {
		doc += fmt.Sprintf("```act.%s\n%s %s/items/{id} -H \"X-Key: $KEY\"\n  id: string (required)\n  q, -q: string\n  n: number\n```\n",
			strings.ToLower(m), m, host.URL)
	}
	doc += "```act.body\nPOST " + host.URL + "/b -d '{\"deep\":{\"q\":\"{q}\"}}'\n  q: string (required)\n```\n" +
		"```act.made\nGET " + host.URL + "/made\n```\n```act.made.response\n{made} = {Response.body.id}\n{@it} = /open x\nfor: x in Response.body.list\n- {x.n}\nend:\nstatus {Response.status}, {Response.body.list[1].n}\n```\n" +
		"```act.gone\nGET " + host.URL + "/gone\n```\n```act.broken\nGET " + host.URL + "/broken\n```\n```act.away\nGET " + host.URL + "/away\n```\n```act.far\nGET http://192.0.2.1/\n```\n"
	if err := os.WriteFile(d.home("a.md"), []byte(doc), 0o600); err != nil {
		t.Fatal(err)
	}
	d.ok("main", `/set $KEY = "k1"`)
	d.ok("main", "/open a.md")
	for m, want := range map[string]string{"get": "GET /items/a%2Fb?n=5&q=x+y key=k1 ", "delete": "DELETE /items/a%2Fb?n=5&q=x+y key=k1 ",
		"post": `POST /items/a%2Fb key=k1 {"n":5,"q":"x y"}`, "put": `PUT /items/a%2Fb key=k1 {"n":5,"q":"x y"}`,
		"patch": `PATCH /items/a%2Fb key=k1 {"n":5,"q":"x y"}`} {
		has(t, d.ok("main", "/act."+m+` a/b -q "x y" --n 5`), `"id":7`)
		if last := seen.Load(); last != want {
			t.Errorf("%s sent %q, want %q", m, last, want)
		}
	}
	d.ok("main", `/act.body --q 'he said "no"'`)
	if want := `POST /b key= {"deep":{"q":"he said \"no\""}}`; seen.Load() != want {
		t.Errorf("the template sent %q, want %q", seen.Load(), want)
	}
	has(t, d.ok("main", "/act.made"), "- a\n- b", "status 200, b")
	has(t, d.ok("main", "/set"), `{made} = "7"`)
	has(t, d.fails("main", "/act.gone", "NOT_FOUND"), "HTTP 404 at "+host.URL+"/gone")
	if said := d.fails("main", "/act.broken", "LOAD_ERROR"); !strings.Contains(said, "HTTP 503") || strings.Count(said, "x") > 520 {
		t.Errorf("%.100q, %d long", said, len(said))
	}
	d.fails("main", "/act.far", "LOAD_ERROR")
	if o := d.exec("main", "/act.away"); strings.Contains(seen.Load().(string), "192.0.2.1") || o.Code == "INTERNAL_ERROR" {
		t.Errorf("a redirect to another host: %+v", o)
	}
	has(t, d.fails("main", "/act.get $KEY", "INVALID_PAYLOAD"), "$var cannot be used in command arguments")
}

// The stream for messages of the server stays open and sends pings. It leaves the connection usable when the client
// ends it, and it ends with the daemon.
func TestMCPStream(t *testing.T) {
	t.Parallel()
	d := start(t, func(c *stringd.Config) { c.Ping = 20 * time.Millisecond })
	open := func(ctx context.Context) *http.Response {
		r, err := http.NewRequestWithContext(ctx, "GET", d.url+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "text/event-stream")
		res, err := d.http.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	ctx, leave := context.WithCancel(t.Context())
	res := open(ctx)
	defer res.Body.Close()
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Mcp-Session-Id") != "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	lines := bufio.NewScanner(res.Body)
	for range 3 {
		if !lines.Scan() || lines.Text() != ": ping" || !lines.Scan() || lines.Text() != "" {
			t.Fatalf("%q, %v", lines.Text(), lines.Err())
		}
	}
	leave()
	has(t, d.do("POST", "/mcp", call("main", "/set {x} = 1"), "Content-Type: application/json").body, `"isError":false`)
	other := open(t.Context())
	defer other.Body.Close()
	ended := make(chan error, 1)
	go func() { _, err := io.Copy(io.Discard, other.Body); ended <- err }()
	d.s.Close()
	suite.Receive(t, "the end of a stream with its daemon", ended)
}

// The topics, streams and messages of an agent are limited. One more is rejected with an explanation.
func TestBounds(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for i := range 1000 {
		if a := d.do("POST", "/sessions", fmt.Sprintf(`{"agent_id":"a","topic":"t%d"}`, i)); a.status != 200 {
			t.Fatalf("session %d: %d %s", i, a.status, a.body)
		}
	}
	for _, a := range []answer{d.do("POST", "/sessions", `{"agent_id":"a","topic":"more"}`),
		d.do("POST", "/exec", `{"cmd":"/info","topic":"more"}`, "X-Agent-Id: a")} {
		if a.status != 429 || !strings.Contains(a.body, "1000 sessions") {
			t.Errorf("one more session: %d %s", a.status, a.body)
		}
	}
	has(t, d.do("POST", "/mcp", call("more", "/info"), "X-Agent-Id: a", "Content-Type: application/json").body,
		"1000 sessions", `"isError":true`)
	d.do("POST", "/agents", `{"agent_id":"b"}`)
	if a := d.do("POST", "/sessions", `{"agent_id":"b","topic":"t"}`); a.status != 200 {
		t.Errorf("another agent: %d", a.status)
	}
	d.do("DELETE", "/sessions/a/t0", "")
	if a := d.do("POST", "/sessions", `{"agent_id":"a","topic":"more"}`); a.status != 200 {
		t.Errorf("in a freed place: %d %s", a.status, a.body)
	}
	var batch []json.RawMessage
	for i := range 1001 {
		batch = append(batch, json.RawMessage(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)))
	}
	for n, want := range map[int]int{1000: 200, 1001: 400} {
		b, err := json.Marshal(batch[:n])
		if err != nil {
			t.Fatal(err)
		}
		if a := d.do("POST", "/mcp", string(b), "Content-Type: application/json"); a.status != want {
			t.Errorf("a batch of %d: %d %.100s", n, a.status, a.body)
		}
	}
}

// While eight large bodies are being read, another one is rejected with 503, and small ones are accepted.
func TestLargeBodiesTakePlaces(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	for range 8 {
		c, err := net.Dial("tcp", d.s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprintf(c,
			"POST /exec HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Agent-Id: a\r\nContent-Length: 9000000\r\n\r\n%s",
			strings.Repeat(" ", 2<<20)); err != nil {
			t.Fatal(err)
		}
	}
	suite.Eventually(d.t, "eight bodies have their places", func() bool { return d.s.LargeBodies() == 8 })
	large := `{"cmd":"/set {x} = ` + strings.Repeat("y", 2<<20) + `"}`
	if a := d.do("POST", "/exec", large, "X-Agent-Id: a"); a.status != 503 ||
		a.body != `{"error":"Too many large requests. Try again later."}` {
		t.Errorf("a ninth: %d %s", a.status, a.body)
	}
	d.ok("main", "/set {x} = 1")
}
