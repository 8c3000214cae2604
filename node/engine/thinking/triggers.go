package thinking

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// Triggers lists suggestions for agents.
func (th *Thinker) Triggers(v *state.View, c api.Caller, q *api.TriggersRequest) (*api.TriggerList, error) {
	return FindTriggers(v, c, q.Status, q.TriggerFilter), nil
}

// TriggerHistory lists triggers of any status.
func (th *Thinker) TriggerHistory(v *state.View, c api.Caller, q *api.TriggerHistoryRequest) (*api.TriggerList, error) {
	return FindTriggers(v, c, q.Status, q.TriggerFilter), nil
}

var triggerOf = api.Made[oplog.TriggerRow, api.Trigger]()

// FindTriggers returns triggers of a status, or of all, the newest first within each.
func FindTriggers(v *state.View, c api.Caller, status string, f api.TriggerFilter) *api.TriggerList {
	n, rows, more, truncated := api.Limit(f.Limit), []oplog.TriggerRow(nil), false, false
	for st := oplog.TriggerPending; st <= oplog.TriggerExpired; st++ {
		if status == "all" || status == st.String() {
			found, hasMore := state.Collect(n-len(rows), func(yield func(oplog.TriggerRow) bool) { v.Triggers(c.DB, st, yield) },
				func(t oplog.TriggerRow) bool {
					return (f.Type == "" || f.Type == t.Type) && v.Within(c.DB, c.Reach(f.Namespace), t.Sources)
				})
			rows = append(rows, found...)
			more, truncated = more || hasMore, truncated || hasMore && len(rows) < n
		}
	}
	a := &api.TriggerList{Triggers: api.Each(rows, triggerOf), Count: len(rows), Bounded: api.Ended(len(rows), more, "name a status and a type")}
	if truncated {
		a.Bounded = api.Cut(state.MaxScan, "triggers of a status, the newest,", "prune the pending ones")
	}
	return a
}

// PendingTriggers counts the undelivered triggers within reach.
func PendingTriggers(v *state.View, db oplog.DB, r oplog.Reach) uint64 {
	return uint64(state.CountMatching(func(f func(oplog.TriggerRow) bool) { v.Triggers(db, oplog.TriggerPending, f) },
		func(t oplog.TriggerRow) bool { return v.Within(db, r, t.Sources) }))
}

// maxTriggerAttempts bounds the attempts to change several triggers at once.
const maxTriggerAttempts = 5

// movedConcurrently reports whether a change of several triggers failed because another client moved one of them in
// between, so that it must be decided again.
func movedConcurrently(err error) bool {
	return errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) || errors.Is(err, oplog.ErrNoTrigger)
}

var errTriggersMove = oplog.Errorf(oplog.Unavailable, "triggers change all the time; retry")

// DeliverTriggers returns pending triggers and marks them as delivered, in one entry. It returns only those that this
// entry has moved: another client may have received the others in between.
func (th *Thinker) DeliverTriggers(ctx context.Context, c api.Caller, q *api.DeliverTriggersRequest) (*api.TriggerList, error) {
	for range maxTriggerAttempts {
		a, err := state.Get(th.cfg.State, func(v *state.View) *api.TriggerList {
			return FindTriggers(v, c, oplog.TriggerPending.String(), api.TriggerFilter{Namespace: q.Namespace, Limit: q.Limit})
		})
		if err != nil || len(a.Triggers) == 0 {
			return a, err
		}
		var ops []oplog.Op
		rows := a.Triggers
		for i := range rows {
			rows[i].Status = oplog.TriggerDelivered.String()
			ops = append(ops, &oplog.TriggerMove{ID: rows[i].ID, To: oplog.TriggerDelivered, At: oplog.At(th.cfg.Now())})
		}
		_, results, err := th.cfg.Write(ctx, c, ops...)
		if movedConcurrently(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		mine := a.Triggers[:0]
		for i, r := range results {
			if r.Changed {
				mine = append(mine, rows[i])
			}
		}
		if a.Triggers, a.Count = mine, len(mine); len(mine) > 0 {
			return a, nil
		}
	}
	return nil, errTriggersMove
}

// triggerVerbs lists the actions on a trigger.
var triggerVerbs = map[string]oplog.TriggerStatus{"acknowledge": oplog.TriggerAcknowledged, "act": oplog.TriggerActed,
	"dismiss": oplog.TriggerDismissed}

// MoveTrigger records the outcome of a trigger.
func (th *Thinker) MoveTrigger(ctx context.Context, c api.Caller, q *api.MoveTriggerRequest) (*api.MovedTrigger, error) {
	to, ok := triggerVerbs[q.Verb]
	if !ok {
		return nil, &api.Refusal{Code: "not_found", Err: oplog.Errorf(oplog.NotFound, "unknown verb: want acknowledge, act or dismiss")}
	}
	at, results, err := th.cfg.Write(ctx, c, &oplog.TriggerMove{ID: q.ID, To: to, At: oplog.At(th.cfg.Now())})
	if err != nil {
		return nil, err
	}
	return &api.MovedTrigger{ID: q.ID, Status: to.String(), Changed: results[0].Changed, Index: field.Token(at)}, nil
}

// PruneTriggers expires pending triggers. If another client moves one of them in between, it decides again.
func (th *Thinker) PruneTriggers(ctx context.Context, c api.Caller, q *api.PruneTriggersRequest) (a *api.PrunedTriggers, err error) {
	for range maxTriggerAttempts {
		var ops []oplog.Op
		if err := th.cfg.State.Inspect(func(v *state.View) { a, ops = pruneOps(v, c.DB, q, oplog.At(th.cfg.Now())) }); err != nil {
			return nil, err
		}
		if a.Index = field.Token(th.cfg.Indexed()); q.DryRun || len(ops) == 0 {
			return a, nil
		}
		at, _, err := th.cfg.Write(ctx, c, ops...)
		if movedConcurrently(err) {
			continue
		}
		a.Index = field.Token(at)
		return a, err
	}
	return nil, errTriggersMove
}

// pruneOps returns the operations that expire pending triggers: those past their expiry, and the least urgent ones over
// the limit.
func pruneOps(v *state.View, db oplog.DB, q *api.PruneTriggersRequest, now oplog.Time) (a *api.PrunedTriggers, ops []oplog.Op) {
	rows, _ := state.Collect(state.MaxScan, func(f func(oplog.TriggerRow) bool) { v.Triggers(db, oplog.TriggerPending, f) },
		func(oplog.TriggerRow) bool { return true })
	a = &api.PrunedTriggers{DryRun: q.DryRun, Before: len(rows)}
	expired := func(t oplog.TriggerRow) bool { return t.Expires != 0 && t.Expires <= now }
	slices.SortStableFunc(rows, func(a, b oplog.TriggerRow) int { // triggers of equal urgency stay newest first
		if expired(a) != expired(b) {
			return cmp.Compare(b.Expires, a.Expires)
		}
		return cmp.Compare(b.Urgency, a.Urgency)
	})
	for i := len(rows) - 1; i >= 0 && len(ops) < api.MaxList && (expired(rows[i]) || i >= q.MaxPending); i-- {
		if expired(rows[i]) {
			a.Overdue++
		} else {
			a.Excess++
		}
		ops = append(ops, &oplog.TriggerMove{ID: rows[i].ID, To: oplog.TriggerExpired, At: now})
	}
	a.After = a.Before - len(ops)
	return a, ops
}

// Categories lists the categories. A word that often occurs in the same places as the words of a category raises a
// trigger.
func (th *Thinker) Categories(context.Context, api.Caller, *api.CategoriesRequest) (*api.CategoryList, error) {
	list, all := &api.CategoryList{}, mind.Categories()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list.Categories = append(list.Categories, api.Category{Name: name, Members: len(all[name])})
	}
	list.Count = len(list.Categories)
	return list, nil
}

// CategoryMembers returns the words of a category.
func (th *Thinker) CategoryMembers(_ context.Context, _ api.Caller, q *api.CategoryMembersRequest) (*api.CategoryWords, error) {
	words, ok := mind.Categories()[q.Name]
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "no such category %q: want one of %s",
			q.Name, strings.Join(slices.Sorted(maps.Keys(mind.Categories())), ", "))
	}
	return &api.CategoryWords{Name: q.Name, Count: len(words),
		Members: api.Each(words, func(w string) api.CategoryWord { return api.CategoryWord{Word: w, Confidence: 1, Source: "seed"} })}, nil
}

// Personality returns the four traits, sorted by name.
func (th *Thinker) Personality(v *state.View, c api.Caller, q *api.PersonalityRequest) (*api.TraitList, error) {
	p := v.Personality(c.DB)
	if r := c.Reach(q.Namespace); !r.All() {
		p = th.personalityOf(v, c.DB, r)
	}
	return &api.TraitList{Traits: []api.Trait{{Name: "attentiveness", Score: p.Attentiveness},
		{Name: "depth", Score: p.Depth}, {Name: "energy", Score: p.Energy},
		{Name: "warmth", Score: p.Warmth}}}, nil
}

// traitRows bounds the memories that traits are computed from.
const traitRows = 1000

// personalityOf computes the traits of the newest memories within reach.
func (th *Thinker) personalityOf(v *state.View, db oplog.DB, r oplog.Reach) oplog.Personality {
	snap := mind.Snapshot{Now: oplog.At(th.cfg.Now())}
	names := map[string]bool{}
	v.NewestWithin(db, r, traitRows, func(m *oplog.Memory) {
		snap.Rows = append(snap.Rows, mind.Row{RID: m.RID, Domain: m.Domain, Created: m.Created, Valence: m.Valence})
		for _, name := range m.Entities {
			names[name] = true
		}
	})
	slices.Reverse(snap.Rows)
	if r.Name == "" { // the rows are ordered by namespace
		slices.SortStableFunc(snap.Rows, func(a, b mind.Row) int { return cmp.Compare(a.Created, b.Created) })
	}
	v.Patterns(db, func(p oplog.Pattern) bool {
		if v.Within(db, r, p.Sources) {
			snap.Patterns = append(snap.Patterns, p)
		}
		return len(snap.Patterns) < state.MaxScan
	})
	snap.Stats.Entities, snap.Stats.OpenConflicts = uint64(len(names)), OpenConflicts(v, db, r)
	snap.Resolved = v.ConflictsWithin(db, r, oplog.ConflictResolved, oplog.ConflictDismissed)
	return *mind.Traits(&snap)
}

var patternOf = api.Made[oplog.Pattern, api.Pattern]()

// Patterns lists the patterns that rounds have found, the most certain first.
func (th *Thinker) Patterns(v *state.View, c api.Caller, q *api.PatternsRequest) (*api.PatternList, error) {
	rows, cut := state.Collect(state.MaxScan, func(f func(oplog.Pattern) bool) { v.Patterns(c.DB, f) }, func(p oplog.Pattern) bool {
		return (q.Type == "" || q.Type == p.Type) && v.Within(c.DB, c.Reach(q.Namespace), p.Sources)
	})
	slices.SortStableFunc(rows, func(a, b oplog.Pattern) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(b.Confirmed, a.Confirmed), cmp.Compare(a.Key, b.Key))
	})
	n := min(len(rows), api.Limit(q.Limit))
	a := &api.PatternList{Bounded: api.Ended(n, len(rows) > n, "name a type")}
	if cut {
		a.Bounded = api.Cut(state.MaxScan, "patterns", "the others are in no list")
	}
	a.Patterns = api.Each(rows[:n], patternOf)
	return a, nil
}

// Feedback stores a client's judgement of a recalled memory. Rounds of cognition learn from it.
func (th *Thinker) Feedback(ctx context.Context, c api.Caller, q *api.FeedbackRequest) (*api.Heeded, error) {
	if q.Query == "" || q.RID == "" || len(q.Query) > maxNote || len(q.RID) > oplog.MaxName {
		return nil, oplog.Errorf(oplog.Invalid, "feedback needs a query of up to %d bytes and a rid", maxNote)
	}
	j := oplog.Judgement{Query: q.Query, RID: q.RID, Relevant: q.Relevant, Score: q.Score, Rank: min(q.Rank, api.MaxList),
		At: oplog.At(th.cfg.Now())}
	at, _, err := th.cfg.Write(ctx, c, &oplog.Feedback{Judgements: []oplog.Judgement{j}})
	return &api.Heeded{Accepted: 1, Index: field.Token(at)}, err
}
