package raft

import (
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"
)

// waiting is a state machine that is replaced when its snapshots are released, as a state in a file is.
type waiting struct {
	list
	open sync.WaitGroup
}

func (w *waiting) Snapshot() (Snapshot, error) {
	w.open.Add(1)
	return &opening{done: sync.OnceFunc(w.open.Done)}, nil
}

func (w *waiting) Restore(io.Reader) error {
	w.open.Wait()
	return nil
}

type opening struct {
	image
	done func()
}

func (o *opening) Release() { o.done() }

// TestASnapshotThatWaitsHoldsNoRestore: between taking a snapshot and writing it the library asks its main task for the members, and
// that task may be waiting for the restore of another snapshot.
func TestASnapshotThatWaitsHoldsNoRestore(t *testing.T) {
	t.Parallel()
	f := &fsm{sm: &waiting{}}
	taken, err := f.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	restored := make(chan error, 1)
	go func() { restored <- f.Restore(io.NopCloser(nil)) }()
	select {
	case err := <-restored:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the restore waits for a snapshot that waits for it")
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
