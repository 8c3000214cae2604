package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A ThinkRequest says what a round of cognition is to do.
type ThinkRequest struct {
	Consolidate        bool
	Conflicts          bool
	Patterns           bool
	Personality        bool
	ConsolidationLimit int           // 50: rows for which duplicates are looked for; the next round goes on behind them
	Window             time.Duration // 7 days: how far apart duplicates may lie
	MinActive          int           // 10: fewer active memories are not consolidated
	MaxTriggers        int           // 10
	Minor              bool          // report conflicts of little weight too
}

// A ThinkAnswer says what Apply accepted of a round.
type ThinkAnswer struct {
	oplog.Thought
	Triggers []oplog.TriggerRow // new ones, the most urgent first
	Took     time.Duration
	Index    oplog.Index
}

// Think looks at the caller's database as it is, decides what follows, and proposes that in one entry, or in several
// when it is much. It runs on the leader alone.
func (s *Service) Think(ctx context.Context, c Caller, r ThinkRequest) (ThinkAnswer, error) {
	started := time.Now()
	if !c.May(Write) {
		return ThinkAnswer{}, oplog.Errorf(oplog.Denied, "token has no %s scope", Write)
	}
	if !s.machine.leads() {
		return ThinkAnswer{}, s.notLeader()
	}
	op := &oplog.Cognition{Base: s.machine.applied.get(), At: oplog.At(s.cfg.Now()), Last: true}
	c.Forward = false
	w, err := s.write(ctx, c, write{scope: Write, ops: []oplog.Op{op}})
	if err != nil {
		return ThinkAnswer{}, err
	}
	return ThinkAnswer{Thought: *w.Results[0].Thought, Took: time.Since(started), Index: w.Index}, nil
}
