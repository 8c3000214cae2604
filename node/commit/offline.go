package commit

import (
	"fmt"
	"io"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// Offline is the state machine of a node that does not run: no client waits for the outcomes of its records.
type Offline struct{ *state.State }

// Apply implements raft.StateMachine.
func (o Offline) Apply(batch []raft.Record) []any {
	if _, err := o.State.Apply(toRecords(batch)); err != nil {
		panic(fmt.Sprintf("commit: cannot apply record %d: %v", batch[0].Index, err)) // nothing runs that could go on
	}
	return make([]any, len(batch))
}

// Applied implements raft.StateMachine.
func (o Offline) Applied() (index, term uint64) { return appliedPosition(o.State) }

// Sums implements raft.StateMachine: a node that does not run compares nothing.
func (Offline) Sums() []raft.StateSum { return nil }

// Snapshot implements raft.StateMachine.
func (o Offline) Snapshot() (raft.Snapshot, error) { return checkpoints{o.State}.Snapshot() }

// OpenSnapshot implements raft.StateMachine.
func (o Offline) OpenSnapshot(name string, index uint64) (io.ReadCloser, int64, error) {
	return checkpoints{o.State}.OpenSnapshot(name, index)
}

// RetainSnapshots implements raft.StateMachine.
func (o Offline) RetainSnapshots(names []string) error { return o.State.RetainCheckpoints(names) }

// Restore implements raft.StateMachine.
func (o Offline) Restore(r io.Reader) error { return o.State.Restore(r, nil) }

func toRecords(batch []raft.Record) []oplog.Record {
	records := make([]oplog.Record, len(batch))
	for i, r := range batch {
		records[i] = oplog.Record{Index: oplog.Index(r.Index), Term: oplog.Index(r.Term), Data: r.Data}
	}
	return records
}

// appliedPosition returns the index and the term of the last record that a state has applied.
func appliedPosition(s *state.State) (index, term uint64) {
	i, t := s.Applied()
	return uint64(i), uint64(t)
}
