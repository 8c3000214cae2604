package raft

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// snapshotWaiter is a state machine whose Restore waits until its snapshots are released, as a state in a file does.
type snapshotWaiter struct {
	listMachine
	open sync.WaitGroup
}

func (w *snapshotWaiter) Snapshot() (Snapshot, error) {
	w.open.Add(1)
	return &opening{done: sync.OnceFunc(w.open.Done)}, nil
}

func (w *snapshotWaiter) Restore(io.Reader) error {
	w.open.Wait()
	return nil
}

type opening struct {
	image
	done func()
}

func (o *opening) Release() { o.done() }

// TestASnapshotThatWaitsHoldsNoRestore: between taking and writing a snapshot, the library asks its main task for the
// members, and that task may be waiting for a restore. The pending snapshot must not block that restore.
func TestASnapshotThatWaitsHoldsNoRestore(t *testing.T) {
	t.Parallel()
	f := &fsm{sm: &snapshotWaiter{}}
	taken, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	restored := make(chan error, 1)
	go func() { restored <- f.Restore(io.NopCloser(nil)) }()
	if err := suite.Receive(t, "a restore that a snapshot must not wait for", restored); err != nil {
		t.Fatal(err)
	}
	store := hraft.NewInmemSnapshotStore()
	sink, err := store.Create(1, 1, 1, hraft.Configuration{}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := taken.Persist(sink); !errors.Is(err, errAbandoned) {
		t.Errorf("a snapshot of a state that is gone was written: %v", err)
	}
	taken.Release()
}

// slowMachine is a state machine whose records wait for the gate.
type slowMachine struct {
	listMachine
	begun sync.Once
	first chan struct{} // closed when the first record is being applied
	gate  chan struct{}
}

func (s *slowMachine) Apply(batch []Record) []any {
	if batch[0].Data != nil {
		s.begun.Do(func() { close(s.first) })
		<-s.gate
	}
	return s.listMachine.Apply(batch)
}

// TestCloseAnswersWhatIsCommitted: Close waits until committed records are applied and answered, even if a slow disk
// delays them for long.
func TestCloseAnswersWhatIsCommitted(t *testing.T) {
	t.Parallel()
	sm := &slowMachine{first: make(chan struct{}), gate: make(chan struct{})}
	n, err := Open(t.Context(),
		Config{NodeID: 1, Dir: t.TempDir(), Alone: true,
			Timing:  Timing{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(100 * time.Millisecond)},
			Handler: noHandler{}, Hello: sm.hello}, sm)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t: t, nodes: []*Node{n}}
	c.wait("it leads", n.IsLeader)
	const records = 8
	answers := make(chan error, records)
	for range records {
		before := n.raft.CommitIndex()
		f := n.Propose(t.Context(), []byte("x"))
		go func() {
			_, _, err := f.Wait()
			answers <- err
		}()
		c.wait("it is committed", func() bool { return n.raft.CommitIndex() > before })
	}
	<-sm.first
	time.AfterFunc(5*n.cfg.Election, func() { close(sm.gate) })
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	for range records {
		if err := <-answers; err != nil {
			t.Errorf("a committed record: %v", err)
		}
	}
	if !n.futures.drain(0) {
		t.Error("the library was left with answers that it never gave")
	}
}
