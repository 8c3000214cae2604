package commit

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// TestALostLeadIsNotTriedWithoutPause: raft knows a moment before the node that leadership is gone, and rejects at
// once.
func TestALostLeadIsNotTriedWithoutPause(t *testing.T) {
	t.Parallel()
	var entered atomic.Int64
	m := open(t, raft.Config{Peers: []string{"127.0.0.1:1"}, Addr: "127.0.0.1:0",
		Timing: raft.Timing{Heartbeat: time.Minute, Election: 2 * time.Minute}}, func(o *Options) {
		o.Heartbeat = time.Minute
		o.Audit = func(_ access.Asker, _ oplog.DB, ops []oplog.Op) (kept, rows []oplog.Op) {
			entered.Add(1)
			return ops, nil
		}
	})
	e := oplog.Entry{Node: 1, DB: 1, Key: "k", Ops: []oplog.Op{&oplog.Forget{RID: "r"}}}
	ctx, cancel := context.WithCancel(t.Context())
	var believes, tries sync.WaitGroup
	defer believes.Wait()
	defer tries.Wait()
	defer cancel()
	believes.Go(func() { // sets again and again that the member leads
		for ; ctx.Err() == nil; time.Sleep(time.Millisecond) { // slowly, so that the tested code has the processors
			m.leads.Store(true)
		}
	})
	suite.Eventually(t, "it to lead", m.Leads)
	began := time.Now()
	tries.Go(func() {
		if _, err := m.forward(ctx, wire.Asker{}, e); err == nil {
			t.Error("a node alone in a cluster of two acknowledged a write")
		}
	})
	const most = 8
	suite.Eventually(t, "tries", func() bool { return entered.Load() >= most })
	if took := time.Since(began); took < 5*retryPause { // each try must wait for a change of leadership
		t.Errorf("%d tries in %s", most, took)
	}
}
