package covenant_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/local/covenant"
	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// daemon is a server and its node.
type daemon struct {
	t    testing.TB
	node *node.Node
	log  *lockedBuffer
	cfg  covenant.Config
	*covenant.Server
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startNode(t testing.TB, log *slog.Logger, embedder embed.Embedder) *node.Node {
	t.Helper()
	n, err := node.Open(t.Context(),
		node.Config{Embedder: embedder, Home: filepath.Join(t.TempDir(), "node"),
			Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"},
			Raft:      node.Raft{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(100 * time.Millisecond)},
			Limits:    node.Limits{ApplyTimeout: suite.Patience}, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	return n
}

// start serves a new home.
func start(t testing.TB, change ...func(*covenant.Config)) *daemon {
	t.Helper()
	return startWith(t, nil, change...)
}

// startWith is like start, but the node makes vectors.
func startWith(t testing.TB, embedder embed.Embedder, change ...func(*covenant.Config)) *daemon {
	t.Helper()
	d := &daemon{t: t, log: &lockedBuffer{}}
	log := slog.New(slog.NewTextHandler(d.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	d.node = startNode(t, log, embedder)
	home, err := os.MkdirTemp("", "cov") // t.TempDir is too long for the path of a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(home) })
	d.cfg = covenant.Config{Home: home, Memory: api.At{Host: d.node.Host(), Database: "default"}, Node: 1,
		HTTP: "127.0.0.1:0", WriteTimeout: suite.Patience, AuthTimeout: suite.Patience,
		Logger: log}
	for _, c := range change {
		c(&d.cfg)
	}
	d.serve()
	t.Cleanup(func() { d.Close() })
	return d
}

func (d *daemon) serve() {
	d.t.Helper()
	var err error
	if d.Server, err = covenant.Listen(d.cfg); err != nil {
		d.t.Fatal(err)
	}
}

func (d *daemon) restart() {
	d.t.Helper()
	if err := d.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.serve()
}

func (d *daemon) token() string {
	d.t.Helper()
	b, err := os.ReadFile(filepath.Join(d.cfg.Home, "peers", "operator.token"))
	if err != nil {
		d.t.Fatal(err)
	}
	return strings.TrimSpace(string(b))
}

// A client sends and receives raw frames.
type client struct {
	t testing.TB
	net.Conn
}

func (d *daemon) dial() *client {
	d.t.Helper()
	c, err := net.Dial("unix", d.Socket())
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { c.Close() })
	return &client{d.t, c}
}

// operator returns a client that is authenticated as the operator.
func (d *daemon) operator() *client { d.t.Helper(); return d.as(d.token()) }

func (d *daemon) as(token string) *client {
	d.t.Helper()
	c := d.dial()
	if r := c.call(fmt.Sprintf(`{"kind":"authenticate","token_b58":%q}`, token)); r["kind"] != "authenticated" {
		d.t.Fatalf("authenticate: %v", r)
	}
	return c
}

// enroll enrols a peer and returns a client that is authenticated as the peer, and the peer's key.
func (d *daemon) enroll(display string, actions ...string) (*client, string) {
	d.t.Helper()
	a, _ := json.Marshal(append([]string{}, actions...))
	r := d.operator().want("peer_enrolled", fmt.Sprintf(`{"kind":"enroll_peer","display":%q,"actions":%s}`, display, a))
	return d.as(r["token_b58"].(string)), r["pubkey_b58"].(string)
}

func frameOf(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

func (c *client) send(body string) {
	c.t.Helper()
	if _, err := c.Write(frameOf(body)); err != nil {
		c.t.Fatal(err)
	}
}

// recv reads a frame. It returns nil at the end of the stream.
func (c *client) recv() []byte {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(suite.Patience))
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err == io.EOF {
		return nil
	} else if err != nil {
		c.t.Fatal(err)
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		c.t.Fatal(err)
	}
	return b
}

type object = map[string]any

func (c *client) call(body string) object {
	c.t.Helper()
	c.send(body)
	return c.next()
}

func (c *client) next() object {
	c.t.Helper()
	b := c.recv()
	if b == nil {
		c.t.Fatal("the connection ended")
	}
	var o object
	if err := json.Unmarshal(b, &o); err != nil {
		c.t.Fatalf("%s: %v", b, err)
	}
	return o
}

// want is like call, but fails if the reply has another kind.
func (c *client) want(kind, body string) object {
	c.t.Helper()
	r := c.call(body)
	if r["kind"] != kind {
		c.t.Fatalf("%.200s: %v, want kind %s", body, r, kind)
	}
	return r
}

// refused is like call, but fails unless the reply is an error whose message has the prefix.
func (c *client) refused(prefix, body string) {
	c.t.Helper()
	r := c.want("error", body)
	if m := r["message"].(string); !strings.HasPrefix(m, prefix) {
		c.t.Errorf("%.200s: %q, want it to begin %q", body, m, prefix)
	}
}

func (c *client) intent(text string) object {
	c.t.Helper()
	b, _ := json.Marshal(text)
	return c.want("intent_result", `{"kind":"submit_intent","text":`+string(b)+`}`)
}

func (c *client) records(body string) []object {
	c.t.Helper()
	return list(c.want("memories", body)["records"])
}

func list(v any) (out []object) {
	for _, x := range v.([]any) {
		out = append(out, x.(object))
	}
	return out
}

// audit returns the events that the client may see, oldest first, without the capability checks.
func (c *client) audit() (out []object) {
	c.t.Helper()
	for _, e := range list(c.want("audit_events", `{"kind":"recent_audit","limit":10000}`)["events"]) {
		if k := e["kind"].(object); k["type"] != "capability_check" {
			out = append(out, k)
		}
	}
	return out
}

func (c *client) lastAudit() object {
	c.t.Helper()
	a := c.audit()
	if len(a) == 0 {
		c.t.Fatal("no audit rows")
	}
	return a[len(a)-1]
}

func (c *client) ended() {
	c.t.Helper()
	if b := c.recv(); b != nil {
		c.t.Errorf("the connection goes on: %s", b)
	}
}
