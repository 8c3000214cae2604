package stringd_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestPurgeBeforeTheFirstSecond: a purge before the epoch or an earlier time removes nothing.
func TestPurgeBeforeTheFirstSecond(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.ok("main", "/remember the sky is blue")
	for _, before := range []string{"0", "1970-01-01", "1970-01-01T00:00:00Z", "1969-12-31"} {
		has(t, d.ok("main", "/purge --before "+before), "Would purge 0.")
		has(t, d.ok("main", "/purge --before "+before+" --yes"), "Purged 0")
	}
	has(t, d.ok("main", "/recent"), "the sky is blue")
}

// TestAnAgentWhoseIDIsAStar: the namespace of an agent with the id * is its own, and not the whole database.
func TestAnAgentWhoseIDIsAStar(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.ok("main", "/remember the sky is blue")
	star := func(cmd string) string {
		b, _ := json.Marshal(map[string]string{"cmd": cmd})
		return d.do("POST", "/exec", string(b), "X-Agent-Id: *").body
	}
	d.do("POST", "/agents", `{"agent_id":"*"}`)
	has(t, star("/purge --before 2100-01-01 --yes"), "Purged 0")
	has(t, star("/forget --query sky --yes"), "(no memories)")
	has(t, star("/stats"), "longterm: 0")
	has(t, star("/remember grass is green"), `ns: *`)
	has(t, star("/stats --ns *"), "longterm: 2")
	has(t, d.ok("main", "/recent"), "the sky is blue", "grass is green")
}

// TestAFailedWebhookDoesNotLogItsToken: a reader of the log must not be able to send events.
func TestAFailedWebhookDoesNotLogItsToken(t *testing.T) {
	t.Parallel()
	var log logged
	d := start(t, func(c *stringd.Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	path := d.hook("GET")
	if err := os.WriteFile(d.home("events"), nil, 0o600); err != nil { // a file in place of the inbox directory
		t.Fatal(err)
	}
	if a := d.do("POST", path, "text"); a.status != 500 {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	if said := log.String(); !strings.Contains(said, "request failed") || strings.Contains(said, strings.TrimPrefix(path, "/webhook/")) {
		t.Errorf("logged: %s", said)
	}
}

// TestVariablesBesideOthers: setting a persistent variable keeps values of other types, and variables that other
// topics set at the same time.
func TestVariablesBesideOthers(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	if err := os.WriteFile(d.home("config.json"), []byte(`{"theme":"dark","env":{"PORT":8080,"LIST":["a"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const topics = 20
	var all sync.WaitGroup
	for i := range topics {
		all.Go(func() { d.exec(fmt.Sprint("t", i), fmt.Sprintf("/set $V%d = x", i)) })
	}
	all.Wait()
	b, err := os.ReadFile(d.home("config.json"))
	if err != nil {
		t.Fatal(err)
	}
	has(t, string(b), `"PORT": 8080`, `"LIST": [`, `"theme": "dark"`)
	for i := range topics {
		has(t, string(b), fmt.Sprintf(`"V%d": "x"`, i))
	}
}

// halfSent sends the head of a request and returns when the daemon waits for its body. finish sends the body and
// returns the answer.
func (d *daemon) halfSent(path, body string) (finish func() answer) {
	d.t.Helper()
	c, err := net.Dial("tcp", d.s.Addr())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	in := bufio.NewReader(c)
	fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Agent-Id: a\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n",
		path, d.s.Addr(), len(body))
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") {
		d.t.Fatalf("%q %v", line, err)
	}
	return func() answer {
		d.t.Helper()
		fmt.Fprint(c, body)
		_, _ = in.ReadString('\n') // the empty line after 100 Continue
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			d.t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			d.t.Fatal(err)
		}
		return answer{res.StatusCode, string(b), res.Header}
	}
}

// TestAnAgentThatChangesMeanwhile: a command that waited, and an event that was still being sent, go to the agent as
// it is registered when they are done.
func TestAnAgentThatChangesMeanwhile(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	shared := filepath.Join(d.dir, "shared")
	if err := errors.Join(os.Mkdir(shared, 0o700), os.WriteFile(filepath.Join(shared, "plan.md"), []byte("ours"), 0o600)); err != nil {
		t.Fatal(err)
	}
	allow := func(paths ...string) {
		b, _ := json.Marshal(map[string]any{"agent_id": "a", "allowed_paths": append([]string{}, paths...)})
		if a := d.do("POST", "/agents", string(b)); a.status != 200 {
			t.Fatal(a)
		}
	}
	allow(shared)
	open := "/open " + filepath.Join(shared, "plan.md")
	has(t, d.ok("other", open), "ours")
	release := d.hold("main")
	got := make(chan outcome, 1)
	go func() {
		o, _ := d.tryExec(context.Background(), "main", open)
		got <- o
	}()
	suite.Eventually(t, "queued", func() bool { return d.queued("main") == 1 })
	allow()
	release()
	if o := <-got; o.Code != "FILE_NOT_ALLOWED" {
		t.Errorf("a path that was taken away while the command waited: %+v", o)
	}

	event := d.halfSent(d.hook("GET"), "to the new home")
	moved, _ := json.Marshal(map[string]any{"agent_id": "a", "home": filepath.Join(d.dir, "moved")})
	d.do("POST", "/agents", string(moved))
	if a := event(); a.status != 202 {
		t.Errorf("an event: %d %s", a.status, a.body)
	}
	has(t, d.ok("main", "/events"), "## Pending events (1)", "to the new home")

	command := d.halfSent("/exec", `{"cmd":"/info","topic":"late"}`)
	d.do("DELETE", "/agents/a", "")
	if a := command(); a.status != 401 || a.body != `{"error":"Unknown agent: a"}` {
		t.Errorf("a command of an agent that was removed: %d %s", a.status, a.body)
	}
	if n := d.queued("late"); n >= 0 {
		t.Error("the removed agent has a session")
	}
}

// TestAgentsOfJavaScript: the header of a client that sends it in Latin-1, as JavaScript does, names the same agent as
// the text of a request.
func TestAgentsOfJavaScript(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	d.do("POST", "/agents", `{"agent_id":"José"}`)
	for _, header := range []string{"X-Agent-Id: José", "X-Agent-Id: Jos\xe9"} {
		if a := d.do("POST", "/exec", `{"cmd":"/remember tea"}`, header); a.status != 200 || !strings.Contains(a.body, `\nns: José\n`) {
			t.Errorf("%q: %d %s", header, a.status, a.body)
		}
	}
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"string","arguments":{"topic":"main","cmd":"/remember coffee"}}}`
	has(t, d.do("POST", "/mcp", call, "X-Agent-Id: Zo\xeb", "Content-Type: application/json").body, `\nns: Zoë\n`)
	has(t, d.do("GET", "/agents", "").body, `"id":"Zoë"`)
}
