package raft

import (
	"errors"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
)

// fsm is the library's view of the state machine.
type fsm struct {
	sm      StateMachine
	disk    func(index uint64) error // waits until the log's disk has a record, or has failed
	failure error                    // set once disk has failed: no more records are applied
	last    *pendingSnapshot         // the newest snapshot; only the apply task uses it
	node    *Node                    // nil for a node that does not run
	steps   atomic.Uint64            // batches begun and batches applied: odd while one is being applied
}

// unknownOutcome is the result of a record that may be committed but was not applied here.
type unknownOutcome struct{}

// Apply implements hraft.FSM.
func (f *fsm) Apply(l *hraft.Log) any { return f.ApplyBatch([]*hraft.Log{l})[0] }

// ApplyBatch implements hraft.BatchingFSM.
func (f *fsm) ApplyBatch(logs []*hraft.Log) []any {
	f.steps.Add(1)
	defer f.steps.Add(1)
	batch := make([]Record, len(logs))
	for i, l := range logs {
		batch[i] = record(l)
	}
	if f.failure == nil {
		f.failure = f.disk(logs[len(logs)-1].Index)
	}
	if f.failure != nil {
		return slices.Repeat([]any{unknownOutcome{}}, len(logs))
	}
	if f.node != nil {
		f.node.logs.NoteCommitted(batch[len(batch)-1].Index)
	}
	return f.sm.Apply(batch)
}

// record converts a log entry to the Record that the state machine gets.
func record(l *hraft.Log) Record {
	r := Record{Index: l.Index, Term: l.Term}
	if l.Type == hraft.LogCommand {
		r.Data = l.Data
	}
	return r
}

// Snapshot implements hraft.FSM.
func (f *fsm) Snapshot() (hraft.FSMSnapshot, error) {
	if f.failure != nil {
		return nil, f.failure // the library would label the snapshot with unapplied records
	}
	s, err := f.sm.Snapshot()
	if err != nil {
		return nil, err
	}
	f.last = &pendingSnapshot{Snapshot: s}
	if f.node != nil {
		f.last.before, f.last.members = f.node.limitTrailing, f.node.membersWithin
	}
	return f.last, nil
}

// Restore implements hraft.FSM. Before the state machine replaces its state, it waits until its snapshots are
// released, but the library writes the last snapshot only after Restore has returned. So Restore abandons that
// snapshot.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	if f.last != nil {
		f.last.abandon()
	}
	err := f.sm.Restore(r)
	if isCorrupt(err) && f.node != nil {
		applied, _ := f.sm.Applied()
		err = errors.Join(err, f.node.snaps.removeAfter(applied))
	}
	return err
}

var errAbandoned = errors.New("the state was replaced meanwhile")

// pendingSnapshot is a snapshot that was taken but not yet written. Persist writes it, the library releases it, or
// Restore abandons it; mu orders the three.
type pendingSnapshot struct {
	Snapshot
	before  func() error                                                  // called before it is written; may be nil
	members func(after, upTo uint64) (hraft.Configuration, uint64, error) // see snapshotSink.save

	mu              sync.Mutex
	begun, released bool
}

// Release implements hraft.FSMSnapshot.
func (h *pendingSnapshot) Release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.released = true
	h.Snapshot.Release()
}

// abandon releases a snapshot whose writing has not begun. It leaves one that is being written alone.
func (h *pendingSnapshot) abandon() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.begun && !h.released {
		h.released = true
		h.Snapshot.Release()
	}
}

// Persist implements hraft.FSMSnapshot. It releases the snapshot as soon as it is written. The library would release
// it only after it has compacted the log, which takes long on a slow disk, and Restore would wait for that.
func (h *pendingSnapshot) Persist(sink hraft.SnapshotSink) error {
	h.mu.Lock()
	h.begun = !h.released
	h.mu.Unlock()
	if !h.begun {
		_ = sink.Cancel()
		return errAbandoned
	}
	defer h.Release()
	if h.before != nil {
		if err := h.before(); err != nil {
			_ = sink.Cancel()
			return err
		}
	}
	if err := sink.(*snapshotSink).save(h, h.members); err != nil {
		_ = sink.Cancel() // the error of save is returned
		return err
	}
	return sink.Close()
}
