package commit

import (
	"errors"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
)

// deliverOutcomes waits for a record and tells the goroutines that proposed its entries what became of them.
func deliverOutcomes(f *raft.Future, batch []proposal) {
	_, result, err := f.Wait()
	if err != nil {
		rejectAll(batch, proposalError(err))
		return
	}
	outcomes, ok := result.([]oplog.Outcome)
	if !ok || len(outcomes) != len(batch) {
		// The state had this index already: another run of this process applied it and its answers are gone.
		rejectAll(batch, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the write is committed; its answer was lost"})
		return
	}
	for i, pr := range batch {
		pr.done <- proposalResult{outcome: outcomes[i]}
	}
}

func rejectAll(batch []proposal, err error) {
	for _, pr := range batch {
		pr.done <- proposalResult{err: err}
	}
}

// proposalError maps an error of raft to the one error set.
func proposalError(err error) error {
	switch {
	case errors.Is(err, raft.ErrNotLeader):
		return &oplog.Error{Kind: oplog.NotLeader, Text: "not the leader", Err: err}
	case errors.Is(err, raft.ErrNoLeader):
		return api.ErrNoLeader
	case errors.Is(err, raft.ErrUnavailable):
		return &oplog.Error{Kind: oplog.Unavailable, Text: "the log takes no writes now; retry", Err: err}
	default:
		return unknownOutcome(err)
	}
}

func unknownOutcome(err error) error {
	return &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the write may or may not have happened", Err: err}
}
