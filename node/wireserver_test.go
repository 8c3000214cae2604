package node

import (
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/wire"
)

// TestWhoReadsNothingIsDropped checks that a subscriber that reads nothing is disconnected after a bounded time, and
// that writes continue meanwhile.
func TestWhoReadsNothingIsDropped(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	const token = "ydb_reads_nothing_0123456789abcdef"
	n, err := Open(t.Context(),
		Config{Home: filepath.Join(t.TempDir(), "h"),
			Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: Seams{NoSync: true},
			Member: Member{Secret: token},
			Raft:   Raft{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(200 * time.Millisecond)},
			Limits: Limits{writeTimeout: 2 * time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := n.Access().Local("default")
	if err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", n.Addrs().Wire)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_ = nc.(*net.TCPConn).SetReadBuffer(4 << 10) // a small buffer fills sooner
	var frames []byte
	for stream, m := range []wire.Message{&wire.Auth{Token: token}, &wire.Subscribe{}} {
		if frames, err = wire.AppendPack(frames, []wire.Op{wire.OpAuth, wire.OpSubscribe}[stream], uint32(stream), m, false); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := nc.Write(frames); err != nil {
		t.Fatal(err)
	}
	suite.Eventually(t, "a subscription", func() bool { return n.commit.Subscribers() == 1 })
	var ops []oplog.Op
	for range 1000 {
		ops = append(ops, &oplog.Relate{ID: "the same", Src: "a", Dst: "b", Type: "meets", Weight: 1})
	}
	suite.Eventually(t, "the connection to be dropped", func() bool {
		if _, err := n.commit.Propose(t.Context(), wire.Asker{}, oplog.Entry{Node: 1, DB: c.DB, Ops: ops}, false); err != nil {
			t.Fatal(err)
		}
		return n.wireConns.Open() == 0
	})
}

// TestAConnectionHasSoManySubscriptions checks the bound of subscriptions on a connection, because each costs the
// node a goroutine and a queue.
func TestAConnectionHasSoManySubscriptions(t *testing.T) {
	t.Parallel()
	const token, most = "ydb_subscribes_0123456789abcdefgh", 256
	n, err := Open(t.Context(),
		Config{Home: filepath.Join(t.TempDir(), "h"),
			Addresses: Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: Seams{NoSync: true},
			Member: Member{Secret: token},
			Raft:   Raft{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(200 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	nc, err := net.Dial("tcp", n.Addrs().Wire)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	r := wire.NewReader(nc, wire.MaxLength)
	ask := func(op wire.Op, stream uint32, m wire.Message) wire.Op {
		t.Helper()
		frame, err := wire.AppendPack(nil, op, stream, m, false)
		if err == nil {
			_, err = nc.Write(frame)
		}
		if err != nil {
			t.Fatal(err)
		}
		for {
			f, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if f.Stream == stream {
				return f.Op
			}
		}
	}
	ask(wire.OpAuth, 1, &wire.Auth{Token: token})
	for i := range uint32(most) {
		if op := ask(wire.OpSubscribe, i+1, &wire.Subscribe{}); op != wire.OpEvent {
			t.Fatalf("the %d. subscription is answered %s", i+1, op)
		}
	}
	if op := ask(wire.OpSubscribe, most+1, &wire.Subscribe{}); op != wire.OpError {
		t.Errorf("one more is answered %s", op)
	}
	if op := ask(wire.OpSubscribe, most, &wire.Subscribe{}); op != wire.OpEvent {
		t.Errorf("another one on a stream of before is answered %s", op)
	}
	if op := ask(wire.OpUnsubscribe, 1, &wire.Subscribe{}); op != wire.OpEvent {
		t.Errorf("the end of one is answered %s", op)
	}
	if op := ask(wire.OpSubscribe, most+1, &wire.Subscribe{}); op != wire.OpEvent {
		t.Errorf("one in its place is answered %s", op)
	}
}
