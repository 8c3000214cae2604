package node

import (
	"errors"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// settle tells those who proposed a record's entries what became of them.
func settle(f *raft.Future, batch []proposal) {
	_, result, err := f.Wait()
	if err != nil {
		fail(batch, refusal(err))
		return
	}
	outcomes, ok := result.([]oplog.Outcome)
	if !ok || len(outcomes) != len(batch) {
		// The state had this index already: another run of this process applied it and its answers are gone.
		fail(batch, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the write is committed; its answer was lost"})
		return
	}
	for i, pr := range batch {
		pr.done <- decided{outcome: outcomes[i]}
	}
}

// refusal maps what raft says to the one error set.
func refusal(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return &oplog.Error{Kind: oplog.NotLeader, Text: "not the leader", Err: err}
	case errors.Is(err, raft.ErrNoLeader):
		return ErrNoLeader
	case errors.Is(err, raft.ErrUnavailable):
		return &oplog.Error{Kind: oplog.Unavailable, Text: "the log takes no writes now; retry", Err: err}
	default:
		return unknown(err)
	}
}
