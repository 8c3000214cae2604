package node

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// TestALostLeadIsNotTriedWithoutPause: raft knows a moment before the node that leadership is gone, and refuses at once.
func TestALostLeadIsNotTriedWithoutPause(t *testing.T) {
	t.Parallel()
	var stamped atomic.Int64
	n, err := Open(t.Context(), Config{Home: t.TempDir(), Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0", NodeID: 1, Secret: NewSecret(),
		Peers: []Peer{{Addr: "127.0.0.1:1", Role: RoleVoter}}, Heartbeat: time.Minute, Election: 2 * time.Minute, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Now: func() time.Time { stamped.Add(1); return time.Now() }})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	e := oplog.Entry{Node: 1, DB: 1, Key: "k", Ops: []oplog.Op{&oplog.Forget{RID: "r"}}}
	ctx, cancel := context.WithCancel(t.Context())
	var believes, tries sync.WaitGroup
	defer believes.Wait()
	defer tries.Wait()
	defer cancel()
	believes.Go(func() { // that it leads, whatever it learns
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) {
			n.machine.ours.Store(true)
		}
	})
	for !n.machine.leads() {
		time.Sleep(time.Millisecond)
	}
	before, began := stamped.Load(), time.Now()
	tries.Go(func() {
		if _, err := n.service.forward(ctx, api.Caller{By: api.ByNode}, e); err == nil {
			t.Error("a node alone in a cluster of two acknowledged a write")
		}
	})
	const most = 8
	for deadline := time.Now().Add(time.Minute); stamped.Load()-before < most; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d tries", stamped.Load()-before)
		}
	}
	if took := time.Since(began); took < 5*retryPause { // nobody waits for what changes leadership, and for nothing else
		t.Errorf("%d tries in %s", most, took)
	}
}
