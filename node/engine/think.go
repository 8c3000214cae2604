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
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// prepared is the request with its defaults, within its bounds.
func prepared(r api.ThinkRequest) api.ThinkRequest {
	r.Limit = min(max(r.Limit, 0), thinkRows)
	r.Days = cmp.Or(r.Days, 7)
	r.MinActive = cmp.Or(r.MinActive, 10)
	r.MaxTriggers = min(cmp.Or(r.MaxTriggers, 10), maxList)
	return r
}

// defaultConsolidation is for how many memories a round looks for duplicates when its caller does not say.
const defaultConsolidation = 50

// reflect runs a round with the answer that models get.
func (s *Service) reflect(ctx context.Context, c api.Caller, q *api.ReflectRequest) (*api.Thought, error) {
	return s.think(ctx, c, &api.ThinkRequest{ThinkParts: q.ThinkParts, Personality: q.Personality, Limit: defaultConsolidation})
}

// think reads the caller's database, decides what follows, and proposes that in one entry, or in several when it is
// large. It runs on the leader alone, one round at a time, on a snapshot read in slices: writes and recalls go on
// meanwhile, and Apply drops a decision about a memory that they have changed. A node that loses leadership drops its
// round.
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
	t := &thinker{s: s, c: c, r: r}
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
	s.log.Info("thought", "database", c.Database, "memories", len(t.snap.Rows), "conflicts", a.Conflicts, "merged", a.Merged, "took", took)
	return a, nil
}

// thinker is one round.
type thinker struct {
	s    *Service
	c    api.Caller
	r    api.ThinkRequest
	base oplog.Index
	set  oplog.Settings
	seqs []oplog.Seq // of the snapshot's rows
	snap mind.Snapshot
	mind oplog.Mind

	op oplog.Cognition // what is decided
}

// Bounds of one round, so that its memory is bounded however large the database is: it takes the newest rows.
const (
	thinkRows   = 100_000
	thinkEdges  = 100_000
	thinkClaims = 100_000
	thinkSlice  = 100 // rows read at one view
	thinkText   = 2048
)

// gather reads the snapshot in slices. Writes go on between them, so every decision carries the revisions that it was
// made from.
func (t *thinker) gather(ctx context.Context) error {
	db := t.c.DB
	var from oplog.Seq
	err := t.s.state.Read(func(v *state.View) error {
		if _, ok := v.Database(db); !ok {
			return oplog.ErrNoDatabase
		}
		t.base, t.mind, t.set = v.Index(), v.Mind(db, ""), v.Settings(db)
		t.snap = mind.Snapshot{Now: oplog.At(t.s.now()), Minor: t.r.Minor, Stats: v.Stats(db), Traits: v.Personality(db)}
		t.snap.Weights, _ = v.Weights(db)
		if next := oplog.Seq(t.snap.Stats.NextSeq); next > thinkRows {
			from = next - thinkRows
		}
		t.gatherSmall(v)
		return nil
	})
	if err != nil {
		return err
	}
	t.snap.Rest = t.s.yieldToReaders(ctx)
	if err := inSlices(ctx, t, from+1, (*state.View).Memories, func(v *state.View, m *oplog.Memory) (oplog.Seq, bool) {
		t.take(v, m)
		return m.Seq + 1, true
	}); err != nil {
		return err
	}
	if err := inSlices(ctx, t, "", (*state.View).EdgesBehind, func(_ *state.View, e oplog.Edge) (string, bool) {
		t.snap.Edges = append(t.snap.Edges, e)
		return e.ID, len(t.snap.Edges) < thinkEdges
	}); err != nil {
		return err
	}
	return inSlices(ctx, t, "", (*state.View).ClaimsBehind, func(_ *state.View, c oplog.StoredClaim) (string, bool) {
		t.snap.Claims = append(t.snap.Claims, c)
		return c.ID, len(t.snap.Claims) < thinkClaims
	})
}

// inSlices walks rows of the round's database in slices, and rests behind each.
func inSlices[K, T any](ctx context.Context, t *thinker, from K, walk func(*state.View, oplog.DB, K, func(T) bool), each func(*state.View, T) (K, bool)) error {
	for err := range inPages(t.s, t.c.DB, thinkSlice, from, walk, func(v *state.View, x T) (K, int, bool) {
		next, on := each(v, x)
		return next, 1, on
	}) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return err
		}
		t.snap.Rest()
	}
	return nil
}

func (t *thinker) take(v *state.View, m *oplog.Memory) {
	if m.Status != oplog.Active {
		return
	}
	t.tierPolicy(m)
	if !m.Indexed() {
		return
	}
	t.seqs = append(t.seqs, m.Seq)
	t.snap.Rows = append(t.snap.Rows, mind.Row{RID: m.RID, Text: strings.Clone(m.Text[:min(len(m.Text), thinkText)]), Type: m.Type, Namespace: m.Namespace, Domain: m.Domain,
		Source: m.Source, Created: m.Created, Accessed: m.Accessed, Importance: m.Importance, HalfLife: m.HalfLife, Valence: m.Valence, Revision: m.Revision,
		Made: m.Merged > 0, Held: m.Pin || m.Path != "" || m.Expires != 0 || m.Namespace == oplog.Mem0Namespace || m.By != "" || v.InConflict(t.c.DB, m.RID), Entities: m.Entities})
}

// gatherSmall reads the tables that are small compared with the memories.
func (t *thinker) gatherSmall(v *state.View) {
	db, looked := t.c.DB, 0
	v.Conflicts(db, nil, func(c oplog.ConflictRow) bool {
		switch {
		case c.Status != oplog.ConflictOpen:
			t.snap.Resolved++
		case c.Priority == oplog.Critical && (t.snap.Critical == 0 || c.Detected < t.snap.Critical):
			t.snap.Critical = c.Detected
		}
		looked++
		return looked < maxLook
	})
	v.Patterns(db, func(p oplog.Pattern) bool {
		t.snap.Patterns = append(t.snap.Patterns, p)
		return len(t.snap.Patterns) < maxLook
	})
	v.Judgements(db, func(j oplog.Judgement) bool {
		t.snap.Judgements = append(t.snap.Judgements, j)
		return true // the table is bounded
	})
	v.SessionsOf(db, "default", func(x oplog.Session) bool {
		t.snap.LastEnd = max(t.snap.LastEnd, x.Ended)
		looked++
		return looked < 2*maxLook
	})
	for _, st := range []oplog.TriggerStatus{oplog.TriggerPending, oplog.TriggerDelivered} {
		v.Triggers(db, st, func(x oplog.TriggerRow) bool {
			if x.Expires <= t.snap.Now {
				t.op.Expired = append(t.op.Expired, x.ID)
			}
			return len(t.op.Expired) < maxList
		})
	}
}

// The tiers, from the shortest life to the longest.
const (
	TierWorking  = "working"
	TierEpisodic = "episodic"
	TierLongterm = "longterm"
)

var promotion = map[string]string{TierWorking: TierEpisodic, TierEpisodic: TierLongterm}

// tierPolicy applies the database's policies to a memory: one that is recalled often enough goes up a tier, one that is
// too old is forgotten.
func (t *thinker) tierPolicy(m *oplog.Memory) {
	up, ok := promotion[m.Tier]
	if !ok || m.Pin || len(t.op.Retier)+len(t.op.Outdated) >= oplog.MaxOps/10 {
		return
	}
	ttl := t.set.WorkingTTL
	if m.Tier == TierEpisodic {
		ttl = t.set.EpisodicTTL
	}
	switch {
	case t.set.PromoteAfter > 0 && m.Accesses >= t.set.PromoteAfter:
		t.op.Retier = append(t.op.Retier, oplog.Retier{RID: m.RID, From: m.Tier, To: up})
	case ttl > 0 && m.Created+ttl <= t.snap.Now:
		t.op.Outdated = append(t.op.Outdated, oplog.Grounds{RID: m.RID, Revision: m.Revision})
	}
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
