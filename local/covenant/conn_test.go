package covenant_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/local/covenant/protocol"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/oplog/suite"
)

const (
	malformed = `{"kind":"error","message":"malformed frame"}`
	tooLarge  = `{"kind":"error","message":"frame too large"}`
	pong      = `{"kind":"pong"}`
)

func TestBeforeAuthentication(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.dial()
	for range 3 {
		if got := string(func() []byte { c.send(`{"kind":"protocol_info"}`); return c.recv() }()); got != `{"kind":"protocol_info","info":{"protocol":"covenant.ipc","version":1,"min_supported":1,"max_supported":2}}` {
			t.Errorf("protocol_info: %s", got)
		}
	}
	c.want("authenticated", fmt.Sprintf(`{"kind":"authenticate","token_b58":%q}`, d.token()))
	for request, reason := range map[string]string{
		`{"kind":"ping"}`:                            "first frame must be Authenticate",
		`{"kind":"recent_memory"}`:                   "first frame must be Authenticate",
		`{"kind":"authenticate","token_b58":"0OIl"}`: "unknown or revoked token",
		`{"kind":"authenticate","token_b58":"abc"}`:  "unknown or revoked token",
		`{"kind":"authenticate","token_b58":"4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi"}`: "unknown or revoked token",
		`{"kind":"authenticate","token_b58":"` + strings.Repeat("1", 4000) + `"}`:           "unknown or revoked token",
	} {
		c := d.dial()
		if r := c.call(request); r["kind"] != "authentication_failed" || r["reason"] != reason {
			t.Errorf("%.80s: %v", request, r)
		}
		c.ended()
		row := d.operator().lastAudit()
		if row["type"] != "authentication_failed" || row["transport"] != "ipc" || row["reason"] != reason {
			t.Errorf("audit row: %v", row)
		}
	}
}

func TestMalformedFramesAreAnsweredThenClosed(t *testing.T) {
	t.Parallel()
	d := start(t)
	for name, body := range map[string]string{
		"empty": "", "no json": "{", "no object": "[]", "null": "null", "no kind": "{}", "kind of the wrong case": `{"KIND":"ping"}`,
		"kind that is no string": `{"kind":1}`, "two values": `{"kind":"ping"}{}`, "invalid utf-8": "{\"kind\":\"ping\",\"x\":\"\xff\"}",
		"missing field": `{"kind":"submit_intent"}`, "wrong type": `{"kind":"submit_intent","text":1}`,
		"null text": `{"kind":"submit_intent","text":null}`,
		"fraction":  `{"kind":"recent_memory","limit":10.0}`, "quoted": `{"kind":"recent_memory","limit":"10"}`,
		"negative":   `{"kind":"recent_memory","limit":-1}`,
		"null limit": `{"kind":"recent_memory","limit":null}`, "null window": `{"kind":"verify","window":null}`,
		"exponent": `{"kind":"recent_memory","limit":1e1}`,
		"over u64": `{"kind":"purge_memory","before_ms":18446744073709551616}`, "unknown tier": `{"kind":"recent_memory","tier":"short"}`,
		"tier of the wrong case": `{"kind":"recent_memory","tier":"Working"}`, "no before_ms": `{"kind":"purge_memory"}`,
		"stream that is no boolean":   `{"kind":"recent_memory","prefer_stream":"yes"}`,
		"bad display":                 `{"kind":"enroll_peer","display":"a b@c","actions":[]}`,
		"two at signs":                `{"kind":"enroll_peer","display":"a@b@c","actions":[]}`,
		"actions that are no strings": `{"kind":"enroll_peer","display":"a@b","actions":[1]}`,
		"bad state":                   `{"kind":"a2_a_queue","state_filter":"done"}`, "no task": `{"kind":"send_a2_a_task"}`,
		"half a task": `{"kind":"send_a2_a_task","task":{"id":"x"}}`,
		"bad status":  `{"kind":"post_a2_a_result","result":{"task_id":"11111111-1111-4111-8111-111111111111","status":"done"}}`,
		"bad content": `{"kind":"post_a2_a_result","result":{"task_id":"11111111-1111-4111-8111-111111111111","status":"ok","content":[{"type":"image"}]}}`,
	} {
		for _, c := range []*client{d.dial(), d.operator()} {
			c.send(body)
			if got := string(c.recv()); got != malformed {
				t.Errorf("%s: %s", name, got)
			}
			c.ended()
		}
	}
}

// The error for an unknown kind names it, and an authenticated client continues, because newer clients send requests
// that an older daemon does not know.
func TestUnknownKindsAreNamed(t *testing.T) {
	t.Parallel()
	d := start(t)
	const said = `{"kind":"error","message":"unknown kind: compact_memory"}`
	c := d.operator()
	for range 2 {
		c.send(`{"kind":"compact_memory","dry_run":true}`)
		if got := string(c.recv()); got != said {
			t.Errorf("got %s", got)
		}
	}
	c.want("pong", `{"kind":"ping"}`)
	early := d.dial()
	early.send(`{"kind":"compact_memory"}`)
	if got := string(early.recv()); got != said {
		t.Errorf("before authentication: %s", got)
	}
	early.ended()
}

func TestUnknownFieldsArePassedOver(t *testing.T) {
	t.Parallel()
	c := start(t).operator()
	c.want("pong", `{"kind":"ping","extra":{"deep":[1,2]},"prefer_stream":true}`)
	c.want("memories", `{"kind":"recent_memory","tier":null,"limit":18446744073709551615,"prefer_stream":null}`)
	c.want("receipts", `{"kind":"recent_receipts","since_ms":9007199254740993}`)
	for _, tier := range []string{"working", "episodic", "longterm", "long-term", "long_term"} {
		c.want("memories", `{"kind":"recent_memory","tier":"`+tier+`"}`)
	}
}

// TestLengths is not parallel, because it measures allocations.
func TestLengths(t *testing.T) {
	suite.Full(t)
	d := start(t)
	full := `{"kind":"ping","pad":"`
	full += strings.Repeat("x", protocol.MaxFrame-len(full)-2) + `"}`
	c := d.operator()
	c.send(full)
	if got := string(c.recv()); got != pong {
		t.Errorf("a frame of the largest size: %.100s", got)
	}
	for _, n := range []uint32{protocol.MaxFrame + 1, 0xFFFFFFFF} {
		for _, c := range []*client{d.dial(), d.operator()} {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c.Write(binary.BigEndian.AppendUint32(nil, n)) // no body follows
			if got := string(c.recv()); got != tooLarge {
				t.Errorf("length %d: %s", n, got)
			}
			c.ended()
			if runtime.ReadMemStats(&after); after.TotalAlloc-before.TotalAlloc > protocol.MaxFrame {
				t.Errorf("length %d: %d bytes were allocated", n, after.TotalAlloc-before.TotalAlloc)
			}
		}
	}
}

func TestFramesTornAndJoined(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	raw := frameOf(`{"kind":"ping","größe":"ü"}`)
	for cut := range raw {
		c.Write(raw[:cut])
		c.Write(raw[cut:])
		if got := string(c.recv()); got != pong {
			t.Fatalf("cut at %d: %s", cut, got)
		}
	}
	for i := range raw { // one byte in each write
		c.Write(raw[i : i+1])
	}
	c.Write(append(frameOf(`{"kind":"protocol_info"}`), raw...)) // two frames in one write
	for _, want := range []string{"pong", "protocol_info", "pong"} {
		if r := c.next(); r["kind"] != want {
			t.Errorf("%v, want %s", r, want)
		}
	}
}

func TestHalfClosedClientIsAnswered(t *testing.T) {
	t.Parallel()
	d := start(t)
	c := d.operator()
	c.send(`{"kind":"submit_intent","text":"said, then silent"}`)
	c.Conn.(*net.UnixConn).CloseWrite()
	if r := c.next(); r["status"] != "ok" {
		t.Errorf("%v", r)
	}
	c.ended()
}

func TestClientVanishesInsideAFrame(t *testing.T) {
	t.Parallel()
	d := start(t)
	for _, c := range []*client{d.dial(), d.operator()} {
		c.Write(frameOf(`{"kind":"ping"}`)[:9])
		c.Conn.(*net.UnixConn).CloseWrite()
		c.ended() // the connection ends without an answer
	}
	d.operator().want("pong", `{"kind":"ping"}`)
}

func TestSecondAuthenticationDoesNotRebind(t *testing.T) {
	t.Parallel()
	d := start(t)
	r := d.operator().want("peer_enrolled", `{"kind":"enroll_peer","display":"bob@local","actions":[]}`)
	c := d.operator()
	if got := c.call(fmt.Sprintf(`{"kind":"authenticate","token_b58":%q}`, r["token_b58"])); got["display"] != "bob@local" {
		t.Errorf("%v", got)
	}
	if got := c.call(`{"kind":"authenticate","token_b58":"nope"}`); got["kind"] != "authentication_failed" {
		t.Errorf("%v", got)
	}
	c.want("audit_integrity", `{"kind":"verify_audit_integrity"}`) // only the operator may send this
	if own := c.intent("whose am I"); own["status"] != "ok" {
		t.Errorf("%v", own)
	}
	if got := c.records(`{"kind":"recent_memory"}`)[0]["owner"].(object)["display"]; got != "user@local" {
		t.Errorf("owner %v", got)
	}
}

func TestSocketIsClaimedWithCare(t *testing.T) {
	t.Parallel()
	d := start(t)
	if i, err := os.Lstat(d.Socket()); err != nil || i.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", i.Mode(), err)
	}
	if _, err := covenant.Listen(d.cfg); err == nil {
		t.Fatal("a second server took a live one's socket")
	}
	d.operator().want("pong", `{"kind":"ping"}`)
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(d.Socket()); !os.IsNotExist(err) {
		t.Errorf("the socket stays after Close: %v", err)
	}
	// The socket of a dead server is replaced.
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.Socket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	ln.SetUnlinkOnClose(false)
	ln.Close()
	d.serve()
	d.operator().want("pong", `{"kind":"ping"}`)
	d.Close()
	if err := os.WriteFile(d.Socket(), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := covenant.Listen(d.cfg); err == nil {
		t.Error("a regular file was taken for a socket")
	}
	os.Remove(d.Socket())
	long := d.cfg
	long.Home = filepath.Join(t.TempDir(), strings.Repeat("x", 120))
	if _, err := covenant.Listen(long); !errors.Is(err, serve.ErrPathTooLong) {
		t.Errorf("a path that is too long: %v", err)
	}
	d.serve()
}

func TestOperatorTokenFile(t *testing.T) {
	t.Parallel()
	d := start(t)
	path := filepath.Join(d.cfg.Home, "peers", "operator.token")
	first := d.token()
	d.restart()
	if d.token() != first {
		t.Error("a restart made a new token")
	}
	d.Close()
	os.Chmod(path, 0o640)
	if _, err := covenant.Listen(d.cfg); err == nil {
		t.Error("a token that others may read was used")
	}
	os.Chmod(path, 0o600)
	os.Rename(path, path+".real")
	os.Symlink(path+".real", path)
	if _, err := covenant.Listen(d.cfg); err == nil {
		t.Error("a symlink was followed")
	}
	os.Remove(path)
	os.WriteFile(path, []byte("not base58: 0OIl\n"), 0o600)
	d.serve()
	if d.token() == first {
		t.Error("no fresh token")
	}
	d.operator()
	if b, err := os.ReadFile(filepath.Join(d.cfg.Home, "peers", "registry.jsonl")); err != nil || strings.Contains(string(b), d.token()) {
		t.Errorf("the registry holds the token itself: %v", err)
	}
}

// Clients without a token cannot flood the audit log: after the first rejections of a minute, the others share one
// row.
func TestAFloodOfRejectionsIsCounted(t *testing.T) {
	t.Parallel()
	d := start(t)
	const flood = 200
	for i := range flood {
		if i%2 == 0 {
			c := d.dial()
			if r := c.call(`{"kind":"ping"}`); r["kind"] != "authentication_failed" {
				t.Fatalf("%v", r)
			}
			c.ended()
		} else if code, _, got := (web{d, ""}).do("GET", "/tools", ""); code != 401 {
			t.Fatalf("%d %s", code, got)
		}
	}
	d.Close()
	b, err := os.ReadFile(filepath.Join(d.cfg.Home, "audit", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Count(string(b), `"type":"authentication_failed"`)
	if want := fmt.Sprintf(`"reason":"%d more of the same minute"`, flood-20); rows != 21 || !strings.Contains(string(b), want) {
		t.Errorf("%d rows of %d rejections, want 21 and one with %s", rows, flood, want)
	}
}
