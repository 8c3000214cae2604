package sift

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
)

const sample = `{"kind":"capture","sessionId":"s_42","tool":"Read","payload":{"file_path":"/etc/hosts"},"ts":1714688532000,"source":"claude-code"}`

// exchange writes bytes, closes the write side if half is set, and reads until the server closes the connection.
func (d *daemon) exchange(half bool, parts ...[]byte) string {
	d.t.Helper()
	c := d.dial()
	for _, p := range parts {
		if _, err := c.Write(p); err != nil {
			d.t.Fatal(err)
		}
	}
	if half {
		c.CloseWrite()
	}
	all, err := io.ReadAll(c)
	if err != nil {
		d.t.Fatalf("after %d bytes of reply: %v", len(all), err)
	}
	if len(all) == 0 {
		return ""
	}
	if n := binary.BigEndian.Uint32(all); int(n) != len(all)-4 {
		d.t.Fatalf("a reply of %d bytes says %d", len(all)-4, n)
	}
	return string(all[4:])
}

// TestWorkedExample checks the documented example: a request of 130 bytes and the documented reply.
func TestWorkedExample(t *testing.T) {
	d := start(t, nil)
	f := encodeFrame(t, sample)
	if got := hex.EncodeToString(f[:4]); got != "00000082" {
		t.Errorf("header %s", got)
	}
	if got := d.exchange(true, f); !strings.HasPrefix(got, `{"ok":true,"data":{"id":1,`) {
		t.Error(got)
	}
	// If the length counts the header too, the frame is incomplete.
	f[3] = 0x86
	if got := d.exchange(true, f); got != `{"ok":false,"error":"incomplete frame"}` {
		t.Error(got)
	}
}

func TestRequestTornAtEveryByte(t *testing.T) {
	d := start(t, nil)
	f := encodeFrame(t, `{"kind":"drain","batch":16}`)
	for cut := 1; cut < len(f); cut++ {
		if got := d.exchange(cut%2 == 0, f[:cut], f[cut:]); !strings.Contains(got, `"backend":"extractive"`) {
			t.Errorf("cut at %d: %s", cut, got)
		}
	}
	var bytes [][]byte
	for i := range f {
		bytes = append(bytes, f[i:i+1])
	}
	if got := d.exchange(false, bytes...); !strings.Contains(got, `"ok":true`) {
		t.Errorf("byte by byte: %s", got)
	}
}

func TestRequests(t *testing.T) {
	d := start(t, nil)
	head := func(n uint32) []byte { return binary.BigEndian.AppendUint32(nil, n) }
	for _, c := range []struct {
		name string
		half bool
		in   []byte
		want string // prefix of the reply
	}{
		{"two in one write", false, append(encodeFrame(t, `{"kind":"why"}`), encodeFrame(t, `{"kind":"status"}`)...),
			`{"ok":true,"data":{"edges":[]}}`},
		{"one byte too large", false, head(16<<20 + 1), `{"ok":false,"error":"frame too large: 16777217 > 16777216"}`},
		{"the largest length", false, head(0xFFFFFFFF), `{"ok":false,"error":"frame too large: 4294967295 > 16777216"}`},
		{"empty body", false, head(0), `{"ok":false,"error":"invalid json`},
		{"bad JSON", false, encodeFrame(t, `{"kind":`), `{"ok":false,"error":"invalid json`},
		{"two values", false, encodeFrame(t, `{"kind":"ping"}{}`), `{"ok":false,"error":"invalid json`},
		{"null", false, encodeFrame(t, `null`), `{"ok":false,"error":"unknown request kind: undefined"}`},
		{"a string", false, encodeFrame(t, `"ping"`), `{"ok":false,"error":"unknown request kind: undefined"}`},
		{"an array", false, encodeFrame(t, `[1]`), `{"ok":false,"error":"unknown request kind: undefined"}`},
		{"no kind", false, encodeFrame(t, `{}`), `{"ok":false,"error":"unknown request kind: undefined"}`},
		{"a number for a kind", false, encodeFrame(t, `{"kind":5}`), `{"ok":false,"error":"unknown request kind: 5"}`},
		{"unknown kind", true, encodeFrame(t, `{"kind":"savings"}`), `{"ok":false,"error":"unknown request kind: savings"}`},
		{"another case", false, encodeFrame(t, `{"KIND":"ping"}`), `{"ok":false,"error":"unknown request kind: undefined"}`},
		{"control only", false, encodeFrame(t, `{"kind":"open","path":"/"}`), `{"ok":false,"error":"unknown request kind: open"}`},
		{"extra fields", true, encodeFrame(t, `{"kind":"ping","x":[1,{"y":null}]}`), `{"ok":true,"data":{"pong":true,`},
		{"nothing", true, nil, ``},
		{"half a head", true, []byte{0, 0}, `{"ok":false,"error":"incomplete frame"}`},
		{"a head alone", true, head(12), `{"ok":false,"error":"incomplete frame"}`},
		{"a deep body", false, encodeFrame(t, strings.Repeat(`[`, 100_000)), `{"ok":false,"error":"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := d.exchange(c.half, c.in); !strings.HasPrefix(got, c.want) || got != "" && c.want == "" {
				t.Errorf("%.300s\nwant %s", got, c.want)
			}
		})
	}
}

func TestInvalidUTF8IsReplaced(t *testing.T) {
	d := start(t, nil)
	got := d.exchange(true,
		encodeFrame(t, "{\"kind\":\"capture\",\"sessionId\":\"s\",\"tool\":\"Notification\",\"payload\":{\"message\":\"caf\xe9 \\ud800 ok\"}}"))
	if !strings.Contains(got, `"ok":true`) {
		t.Fatal(got)
	}
	rows := d.ask(`{"kind":"get","ids":[1]}`)["rows"].([]any)
	if text := rows[0].(map[string]any)["text"]; text != "caf\uFFFD \uFFFD ok" {
		t.Errorf("%q", text)
	}
}

// TestLargestFrame stores the largest possible request, of bytes that compress badly.
func TestLargestFrame(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("sixteen mebibytes take a minute under the race detector")
	}
	d := start(t, nil)
	pre, post := `{"kind":"capture","sessionId":"big","tool":"X","payload":"`, `"}`
	n := 16<<20 - len(pre) - len(post)
	var b strings.Builder
	x := uint64(88172645463325252)
	for b.Len() < n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b.WriteString("abcdefghijklmnopqrstuvwxyz     ,"[x%32:][:1])
	}
	f := encodeFrame(t, pre+b.String()[:n]+post)
	if len(f) != 16<<20+4 {
		t.Fatal(len(f))
	}
	if got := d.exchange(true, f); !strings.HasPrefix(got, `{"ok":true`) {
		t.Fatalf("%.200s", got)
	}
}

func TestIdleConnectionIsDropped(t *testing.T) {
	d := start(t, func(c *Config) { c.IdleTimeout = 50 * time.Millisecond })
	for _, sent := range []string{"", "\x00\x00", "\x00\x00\x00\x05{"} {
		c := d.dial()
		_, _ = c.Write([]byte(sent)) // fails if the connection is closed already
		if got, err := io.ReadAll(c); len(got) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q was answered %q, %v", sent, got, err)
		}
	}
}

func TestTooManyConnections(t *testing.T) {
	d := start(t, func(c *Config) { c.MaxConns = 2 })
	one, two := d.dial(), d.dial()
	for _, c := range []net.Conn{one, two} {
		if _, err := c.Write([]byte{0}); err != nil {
			t.Fatal(err)
		}
	}
	suite.Eventually(t, "both are being served", func() bool { return d.Conns() == 2 })
	if got := d.exchange(true); !strings.Contains(got, "too many connections") {
		t.Errorf("a third: %s", got)
	}
	one.Close()
	two.Close()
	suite.Eventually(t, "there is room again", func() bool {
		_, err := Call(t.Context(), d.socket, json.RawMessage(`{"kind":"ping"}`))
		return err == nil
	})
}

// TestManyOneShotClients runs five hundred clients at once, each with its own capture.
func TestManyOneShotClients(t *testing.T) {
	d := start(t, nil)
	const n = 500
	ids := make([]float64, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			data, err := Call(t.Context(), d.socket,
				json.RawMessage(fmt.Sprintf(`{"kind":"capture","sessionId":"s%d","tool":"Bash","payload":{"n":%d}}`, i%7, i)))
			if err != nil {
				t.Error(err)
				return
			}
			var r struct{ ID float64 }
			json.Unmarshal(data, &r)
			ids[i] = r.ID
		})
	}
	all.Wait()
	seen := map[float64]bool{}
	for i, id := range ids {
		if id < 1 || id > n || seen[id] {
			t.Fatalf("client %d has id %v", i, id)
		}
		seen[id] = true
	}
	if c := d.ask(`{"kind":"status"}`)["counts"].(map[string]any); c["events"] != float64(n) || c["sessions"] != 7.0 {
		t.Error(c)
	}
}

// TestVanishedClients: clients disconnect right after the request, and some in the middle of it.
func TestVanishedClients(t *testing.T) {
	d := start(t, nil)
	const n = 100
	for i := range n {
		f := encodeFrame(t, fmt.Sprintf(`{"kind":"capture","sessionId":"gone","tool":"Read","payload":{"n":%d}}`, i))
		c := d.dial()
		c.Write(f)
		c.Close()
		c = d.dial()
		c.Write(f[:len(f)-1-i%20])
		c.Close()
	}
	count := func() float64 { return d.ask(`{"kind":"status"}`)["counts"].(map[string]any)["events"].(float64) }
	suite.Eventually(t, "all whole requests are done", func() bool { return count() >= n })
	if got := count(); got != n {
		t.Errorf("%v events of %d whole requests", got, n)
	}
}

func TestRefusalWithoutQuorum(t *testing.T) {
	d := start(t, func(c *Config) { c.CaptureTimeout = 0 }) // the default timeout
	d.ask(sample)
	out := d.store.cut()
	if got := d.refused(`{"kind":"capture","sessionId":"s","tool":"Read","payload":1}`); got != "no leader elected (cluster not ready)" {
		t.Error(got)
	}
	if left := <-out.waits; left > time.Second {
		t.Errorf("its write may wait %s: a hook is gone by then", left)
	}
	if rows := d.ask(`{"kind":"get","ids":[1]}`)["rows"].([]any); len(rows) != 1 {
		t.Error("reads do not go on")
	}
	if got := d.ask(sample)["duplicate"]; got != true {
		t.Error("what is stored already needs no quorum")
	}
}

// TestWhatIsKnownIsFound: a capture is stored, but fails because it cannot be found yet. The retry succeeds as a
// duplicate once it can be found.
func TestWhatIsKnownIsFound(t *testing.T) {
	d := start(t, nil)
	d.store.slow = true
	const capture = `{"kind":"capture","sessionId":"s","tool":"Notification","payload":{"message":"a quokka smiles"}}`
	if got := d.refused(capture); got != notReadable {
		t.Error(got)
	}
	if got := d.ask(capture)["duplicate"]; got != true {
		t.Error("it was not stored")
	}
	if hits := d.ask(`{"kind":"search","query":"quokka"}`)["hits"].([]any); len(hits) != 1 {
		t.Errorf("found %v", hits)
	}
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{sample, `{"kind":"search"}`, `{"kind":"search","query":"a","k":-1}`,
		`{"kind":"timeline","nearId":1e300,"window":2}`,
		`{"kind":"get","ids":[1,2.5,"x"]}`, `{"kind":"backfill","source":{}}`, `{"kind":"stream_search","query":""}`,
		"\xff{", `{"kind":"summaries","limit":1e9}`} {
		f.Add([]byte(s))
	}
	d := start(f, nil)
	l := d.Server.serving[keyOf(d)]
	f.Fuzz(func(t *testing.T, in []byte) {
		if strings.Contains(string(in), "shutdown") || strings.Contains(string(in), "import_home") {
			t.Skip("it would end the server, or read files")
		}
		a := l.answer(in)
		if (a.data == nil) == (a.err == nil) {
			t.Fatalf("%q: data %v, error %v", in, a.data, a.err)
		}
		if b := encodeReply(a.data, a.err); !json.Valid(b) {
			t.Fatalf("%q: %q", in, b)
		}
	})
}

func keyOf(d *daemon) string {
	for _, w := range d.servedWorkspaces() {
		return w.Key
	}
	return ""
}

// slow is a client connection that accepts the first bytes of a frame, and then times out.
type slow struct {
	net.Conn
	writes int
}

func (s *slow) SetWriteDeadline(time.Time) error { return nil }

func (s *slow) Write(b []byte) (int, error) {
	s.writes++
	return 5, os.ErrDeadlineExceeded
}

// TestNothingFollowsATornFrame: nothing is sent after an incomplete frame, because the client would read it as the
// rest of that frame.
func TestNothingFollowsATornFrame(t *testing.T) {
	c := &slow{}
	sendAnswer(c, &answer{parts: []any{"one", "two"}, data: "end"})
	if c.writes != 1 {
		t.Errorf("%d frames", c.writes)
	}
}
