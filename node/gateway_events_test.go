package node_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// listener is a raw event stream, without a client library that reads ahead or buffers.
type listener struct {
	t  testing.TB
	nc net.Conn
	in *bufio.Reader
}

func (w *web) listen(query string) *listener {
	w.t.Helper()
	nc, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { nc.Close() })
	fmt.Fprintf(nc, "GET /v1/events%s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", query, w.token)
	l := &listener{w.t, nc, bufio.NewReaderSize(nc, 256)}
	if got := l.line(); !strings.Contains(got, "200") {
		w.t.Fatalf("events: %q", got)
	}
	return l
}

// line reads a line of any kind.
func (l *listener) line() string {
	l.t.Helper()
	if err := l.nc.SetReadDeadline(time.Now().Add(suite.Patience)); err != nil {
		l.t.Fatal(err)
	}
	s, err := l.in.ReadString('\n')
	if err != nil {
		l.t.Fatalf("event stream: %v", err)
	}
	return strings.TrimRight(s, "\r\n")
}

// next returns the next event: its id, its name and its data.
func (l *listener) next() (id, name string, data obj) {
	l.t.Helper()
	for {
		line := l.line()
		if v, ok := strings.CutPrefix(line, "id: "); ok {
			id = v
		} else if v, ok := strings.CutPrefix(line, "event: "); ok {
			name = v
		} else if v, ok := strings.CutPrefix(line, "data: "); ok {
			if err := json.Unmarshal([]byte(v), &data); err != nil {
				l.t.Fatal(err)
			}
			return id, name, data
		}
	}
}

// TestACursorBehindTheEndOfTheLog checks that a cursor of another cluster, or from before a restore, does not hide
// events.
func TestACursorBehindTheEndOfTheLog(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	l := w.listen("?from=999999")
	if _, name, data := l.next(); name != "subscribed" {
		t.Fatalf("%s %v", name, data)
	}
	if _, name, data := l.next(); name != "lagged" {
		t.Fatalf("%s %v", name, data)
	}
	rid := w.ok("POST", "/v1/remember", obj{"text": "new"})["rid"]
	if _, name, data := l.next(); name != "stored" || data["id"] != rid {
		t.Errorf("%s %v", name, data)
	}
}

// TestEventsResumeBehindAnyID checks that a client that resumes after an event gets everything after it and nothing
// before, also if several operations share a record of the log.
func TestEventsResumeBehindAnyID(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	first := w.ok("POST", "/v1/remember", obj{"text": "before all"})
	from := fmt.Sprintf("?from=%s", first["log_index"])
	var writers sync.WaitGroup
	for range 8 { // at once, so that they share records
		writers.Go(func() {
			w.ok("POST", "/v1/remember/batch", obj{"memories": []obj{{"text": "a"}, {"text": "b"}, {"text": "c"}}})
		})
	}
	writers.Wait()
	const all = 24
	read := func(l *listener, n int) (ids, rids []string) {
		l.next() // subscribed
		for range n {
			id, name, data := l.next()
			if name != "stored" {
				t.Fatalf("event %q %v", name, data)
			}
			ids, rids = append(ids, id), append(rids, data["id"].(string))
		}
		return ids, rids
	}
	ids, rids := read(w.listen(from), all)
	for i, id := range ids {
		if id == "" || i == all-1 {
			continue
		}
		if _, rest := read(w.listen("?from="+id), all-1-i); rest[0] != rids[i+1] || rest[len(rest)-1] != rids[all-1] {
			t.Errorf("behind %s (event %d): begins with %s, want %s", id, i, rest[0], rids[i+1])
		}
	}
	if ids[all-1] == "" {
		t.Error("the last event of all has no id")
	}
}

// TestSlowReaderSlowsNobody checks that a client that reads nothing for a while does not block writes
// (TestReadersThatNeverRead compares their latency), and misses nothing once it reads.
func TestSlowReaderSlowsNobody(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: writes 30,000 relations while a client does not read, which takes the race detector too long")
	}
	w := start(t, 1).web(0)
	slow := w.listen("")
	if tcp, ok := slow.nc.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(128 << 10) // a small buffer fills sooner
	}
	const edges = 30_000 // their events are more than the system keeps for a connection
	var lines strings.Builder
	for i := range edges {
		fmt.Fprintf(&lines, `{"type":"edge","src":"s%d","dst":"d","rel_type":"r"}`+"\n", i)
	}
	began := time.Now()
	if got := w.ok("POST", "/v1/import", lines.String()); got["edges"] != float64(edges) {
		t.Fatalf("import: %v", got)
	}
	t.Logf("%d relations in %s beside a reader that does not read", edges, time.Since(began))
	w.ok("POST", "/v1/relate", obj{"entity": "a", "target": "b", "relationship": "c"})
	if took := time.Since(began); took > 25*time.Second {
		t.Skipf("writing took %s: who reads nothing for 30 s is cut off, and rightly so", took)
	}
	seen := map[string]bool{}
	slow.next() // subscribed
	for len(seen) < edges+1 {
		_, name, data := slow.next()
		if name != "related" || seen[data["id"].(string)] {
			t.Fatalf("event %s %v after %d", name, data, len(seen))
		}
		seen[data["id"].(string)] = true
	}
}

// TestReadersThatNeverRead checks that clients that never read do not slow down writes. It measures two nodes in
// turn, with and without such clients, so that other load slows both.
func TestReadersThatNeverRead(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: measures what a write takes, which the race detector falsifies")
	}
	crowded, quiet := start(t, 1).web(0), start(t, 1).web(0)
	const readers, edges = 8, 30_000 // their events are more than the system keeps for a connection
	for range readers {
		nc, err := net.Dial("tcp", strings.TrimPrefix(crowded.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		if tcp, ok := nc.(*net.TCPConn); ok {
			_ = tcp.SetReadBuffer(4 << 10)
		}
		fmt.Fprintf(nc, "GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", secret)
	}
	var lines strings.Builder
	for i := range edges {
		fmt.Fprintf(&lines, `{"type":"edge","src":"s%d","dst":"d","rel_type":"r"}`+"\n", i)
	}
	for _, w := range []*web{quiet, crowded} {
		w.ok("POST", "/v1/import", lines.String())
	}
	var beside, alone time.Duration
	for range 5 { // other load may disturb one of the measurements
		var took [2][]time.Duration
		for i := range 101 {
			for k, w := range []*web{crowded, quiet} {
				began := time.Now()
				w.ok("POST", "/v1/relate", obj{"entity": fmt.Sprint("e", i), "target": "t", "relationship": "r"})
				took[k] = append(took[k], time.Since(began))
			}
		}
		for k := range took {
			slices.Sort(took[k])
		}
		beside, alone = took[0][50], took[1][50]
		t.Logf("a write takes %s beside %d readers that never read, and %s without", beside, readers, alone)
		if beside < 2*alone+2*time.Millisecond {
			return
		}
	}
	t.Errorf("readers that never read slow writers: %s, and %s without", beside, alone)
}

// TestEventsEndWithTheirToken checks that a stream ends when its token is revoked.
func TestEventsEndWithTheirToken(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	token := w.ok("POST", "/v1/admin/tokens", obj{"scopes": []string{"read"}})["token"].(string)
	l := (&web{t, w.base, token}).listen("")
	l.next()
	w.ok("POST", "/v1/admin/tokens/revoke", obj{"token": token})
	if err := l.nc.SetReadDeadline(time.Now().Add(suite.Patience)); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := l.in.ReadString('\n')
		if err != nil {
			t.Fatalf("the stream did not end: %v", err)
		}
		if strings.TrimSpace(line) == "0" { // the last chunk
			return
		}
	}
}

// TestIdleStreamsAreCheap measures a thousand idle streams.
func TestIdleStreamsAreCheap(t *testing.T) {
	suite.Full(t)
	w := start(t, 1).web(0)
	used := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	w.listen("").next()
	before := used()
	const n = 1000
	for range n {
		w.listen("").next()
	}
	cost := int64(used()) - int64(before)
	t.Logf("%d idle event streams: %.1f MB, both ends of each connection", n, float64(cost)/1e6)
	if cost > 50e6 {
		t.Errorf("%d idle event streams cost %d bytes", n, cost)
	}
	w.ok("POST", "/v1/remember", obj{"text": "and all of them hear of this"})
}

// TestGatewayLimits checks the limits on the requests of a token, on origins, and on running requests.
func TestGatewayLimits(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) {
		cfg.Limits.MaxRPS, cfg.Surfaces.CORSOrigins = 1, []string{"https://app.example"}
	})
	w := c.web(0)
	w.t = t
	ask := func(method, path string, header map[string]string) *http.Response {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, w.base+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range header {
			req.Header.Set(k, v)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp
	}
	auth := map[string]string{"Authorization": "Bearer " + secret}
	suite.Eventually(t, "a refusal", func() bool { // another is due each second
		r := ask("GET", "/v1/stats", auth)
		if r.StatusCode == http.StatusTooManyRequests && r.Header.Get("Retry-After") == "" {
			t.Error("429 without Retry-After")
		}
		return r.StatusCode == http.StatusTooManyRequests
	})
	for range 12 { // requests without a token are not limited
		if r := ask("GET", "/v1/health", nil); r.StatusCode != http.StatusOK {
			t.Errorf("health: %d", r.StatusCode)
		}
	}
	if r := ask("GET", "/v1/health", map[string]string{"X-Request-Id": "abc-1"}); r.Header.Get("X-Request-Id") != "abc-1" {
		t.Errorf("request id %q", r.Header.Get("X-Request-Id"))
	}
	if r := ask("GET", "/v1/health", map[string]string{"X-Request-Id": "a b"}); r.Header.Get("X-Request-Id") == "a b" {
		t.Error("a request id with a blank was sent back")
	}
	pre := map[string]string{"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
	if r := ask("OPTIONS", "/v1/recall", pre); r.StatusCode != http.StatusNoContent ||
		r.Header.Get("Access-Control-Allow-Origin") != "https://app.example" {
		t.Errorf("preflight: %d %v", r.StatusCode, r.Header)
	}
	if r := ask("OPTIONS", "/v1/remember", pre); !strings.Contains(r.Header.Get("Access-Control-Allow-Headers"), "Idempotency-Key") {
		t.Errorf("a page may not send an idempotency key: %v", r.Header)
	}
	pre["Origin"] = "https://evil.example"
	if r := ask("OPTIONS", "/v1/recall", pre); r.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("a foreign origin is allowed: %v", r.Header)
	}
}

// TestUnfinishedBodiesHoldNothingUp sends more bodies that never end than the node runs requests at a time. They do
// not block other clients.
func TestUnfinishedBodiesHoldNothingUp(t *testing.T) {
	t.Parallel()
	w := start(t, 1).web(0)
	for range 300 {
		nc, err := net.Dial("tcp", strings.TrimPrefix(w.base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		fmt.Fprintf(nc, "POST /v1/recall HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", secret)
	}
	ctx := suite.Context(t)
	req, err := http.NewRequestWithContext(ctx, "GET", w.base+"/v1/stats", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+secret)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("beside unfinished bodies: %d", resp.StatusCode)
	}
}
