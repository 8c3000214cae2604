package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
)

// prepared is the request with its defaults, within its bounds.
func prepared(r api.ThinkRequest) api.ThinkRequest {
	r.Limit = min(max(r.Limit, 0), maxLimit)
	r.Namespace = strings.TrimSpace(r.Namespace)
	r.Days = cmp.Or(r.Days, 7)
	r.MinActive = cmp.Or(r.MinActive, 10)
	r.MaxTriggers = min(cmp.Or(r.MaxTriggers, 10), api.MaxList)
	return r
}

// defaultConsolidation is for how many memories a round looks for duplicates when its caller does not say.
const defaultConsolidation = 50

// reflect runs a round with the answer that models get.
func (s *Service) reflect(ctx context.Context, c api.Caller, q *api.ReflectRequest) (*api.Thought, error) {
	return s.think(ctx, c, &api.ThinkRequest{ThinkParts: q.ThinkParts, Personality: q.Personality, Limit: defaultConsolidation, Namespace: c.Spaces.First()})
}

// think reads the caller's database, or a part of one that is large, decides what follows, and proposes that in one
// entry, or in several. It runs on the leader alone, one round at a time, on a snapshot read in slices: writes and
// recalls go on meanwhile, and Apply drops a decision about a memory that they have changed. A node that loses
// leadership drops its round; the log says where the next leader's goes on.
func (s *Service) think(ctx context.Context, c api.Caller, q *api.ThinkRequest) (*api.Thought, error) {
	started := time.Now()
	r := prepared(*q)
	if !s.commit.Leads() {
		return s.thinkOnLeader(ctx, c, r)
	}
	select {
	case s.load.thinking <- struct{}{}:
		defer func() { <-s.load.thinking }()
	case <-ctx.Done():
		return nil, oplog.Errorf(oplog.Unavailable, "another round of cognition is under way; retry")
	}
	c.Forward = false // a round belongs to the leader that thought it
	t := &thinker{s: s, c: c, r: r, until: time.Now().Add(longestRound)}
	if r.MaxMillis > 0 {
		t.until = time.Now().Add(min(longestRound, time.Duration(r.MaxMillis)*time.Millisecond))
	}
	if err := t.gather(ctx); err != nil {
		return nil, err
	}
	if err := t.decide(ctx); err != nil {
		return nil, err
	}
	a, err := t.propose(ctx)
	if err != nil {
		return nil, err
	}
	took := time.Since(started)
	a.Millis = took.Milliseconds()
	left, err := t.left()
	if err != nil {
		return nil, err
	}
	if r.Progress {
		a.Read, a.Remaining = new(len(t.snap.Rows)), &left
	}
	s.log.Info("thought", "database", c.Database, "memories", len(t.snap.Rows), "left", left, "conflicts", a.Conflicts, "merged", a.Merged, "took", took)
	return a, nil
}

// thinkOnLeader asks the leader for a round in the caller's name, where a surface passes its writes on: a round is no
// entry that could be forwarded. The answer comes when this node has what the leader decided.
func (s *Service) thinkOnLeader(ctx context.Context, c api.Caller, r api.ThinkRequest) (*api.Thought, error) {
	started := time.Now()
	id, addr, led := s.raft.Leader()
	if !c.Forward || !led || id == s.cfg.Member.NodeID || c.Asked {
		return nil, s.commit.NotLeader()
	}
	asking, cancel := context.WithTimeout(ctx, longestAsk)
	defer cancel()
	raw, err := s.askMember(asking, c, addr, api.Think.Op, &r)
	var refused *oplog.Error
	switch {
	case errors.As(err, &refused) && refused.Kind == oplog.NotLeader:
		return nil, oplog.Errorf(oplog.Unavailable, "the leader has changed; retry")
	case errors.As(err, &refused):
		return nil, refused
	case err != nil:
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader did not answer", Err: err}
	}
	a := &api.Thought{}
	if err := json.Unmarshal(raw, a); err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader's answer to think cannot be read", Err: err}
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil {
		return nil, &oplog.Error{Kind: oplog.UnknownOutcome, Text: "the leader has finished, but this node has not applied the result yet", Err: err}
	}
	a.Millis, a.Index = time.Since(started).Milliseconds(), s.commit.Indexed()
	return a, nil
}

// How a round of cognition yields to recalls: it works for a moment and then rests for several, so that it takes no
// more than a fifth of one core while recalls run, and none of them waits long behind it.
const (
	workSlice   = 3 * time.Millisecond
	restShare   = 2 // times as long as the work
	longestRest = 20 * time.Millisecond
)

// yieldToReaders returns the function that a round of cognition calls every few rows. It costs a look at the clock
// until the slice is over. When no recall is under way, the round goes on at once.
func (s *Service) yieldToReaders(ctx context.Context) func() {
	began := time.Now()
	return func() {
		worked := time.Since(began)
		if worked < workSlice {
			return
		}
		if s.load.asking.Load() == 0 {
			runtime.Gosched()
		} else {
			t := time.NewTimer(min(restShare*worked, longestRest))
			select {
			case <-t.C:
			case <-ctx.Done():
			}
			t.Stop()
		}
		began = time.Now()
	}
}
