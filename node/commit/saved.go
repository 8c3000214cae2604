package commit

import (
	"io"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// checkpoints adapts the checkpoints of a state to raft's snapshots.
type checkpoints struct{ state *state.State }

// Snapshot implements raft.StateMachine.
func (s checkpoints) Snapshot() (raft.Snapshot, error) {
	p, err := s.state.Pin()
	return pinned{p}, err
}

// OpenSnapshot implements raft.StateMachine.
func (s checkpoints) OpenSnapshot(name string, index uint64) (io.ReadCloser, int64, error) {
	return s.state.ReadCheckpoint(name, oplog.Index(index))
}

// RetainSnapshots implements raft.StateMachine.
func (s checkpoints) RetainSnapshots(names []string) error { return s.state.RetainCheckpoints(names) }

// pinned is a state that is about to be saved.
type pinned struct{ *state.Pin }

// Save implements raft.Snapshot.
func (p pinned) Save(name string) (index, term uint64, err error) {
	i, t, err := p.Checkpoint(name)
	return uint64(i), uint64(t), err
}
