package stringd_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/local/stringd"
	"github.com/cairndb/cairn/oplog/suite"
)

// hook returns the path of the agent's webhook.
func (d *daemon) hook(method string) string {
	d.t.Helper()
	var w struct {
		URL string `json:"webhook_url"`
	}
	if err := json.Unmarshal([]byte(d.do(method, "/agents/a/webhook", "").body), &w); err != nil {
		d.t.Fatal(err)
	}
	path, ok := strings.CutPrefix(w.URL, d.url)
	if !ok {
		d.t.Fatalf("%s is not at %s", w.URL, d.url)
	}
	return path
}

// listen opens the agent's event stream. lines receives its lines until it ends.
func (d *daemon) listen(ctx context.Context) <-chan string {
	d.t.Helper()
	req, err := http.NewRequestWithContext(ctx, "GET", d.url+"/events/stream", nil)
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("X-Agent-Id", "a")
	res, err := d.http.Do(req)
	if err != nil {
		d.t.Fatal(err)
	}
	lines := make(chan string, 10_000)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for sc := bufio.NewScanner(res.Body); sc.Scan(); {
			lines <- sc.Text()
		}
	}()
	for _, want := range []string{"event: ready", `data: {"agent_id":"a"}`, ""} {
		if got := <-lines; got != want {
			d.t.Fatalf("got %q, want %q", got, want)
		}
	}
	return lines
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	d := start(t, nil)
	path := d.hook("GET")
	if again := d.hook("GET"); again != path {
		t.Errorf("GET is not idempotent: %s, %s", path, again)
	}
	lines := d.listen(t.Context())
	a := d.do("POST", path, "first\n$(touch /tmp/never)  \n")
	var r struct {
		OK    bool
		Event string `json:"event_id"`
	}
	if err := json.Unmarshal([]byte(a.body), &r); err != nil || a.status != 202 || !r.OK || !strings.HasPrefix(r.Event, "evt_") {
		t.Fatalf("got %d %s", a.status, a.body)
	}
	b, err := os.ReadFile(d.home("events", r.Event+".json")) // the event is on disk before the answer
	if err != nil || !strings.Contains(string(b), `"status": "pending"`) {
		t.Fatalf("got %s %v", b, err)
	}
	if got := <-lines; got != "event: event" {
		t.Errorf("got %q", got)
	}
	has(t, <-lines, `data: {"id":"`+r.Event+`","agentId":"a","receivedAt":"`,
		`","source":"local-webhook","text":"first\n$(touch /tmp/never)","status":"pending"}`)
	has(t, d.ok("main", "/events"), "## Pending events (1)", r.Event+"  pending  ", "  first")
	has(t, d.ok("event", "/read "+r.Event), "Event "+r.Event+"\n---\nreceivedAt: ", "next: /events.ack "+r.Event)
	has(t, d.ok("main", "/remember --event "+r.Event), "Remembered")
	for range 2 {
		if got := d.ok("main", "/events.ack "+r.Event); got != "Acked "+r.Event {
			t.Errorf("got %q", got)
		}
	}
	has(t, d.ok("main", "/events list --all"), "## Recent events (1)", "  ack  ")
	has(t, d.ok("main", "/events.clear"), "Cleared 1 event(s)")
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{"", 400, `{"error":"Webhook body must be non-empty text"}`},
		{" \n", 400, `{"error":"Webhook body must be non-empty text"}`},
		{strings.Repeat("x", 65536), 202, ""},
		{strings.Repeat("é", 32769), 413, `{"error":"Webhook body exceeds 65536 bytes"}`},
	} {
		if a := d.do("POST", path, c.body); a.status != c.status || c.want != "" && a.body != c.want {
			t.Errorf("%d bytes: %d %s", len(c.body), a.status, a.body)
		}
	}
	next := d.hook("POST")
	if a := d.do("POST", path, "x"); a.status != 401 {
		t.Errorf("the old token: %d", a.status)
	}
	if a := d.do("POST", next, "x"); a.status != 202 {
		t.Errorf("the new token: %d", a.status)
	}
	d.do("DELETE", "/agents/a", "")
	for range lines { // the stream ends when the agent is removed
	}
	if a := d.do("POST", next, "x"); a.status != 401 {
		t.Errorf("a deleted agent's token: %d", a.status)
	}
}

func TestStreams(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	d := start(t, func(c *stringd.Config) { c.Ping = 50 * time.Millisecond })
	path := d.hook("GET")
	// One stream never reads: the others do not wait for it.
	raw, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Write([]byte("GET /events/stream HTTP/1.1\r\nHost: localhost\r\nX-Agent-Id: a\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	one, two := d.listen(ctx), d.listen(ctx)
	count := func(lines <-chan string, posts int) (ids []string) {
		pinged := false
		for l := range lines {
			pinged = pinged || l == "event: ping"
			if id, ok := strings.CutPrefix(l, `data: {"id":"`); ok {
				ids = append(ids, id[:strings.IndexByte(id, '"')])
			}
			if len(ids) == posts && pinged {
				break
			}
		}
		return ids
	}
	const rounds, posts = 5, 200 // fewer than 256 at a time, because a stream may be that far behind on a busy machine
	for range rounds {
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range posts / 4 {
					if a, err := d.try(context.Background(), "POST", path, strings.Repeat("event ", 100)); err != nil || a.status != 202 {
						t.Errorf("post: %v %v", a, err)
						return
					}
				}
			})
		}
		a, b := count(one, posts), count(two, posts)
		wg.Wait()
		if len(a) != posts || strings.Join(a, " ") != strings.Join(b, " ") {
			t.Fatalf("streams saw %d and %d of %d, or in another order", len(a), len(b), posts)
		}
	}
	entries, err := os.ReadDir(d.home("events"))
	if err != nil || len(entries) != rounds*posts {
		t.Errorf("%d files, %v", len(entries), err)
	}
}

// A stream that falls behind is ended. The log names it without the missed events, and it is counted. If its client
// reads on, it gets a comment that events were missed.
func TestASlowStreamIsTold(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	var log logged
	var dropped chan struct{}
	d := start(t, func(c *stringd.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
		dropped = c.Memory.Host.(*storage).lost
	})
	path := d.hook("GET")
	raw, err := net.Dial("tcp", strings.TrimPrefix(d.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	if _, err := raw.Write([]byte("GET /events/stream HTTP/1.1\r\nHost: localhost\r\nX-Agent-Id: a\r\nConnection: close\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	_ = raw.(*net.TCPConn).SetReadBuffer(64 << 10) // limit the buffer of the system
	for said := ""; !strings.Contains(said, "event: ready"); {
		var b [1]byte
		if _, err := raw.Read(b[:]); err != nil {
			t.Fatalf("%q, %v", said, err)
		}
		said += string(b[:])
	}
	begun := time.Now()
	text := strings.Repeat("a secret ", 7000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 65 { // more than the buffers of the connection and 256 events
				if a, err := d.try(context.Background(), "POST", path, text); err != nil || a.status != 202 {
					t.Errorf("post: %v %v", a.status, err)
				}
			}
		})
	}
	wg.Wait()
	all, _ := io.ReadAll(raw) // a client that accepted nothing for ten seconds is disconnected: it reads a part, and then an error
	suite.Receive(t, "the count of a stream that reads nothing", dropped)
	if said := log.String(); !strings.Contains(said, "event stream ended by this side") ||
		!strings.Contains(said, "client="+raw.LocalAddr().String()) || strings.Contains(said, "secret") {
		t.Errorf("the log says %s", said)
	}
	if took := time.Since(begun); took < 9*time.Second && !bytes.Contains(all, []byte(": ended: too many events behind")) {
		t.Errorf("after %s the stream ends with %q", took, all[max(0, len(all)-100):])
	}
}

// logged is a log that a test may read while it is written.
type logged struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
