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

// Config configures a Thinker. All fields are required.
type Config struct {
	Logger      *slog.Logger
	State       *state.State
	Index       *index.Index
	Rows        int  // memories that one round reads; larger databases are read in parts
	Consolidate bool // also merge duplicates in databases whose settings do not request it

	Now       func() time.Time   // the cluster's time
	Recalling func() bool        // reports whether recalls are running
	Leads     func() bool        // reports whether this node leads
	Indexed   func() oplog.Index // index up to which this node finds what was written

	// Databases returns a caller for the named database, or for all that the caller may know.
	Databases func(c api.Caller, name string) ([]api.Caller, error)
	// AskLeader returns the leader's answer once this node has applied the writes that it depends on.
	AskLeader func(ctx context.Context, c api.Caller, op *api.Op, request, answer any) error
	// ReadText extracts names and claims from a text.
	ReadText func(v *state.View, c api.Caller, text string) (version uint8, names []oplog.Mention, claims []oplog.Claim)
	// Write returns once this node finds what was written, with the result of the first operation. Compose returns
	// the operation that stores a memory; near is its vector if there is no embedder.
	Write   func(ctx context.Context, c api.Caller, ops ...oplog.Op) (at oplog.Index, results []oplog.Result, err error)
	Compose func(ctx context.Context, c api.Caller, d api.Draft, near oplog.Vector) (*oplog.Remember, error)
}

// A Thinker runs rounds of cognition and serves their results.
type Thinker struct {
	cfg       Config
	roundSlot chan struct{} // a semaphore: held while a round runs
}

// New returns the Thinker of a node. It runs no rounds by itself: the engine calls RunBackground for each database.
func New(cfg Config) *Thinker { return &Thinker{cfg: cfg, roundSlot: make(chan struct{}, 1)} }

// withDefaults returns the request with its defaults, within its bounds.
func withDefaults(r api.ThinkRequest) api.ThinkRequest {
	r.Limit = min(max(r.Limit, 0), maxLimit)
	r.Namespace = strings.TrimSpace(r.Namespace)
	r.Days = cmp.Or(r.Days, 7)
	r.MinActive = cmp.Or(r.MinActive, 10)
	r.MaxTriggers = min(cmp.Or(r.MaxTriggers, 10), api.MaxList)
	return r
}

// defaultConsolidation is the default number of memories that a round searches for duplicates.
const defaultConsolidation = 50

// Reflect runs a round with the answer that models get.
func (th *Thinker) Reflect(ctx context.Context, c api.Caller, q *api.ReflectRequest) (*api.Thought, error) {
	return th.Think(ctx, c,
		&api.ThinkRequest{ThinkParts: q.ThinkParts, Personality: q.Personality, Limit: defaultConsolidation, Namespace: c.Spaces.First()})
}

// Think reads the caller's database, or a part of a large one, derives decisions, and proposes them in one or more
// entries. Only the leader runs rounds, one at a time, on a snapshot that is read in slices. Writes and recalls go on
// meanwhile, and Apply drops decisions about memories that they changed. A node that loses leadership drops its
// round. The log records the position from which the next round continues.
func (th *Thinker) Think(ctx context.Context, c api.Caller, q *api.ThinkRequest) (*api.Thought, error) {
	started, request := time.Now(), withDefaults(*q)
	if !th.cfg.Leads() {
		return th.thinkOnLeader(ctx, c, &request)
	}
	select {
	case th.roundSlot <- struct{}{}:
		defer func() { <-th.roundSlot }()
	case <-ctx.Done():
		return nil, oplog.Errorf(oplog.Unavailable, "another round of cognition is under way; retry")
	}
	c.Forward = false // the leader that ran the round must write its decisions itself
	r := &round{th: th, c: c, q: request, deadline: time.Now().Add(maxRoundTime)}
	if request.MaxMillis > 0 {
		r.deadline = time.Now().Add(min(maxRoundTime, time.Duration(request.MaxMillis)*time.Millisecond))
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
	remaining, err := r.countUnread()
	if err != nil {
		return nil, err
	}
	if request.Progress {
		a.Read, a.Remaining = new(len(r.snap.Rows)), &remaining
	}
	th.cfg.Logger.Info("thought", "database", c.Database, "memories", len(r.snap.Rows), "left", remaining,
		"conflicts", a.Conflicts, "merged", a.Merged, "took", took)
	return a, nil
}

// thinkOnLeader requests a round from the leader in the caller's name, because a round is not an entry that could be
// forwarded. It returns once this node has applied the leader's decisions.
func (th *Thinker) thinkOnLeader(ctx context.Context, c api.Caller, q *api.ThinkRequest) (*api.Thought, error) {
	started, a := time.Now(), &api.Thought{}
	if err := th.cfg.AskLeader(ctx, c, api.Think.Op, q, a); err != nil {
		return nil, err
	}
	a.Millis, a.Index = time.Since(started).Milliseconds(), th.cfg.Indexed()
	return a, nil
}

// minActive is the number of active memories below which no background round runs.
const minActive = 10

// RunBackground runs background rounds of a database until all of its memories are read.
func (th *Thinker) RunBackground(ctx context.Context, c api.Caller) error {
	current, err := th.cfg.State.Current(c.DB)
	if err != nil {
		return err
	}
	set, err := state.Get(th.cfg.State, func(v *state.View) oplog.Settings { return v.Settings(c.DB) })
	if err != nil || set.QuietMind || current.Stats.Active < minActive {
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

// RunMaintenance runs a round for each database that a request selects, one after the other.
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

// MaintenanceStatus reports when each database was last thought about, and its open conflicts and triggers.
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

// How a round of cognition yields to recalls. It works for a slice and then pauses for pauseFactor times as long, so
// that it takes a fraction of one core while recalls run, and no recall waits long for it.
const (
	workSlice   = 3 * time.Millisecond
	pauseFactor = 2 // pause as a multiple of the work
	maxPause    = 20 * time.Millisecond
)

// yieldToReaders returns the function that a round calls every few rows. Within a slice it only reads the clock. If
// no recall is running, the round continues at once.
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
			_ = pause.For(ctx, min(pauseFactor*worked, maxPause))
		}
		began = time.Now()
	}
}
