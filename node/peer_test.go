package node_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// peerConn is a peer that is not a member: it knows the secret and the seed's messages.
type peerConn struct {
	t  testing.TB
	nc net.Conn
	r  *wire.Reader
}

// dialPeerPort connects to a peer port without sending anything.
func dialPeerPort(t testing.TB, addr string) *peerConn {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	nc.SetDeadline(time.Now().Add(suite.Patience))
	return &peerConn{t, nc, wire.NewReader(bufio.NewReader(nc), wire.MaxLength)}
}

func dialStranger(t testing.TB, addr string) *peerConn {
	t.Helper()
	p := dialPeerPort(t, addr)
	f := p.ask(wire.OpClusterHello,
		&wire.ClusterHello{NodeID: 77, Role: "voter", CurrentTerm: 1_000_000_000, ClusterSecret: secret,
			AdvertiseAddr: "127.0.0.1:1", ProtocolVersion: 1})
	if f.Op != wire.OpClusterHelloOK {
		t.Fatalf("hello answered with %s", f.Op)
	}
	return p
}

func (p *peerConn) ask(op wire.Op, m wire.Message) wire.Frame {
	p.t.Helper()
	b, err := wire.AppendPack(nil, op, 9, m, false)
	if err != nil {
		p.t.Fatal(err)
	}
	if _, err := p.nc.Write(b); err != nil {
		p.t.Fatal(err)
	}
	f, err := p.r.Next()
	if err != nil {
		p.t.Fatal(err)
	}
	if f.Stream != 9 {
		p.t.Errorf("answer on stream %d", f.Stream)
	}
	return f
}

func (p *peerConn) pull(m *wire.OplogPull) (r wire.OplogPullResult, e wire.Error) {
	p.t.Helper()
	f := p.ask(wire.OpOplogPull, m)
	into := wire.Message(&r)
	if f.Op == wire.OpError {
		into = &e
	}
	if err := wire.Unpack(f, into, wire.MaxPlainPeer); err != nil {
		p.t.Fatal(err)
	}
	return r, e
}

func TestForeignPeersPullByCursor(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	cl := c.dial(0)
	var rids []string
	for range 7 {
		rid, err := cl.Remember(t.Context(), wire.NewRemember("pulled"))
		if err != nil {
			t.Fatal(err)
		}
		rids = append(rids, rid)
	}
	batch := wire.RememberBatch{Memories: []wire.Remember{wire.NewRemember("one"), wire.NewRemember("two"), wire.NewRemember("three")}}
	more, err := cl.RememberBatch(t.Context(), batch)
	if err != nil {
		t.Fatal(err)
	}
	rids = append(rids, more...)
	p := dialStranger(t, c.nodes[0].Addrs().Cluster)
	var got []string
	req := &wire.OplogPull{Database: "default", Limit: 2}
	for {
		r, e := p.pull(req)
		if e.Code != 0 {
			t.Fatal(e)
		}
		for _, op := range r.Ops {
			got = append(got, *op.TargetRID)
		}
		if len(r.Ops) > 0 {
			last := r.Ops[len(r.Ops)-1]
			req.SinceHLC, req.SinceOpID = last.HLC, &last.OpID
		}
		if !r.HasMore {
			break
		}
	}
	if strings.Join(got, " ") != strings.Join(rids, " ") {
		t.Errorf("pulled %v\nstored %v", got, rids)
	}
	if _, e := p.pull(&wire.OplogPull{Database: "nowhere", Limit: 1}); e.Code != wire.CodeInternal ||
		e.Message != "database 'nowhere' not found" {
		t.Errorf("unknown database: %+v", e)
	}
}

func TestACursorBeforeTheWindowIsToldSo(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Storage.RetainOps = 5 })
	cl := c.dial(0)
	for range 20 {
		if _, err := cl.Remember(t.Context(), wire.NewRemember("soon gone from the log")); err != nil {
			t.Fatal(err)
		}
	}
	_, e := dialStranger(t, c.nodes[0].Addrs().Cluster).pull(&wire.OplogPull{Database: "default", Limit: 10})
	if !strings.Contains(string(e.Details), `"snapshot_required":true`) {
		t.Errorf("got %+v", e)
	}
}

func TestForeignPushesAreTakenOnce(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	p := dialStranger(t, c.nodes[0].Addrs().Cluster)
	push := &wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{
		{OpID: "op-1", OpType: "record",
			Payload: wire.JSON(`{"rid":"r1","type":"semantic","text":"pushed by a neighbour","importance":0.5,"half_life":604800,"created_at":1700000000.5,"namespace":"default","metadata":{"a":1}}`),
			ActorID: "a", OriginActor: "a", HLC: make([]byte, 16), FormatVersion: 1},
		{OpID: "op-2", OpType: "never_heard_of", Payload: wire.JSON(`{"x":1}`), ActorID: "a", OriginActor: "a",
			HLC: make([]byte, 16), FormatVersion: 1},
	}}
	for i, want := range []uint64{2, 0} {
		f := p.ask(wire.OpOplogPush, push)
		var ok wire.OplogPushOK
		if err := wire.Unpack(f, &ok, wire.MaxPlainPeer); err != nil || f.Op != wire.OpOplogPushOK {
			t.Fatalf("%s: %v", f.Op, err)
		}
		if ok.Applied != want || ok.LastOpID != "op-2" {
			t.Errorf("push %d: %+v", i, ok)
		}
	}
	if r := find(t, c.dial(0), "neighbour"); len(r) != 1 || r[0].RID != "r1" || r[0].CreatedAt != 1700000000.5 ||
		string(r[0].Metadata) != `{"a":1}` {
		t.Errorf("got %+v", r)
	}
}

// TestNoNameStopsANode checks that an operation with names that no state can store is rejected: at the door when a
// stranger pushes it, and by every state if a member gets it into the log. The node continues, also when it reads
// that log again.
func TestNoNameStopsANode(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	s, _ := c.service(0)
	long := strings.Repeat("k", 40_000)
	p := dialStranger(t, c.nodes[0].Addrs().Cluster)
	entry := func(change func(*wire.OplogEntry)) wire.OplogEntry {
		e := wire.OplogEntry{OpID: "op", OpType: "record",
			Payload: wire.JSON(`{"rid":"r","text":"t","namespace":"default"}`), ActorID: "a", OriginActor: "a",
			HLC: make([]byte, 16), FormatVersion: 1}
		change(&e)
		return e
	}
	payload := func(kind, text string) wire.OplogEntry {
		return entry(func(e *wire.OplogEntry) {
			e.OpType, e.Payload = kind, wire.JSON(strings.ReplaceAll(text, "LONG", long))
		})
	}
	for name, e := range map[string]wire.OplogEntry{
		"op_id":     entry(func(e *wire.OplogEntry) { e.OpID = long }),
		"no op_id":  entry(func(e *wire.OplogEntry) { e.OpID = "" }),
		"actor":     entry(func(e *wire.OplogEntry) { e.ActorID = long }),
		"hlc":       entry(func(e *wire.OplogEntry) { e.HLC = make([]byte, 17) }),
		"rid":       payload("record", `{"rid":"LONG","text":"t"}`),
		"namespace": payload("record", `{"rid":"r","text":"t","namespace":"LONG"}`),
		"src":       payload("relate", `{"edge_id":"e","src":"LONG","dst":"d","rel_type":"t"}`),
		"dst":       payload("relate", `{"edge_id":"e","src":"s","dst":"LONG","rel_type":"t"}`),
		"edge":      payload("relate", `{"edge_id":"LONG","src":"s","dst":"d","rel_type":"t"}`),
	} {
		before := s.RaftStatus().LastIndex
		var r wire.OplogPushOK
		f := p.ask(wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{e}})
		if err := wire.Unpack(f, &r, wire.MaxPlainPeer); err != nil || r.Applied != 0 || len(r.Refused) != 1 ||
			!strings.HasPrefix(e.OpID, r.Refused[0].OpID) || len(r.Refused[0].OpID) < min(len(e.OpID), oplog.MaxName) {
			t.Errorf("%s: answered with %s: %d stored, refused %v, %v", name, f.Op, r.Applied, r.Refused, err)
		}
		if after := s.RaftStatus().LastIndex; after != before {
			t.Errorf("%s went into the log", name)
		}
	}
	for name, op := range map[string]oplog.Op{
		"rid":   &oplog.Remember{Content: oplog.Content{RID: long, Text: "t", Namespace: "default"}},
		"src":   &oplog.Relate{ID: "e", Src: long, Dst: "d", Type: "t"},
		"op_id": &oplog.Foreign{OpID: long, Type: "strange"},
		"key":   &oplog.Remember{Content: oplog.Content{RID: "r", Text: "t", Namespace: "default"}},
	} {
		e := oplog.Entry{Node: 1, DB: oplog.DefaultDB, Ops: []oplog.Op{op}}
		if name == "key" {
			e.Key = long
		}
		body, err := e.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if out, err := s.Forward(t.Context(), 2, wire.Forward{Entry: body}); err != nil ||
			!strings.Contains(string(out), "40000 bytes") && !strings.Contains(string(out), "bytes together") {
			t.Errorf("%s: %q, %v", name, out, err)
		}
	}
	if rid, err := c.dial(0).Remember(t.Context(), wire.NewRemember("life goes on")); err != nil || rid == "" {
		t.Fatal(err)
	}
	c.stop(0)
	c.open(0)
	c.ready(0)
	if r := find(t, c.dial(0), "life"); len(r) != 1 {
		t.Errorf("after a restart: %+v", r)
	}
}

// TestForwardedBombsAreRefused checks that a client that pretends to be a member cannot write unreadable entries into
// the log.
func TestForwardedBombsAreRefused(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	s, _ := c.service(0)
	for name, body := range map[string][]byte{
		"deep":    []byte(strings.Repeat("\x91", 1<<20) + "\x01"),
		"lying":   {0xDD, 0xFF, 0xFF, 0xFF, 0xFF},
		"nothing": {},
		"other":   {0x81, 0xA1, 'x', 0x01},
	} {
		before := s.RaftStatus().LastIndex
		out, err := s.Forward(t.Context(), 2, wire.Forward{Entry: body})
		if err != nil || !strings.Contains(string(out), "unreadable") {
			t.Errorf("%s: %q, %v", name, out, err)
		}
		if after := s.RaftStatus().LastIndex; after != before {
			t.Errorf("%s went into the log", name)
		}
	}
}

// TestTheLeaderWritesTheAudit checks that a forwarded entry gets an audit row for each operation that changes the
// cluster, with the forwarding node, whatever audit rows the entry itself contains.
func TestTheLeaderWritesTheAudit(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	s, _ := c.service(0)
	token := func(label string) oplog.Op {
		return &oplog.CreateToken{Hash: access.HashToken(label), DB: oplog.DefaultDB, Label: label, Scopes: []string{"admin"}, At: 1}
	}
	for _, ops := range [][]oplog.Op{
		{token("silent")},
		{token("forged"), &oplog.Audit{By: "master", What: "create_token", On: "nothing to see here", Node: 1, At: 1}},
		{&oplog.CreateToken{Hash: "short", DB: oplog.DefaultDB, At: 1}},
	} {
		body, err := oplog.Entry{Node: 1, Ops: ops}.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Forward(t.Context(), 2, wire.Forward{Entry: body, Asker: wire.Asker{By: strings.Repeat("long", 1000)}}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, r := range c.web(0).ok("GET", "/v1/admin/audit", nil)["audit"].([]any) {
		r := r.(obj)
		got = append(got, fmt.Sprint(r["what"], " ", r["on"], " node ", r["node_id"], " ", len(r["by"].(string))))
	}
	want := []string{fmt.Sprint("create_token ", access.HashToken("forged")[:12], " node 2 256"),
		fmt.Sprint("create_token ", access.HashToken("silent")[:12], " node 2 256")}
	if len(got) > 2 { // an invalid hash may be rejected or not, but the audit and the state must agree
		got = got[len(got)-2:]
	}
	c.web(0).ok("GET", "/v1/admin/tokens", nil)
	if !slices.Equal(got, want) {
		t.Errorf("the audit is %q, want %q", got, want)
	}
}

func TestForeignPeersMoveNothing(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 3)
	l := c.leader()
	term := c.nodes[l].Service().RaftStatus().Term
	p := dialStranger(t, c.nodes[l].Addrs().Cluster)
	for _, raft := range []bool{false, true} {
		hb := &wire.Heartbeat{Term: 1_000_000_000, LeaderID: 77, LeaderLastHLC: []byte{}}
		rv := &wire.RequestVote{Term: 1_000_000_000, CandidateID: 77, LastLogHLC: make([]byte, 16)}
		if raft {
			hb.Raft = &wire.RaftAppend{Term: 1_000_000_000, Leader: 77, LeaderAddr: "127.0.0.1:1"}
			rv.Raft = &wire.RaftVote{Term: 1_000_000_000, Candidate: 77, Addr: "127.0.0.1:1", LastIndex: 1 << 40, LastTerm: 1 << 40}
		}
		f := p.ask(wire.OpHeartbeat, hb)
		var ack wire.HeartbeatAck
		if err := wire.Unpack(f, &ack, wire.MaxPlainPeer); err != nil || ack.Term != term || ack.Raft != nil {
			t.Errorf("heartbeat: %s %+v, %v", f.Op, ack, err)
		}
		f = p.ask(wire.OpRequestVote, rv)
		var v wire.Vote
		if err := wire.Unpack(f, &v, wire.MaxPlainPeer); err != nil || f.Op != wire.OpVoteDenied || v.Granted || v.Term != term ||
			v.Reason == nil {
			t.Errorf("vote: %s %+v, %v", f.Op, v, err)
		}
	}
	if f := p.ask(wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{},
		Raft: &wire.RaftAppend{Term: 1_000_000_000, Leader: 77, LeaderAddr: "127.0.0.1:1",
			Entries: []wire.RaftEntry{{Index: 1, Term: 1_000_000_000}}}}); f.Op != wire.OpError {
		t.Errorf("a forged append was answered with %s", f.Op)
	}
	follower := dialStranger(t, c.nodes[(l+1)%3].Addrs().Cluster)
	for _, ops := range [][]wire.OplogEntry{{},
		{{OpID: "op-1", OpType: "record", Payload: wire.JSON(`{"rid":"r1","text":"t"}`), HLC: make([]byte, 16), FormatVersion: 1}}} {
		if f := follower.ask(wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: ops}); f.Op != wire.OpReadonlyError {
			t.Errorf("a follower answered a push of %d with %s", len(ops), f.Op)
		}
	}
	if f := p.ask(wire.OpPing, &wire.Nothing{}); f.Op != wire.OpPong {
		t.Errorf("ping answered with %s", f.Op)
	}
	if now := c.nodes[l].Service().RaftStatus(); now.Term != term || now.State != "Leader" {
		t.Errorf("moved: %+v", now)
	}
}
