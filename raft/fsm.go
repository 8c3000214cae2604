package raft

import (
	"io"

	hraft "github.com/hashicorp/raft"
)

// fsm is the library's view of the state machine.
type fsm struct{ sm StateMachine }

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
	return f.sm.Apply(batch)
}

// Snapshot implements hraft.FSM.
func (f *fsm) Snapshot() (hraft.FSMSnapshot, error) {
	s, err := f.sm.Snapshot()
	if err != nil {
		return nil, err
	}
	return held{s}, nil
}

// Restore implements hraft.FSM.
func (f *fsm) Restore(r io.ReadCloser) error {
	defer r.Close()
	return f.sm.Restore(r)
}

type held struct{ Snapshot }

// Persist implements hraft.FSMSnapshot.
func (h held) Persist(sink hraft.SnapshotSink) error {
	if _, err := h.WriteTo(sink); err != nil {
		_ = sink.Cancel() // the write's error says more
		return err
	}
	return sink.Close()
}
