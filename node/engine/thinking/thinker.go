package thinking

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// Config holds what thinking needs of the node around it. All fields are needed.
type Config struct {
	Logger      *slog.Logger
	State       *state.State
	Index       *index.Index
	Rows        int  // memories that one round reads; it goes through a database with more in parts
	Consolidate bool // merge duplicates too, in databases whose settings do not ask for it themselves

	Now       func() time.Time                                                               // as far as this node can know
	Recalling func() bool                                                                    // recalls are under way
	Leads     func() bool                                                                    // this node does
	Indexed   func() oplog.Index                                                             // as far as this node finds what was written
	Databases func(c api.Caller, name string) ([]api.Caller, error)                          // the one of a name, or all that a caller sees
	AskLeader func(ctx context.Context, c api.Caller, op *api.Op, request, answer any) error // returns when this node has applied what followed
	ReadText  func(v *state.View, c api.Caller, text string) (version uint8, names []oplog.Mention, claims []oplog.Claim)

	// Write returns when this node finds what was written, with the result of the first operation. Compose makes the
	// operation that stores a memory; near is its vector where no embedder will make one.
	Write   func(ctx context.Context, c api.Caller, ops ...oplog.Op) (at oplog.Index, first oplog.Result, err error)
	Compose func(ctx context.Context, c api.Caller, d api.Draft, near oplog.Vector) (*oplog.Remember, error)
}

// Thinker thinks about the databases of a node, and answers what came of it.
type Thinker struct {
	cfg  Config
	busy chan struct{} // holds a token while a round is under way
}

// New returns the Thinker of a node. It does nothing by itself: the engine calls RunBackground for each database.
func New(cfg Config) *Thinker { return &Thinker{cfg: cfg, busy: make(chan struct{}, 1)} }

// withDefaults is the request with its defaults, within its bounds.
func withDefaults(r api.ThinkRequest) api.ThinkRequest {
	r.Limit = min(max(r.Limit, 0), maxLimit)
	r.Namespace = strings.TrimSpace(r.Namespace)
	r.Days = cmp.Or(r.Days, 7)
	r.MinActive = cmp.Or(r.MinActive, 10)
	r.MaxTriggers = min(cmp.Or(r.MaxTriggers, 10), api.MaxList)
	return r
}

// defaultConsolidation is for how many memories a round looks for duplicates when its caller does not say.
const defaultConsolidation = 50

// Reflect runs a round with the answer that models get.
func (th *Thinker) Reflect(ctx context.Context, c api.Caller, q *api.ReflectRequest) (*api.Thought, error) {
	return th.Think(ctx, c,
		&api.ThinkRequest{ThinkParts: q.ThinkParts, Personality: q.Personality, Limit: defaultConsolidation, Namespace: c.Spaces.First()})
}

// Think reads the caller's database, or a part of one that is large, decides what follows, and proposes that in one
// entry, or in several. It runs on the leader alone, one round at a time, on a snapshot read in slices: writes and
// recalls go on meanwhile, and Apply drops a decision about a memory that they have changed. A node that loses
// leadership drops its round; the log says where the next leader's goes on.
func (th *Thinker) Think(ctx context.Context, c api.Caller, q *api.ThinkRequest) (*api.Thought, error) {
	started, asked := time.Now(), withDefaults(*q)
	if !th.cfg.Leads() {
		return th.thinkOnLeader(ctx, c, &asked)
	}
	select {
	case th.busy <- struct{}{}:
		defer func() { <-th.busy }()
	case <-ctx.Done():
		return nil, oplog.Errorf(oplog.Unavailable, "another round of cognition is under way; retry")
	}
	c.Forward = false // a round belongs to the leader that thought it
	r := &round{th: th, c: c, q: asked, until: time.Now().Add(longestRound)}
	if asked.MaxMillis > 0 {
		r.until = time.Now().Add(min(longestRound, time.Duration(asked.MaxMillis)*time.Millisecond))
	}
	if err := r.gather(ctx); err != nil {
		return nil, err
	}
	if err := r.decide(ctx); err != nil {
		return nil, err
	}
	a, err := r.propose(ctx)
	if err != nil {
		return nil, err
	}
	took := time.Since(started)
	a.Millis = took.Milliseconds()
	left, err := r.countUnread()
	if err != nil {
		return nil, err
	}
	if asked.Progress {
		a.Read, a.Remaining = new(len(r.snap.Rows)), &left
	}
	th.cfg.Logger.Info("thought", "database", c.Database, "memories", len(r.snap.Rows), "left", left,
		"conflicts", a.Conflicts, "merged", a.Merged, "took", took)
	return a, nil
}

// thinkOnLeader asks the leader for a round in the caller's name: a round is not an entry that could be forwarded.
// The answer comes when this node has what the leader decided.
func (th *Thinker) thinkOnLeader(ctx context.Context, c api.Caller, q *api.ThinkRequest) (*api.Thought, error) {
	started, a := time.Now(), &api.Thought{}
	if err := th.cfg.AskLeader(ctx, c, api.Think.Op, q, a); err != nil {
		return nil, err
	}
	a.Millis, a.Index = time.Since(started).Milliseconds(), th.cfg.Indexed()
	return a, nil
}

// minThink is the number of active memories below which no round runs by itself.
const minThink = 10

// RunBackground runs rounds of a database without a request, until all of its memories are read.
func (th *Thinker) RunBackground(ctx context.Context, c api.Caller) error {
	now, err := th.cfg.State.Current(c.DB)
	if err != nil {
		return err
	}
	set, err := state.Get(th.cfg.State, func(v *state.View) oplog.Settings { return v.Settings(c.DB) })
	if err != nil || set.QuietMind || now.Stats.Active < minThink {
		return err
	}
	for more := true; more; {
		a, err := th.Think(ctx, c,
			&api.ThinkRequest{ThinkParts: api.ThinkParts{Conflicts: true, Consolidate: set.Consolidate || th.cfg.Consolidate},
				Limit: 1000, Progress: true})
		if err != nil {
			return err
		}
		more = *a.Remaining > 0 && th.cfg.Leads()
	}
	return nil
}

// RunMaintenance makes a round of each database that a request means, one after the other.
func (th *Thinker) RunMaintenance(ctx context.Context, c api.Caller, q *api.RunMaintenanceRequest) (*api.MaintenanceRun, error) {
	all, err := th.cfg.Databases(c, q.Tenant)
	if err != nil {
		return nil, err
	}
	r := &api.MaintenanceRun{Tenants: []api.Maintained{}, Count: len(all)}
	for _, in := range all {
		a, err := th.Think(ctx, in,
			&api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true, Patterns: true},
				Personality: true, Limit: defaultConsolidation})
		if err != nil {
			return nil, err
		}
		r.Tenants = append(r.Tenants, api.Maintained{Tenant: in.Database, Thought: *a})
	}
	return r, nil
}

// MaintenanceStatus says when each of them was thought about last, and what waits in it.
func (th *Thinker) MaintenanceStatus(_ context.Context, c api.Caller, q *api.MaintenanceStatusRequest) (*api.UpkeepList, error) {
	all, err := th.cfg.Databases(c, q.Tenant)
	if err != nil {
		return nil, err
	}
	list := &api.UpkeepList{Count: len(all)}
	return list, th.cfg.State.Read(func(v *state.View) error {
		list.Tenants = api.Each(all, func(in api.Caller) api.Upkeep {
			st := v.Stats(in.DB)
			return api.Upkeep{Tenant: in.Database, Thought: api.When(v.Mind(in.DB, "").LastThink), Active: st.Active,
				Conflicts: st.OpenConflicts, Triggers: st.PendingTriggers}
		})
		return nil
	})
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
func (th *Thinker) yieldToReaders(ctx context.Context) func() {
	began := time.Now()
	return func() {
		worked := time.Since(began)
		if worked < workSlice {
			return
		}
		if !th.cfg.Recalling() {
			runtime.Gosched()
		} else {
			_ = pause.For(ctx, min(restShare*worked, longestRest))
		}
		began = time.Now()
	}
}
