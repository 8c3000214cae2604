package raft

import (
	"errors"
	"io"
	"slices"
	"sync"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/recovery"
)

// fsm is the library's view of the state machine.
type fsm struct {
	sm    StateMachine
	disk  func(index uint64) error // returns when the log's disk has a record, or has failed
	lost  error                    // that it failed: nothing is applied any more
	last  *held                    // the snapshot that was taken last; of the task that applies
	chain *Node                    // nil for a node that does not run
}

// unknownOutcome is what became of a record that was committed, perhaps, and not applied here.
type unknownOutcome struct{}

// Apply implements hraft.FSM.
func (f *fsm) Apply(l *hraft.Log) any { return f.ApplyBatch([]*hraft.Log{l})[0] }

// ApplyBatch implements hraft.BatchingFSM.
func (f *fsm) ApplyBatch(logs []*hraft.Log) []any {
	batch := make([]Record, len(logs))
	for i, l := range logs {
		batch[i] = Record{Index: l.Index, Term: l.Term}
		if l.Type == hraft.LogCommand {
			batch[i].Data = l.Data
		}
	}
	if f.lost != nil {
		return slices.Repeat([]any{unknownOutcome{}}, len(logs))
	}
	if f.lost = f.disk(logs[len(logs)-1].Index); f.lost != nil {
		return slices.Repeat([]any{unknownOutcome{}}, len(logs))
	}
	if f.chain != nil {
		if err := f.chain.chain.Add(logs); err != nil {
			f.lost = f.chain.contradicts(err)
			return slices.Repeat([]any{unknownOutcome{}}, len(logs))
		}
	}
	return f.sm.Apply(batch)
}

// Snapshot implements hraft.FSM.
func (f *fsm) Snapshot() (hraft.FSMSnapshot, error) {
	if f.lost != nil {
		return nil, f.lost // it would be said to hold what was not applied
	}
	s, err := f.sm.Snapshot()
	if err != nil {
		return nil, err
	}
	f.last = &held{Snapshot: s}
	if f.chain != nil {
		end := f.chain.chain.End()
		f.last.before = func() error { return f.chain.keepChain(end) }
	}
	return f.last, nil
}

// Restore implements hraft.FSM. A state that is to be replaced waits for the release of its snapshots, and the library waits
// for the state before it says what one that it is about to write needs: so that one is given up.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	if f.last != nil {
		f.last.giveUp()
	}
	if err := f.sm.Restore(r); err != nil {
		return err
	}
	if f.chain != nil && f.chain.running.Load() {
		index, _ := f.sm.Applied()
		f.chain.chain.Restart(recovery.Link{Index: index})
	}
	return nil
}

var errGivenUp = errors.New("the state was replaced meanwhile")

// held is a snapshot that is to be written.
type held struct {
	Snapshot
	before func() error // its writing; nil for nothing to do

	mu          sync.Mutex
	begun, gone bool
}

// Release implements hraft.FSMSnapshot.
func (h *held) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = true
	h.Snapshot.Release()
}

// giveUp releases a snapshot unless it is being written, which ends by itself.
func (h *held) giveUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun && !h.gone {
		h.gone = true
		h.Snapshot.Release()
	}
}

func (h *held) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = !h.gone
	return h.begun
}

// Persist implements hraft.FSMSnapshot. The library cuts the log before it releases the snapshot, which may take a slow disk
// long, and a state that is to be replaced waits for the release.
func (h *held) Persist(sink hraft.SnapshotSink) error {
	if !h.begin() {
		_ = sink.Cancel()
		return errGivenUp
	}
	defer h.Release()
	if h.before != nil {
		if err := h.before(); err != nil {
			_ = sink.Cancel()
			return err
		}
	}
	if _, err := h.WriteTo(sink); err != nil {
		_ = sink.Cancel() // the write's error says more
		return err
	}
	return sink.Close()
}
