package engine

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

func (s *Service) triggers(v *state.View, c api.Caller, q *api.TriggersRequest) (*api.TriggerList, error) {
	return triggerList(findTriggers(v, c, q.Status, q.TriggerFilter)), nil
}

func (s *Service) triggerHistory(v *state.View, c api.Caller, q *api.TriggerHistoryRequest) (*api.TriggerList, error) {
	return triggerList(findTriggers(v, c, q.Status, q.TriggerFilter)), nil
}

func triggerList(rows []oplog.TriggerRow) *api.TriggerList {
	return &api.TriggerList{Triggers: api.Each(rows, triggerOf), Count: len(rows)}
}

func triggerOf(t oplog.TriggerRow) api.Trigger {
	return api.Trigger{ID: t.ID, Type: t.Type, Urgency: t.Urgency, Status: t.Status.String(), Reason: t.Reason, Action: t.Action, Sources: api.OrEmpty(t.Sources),
		Entity: api.OrNil(t.Entity), Created: t.Created.Seconds(), Expires: api.When(t.Expires)}
}

// findTriggers finds triggers of a status, or of all, the newest first within each.
func findTriggers(v *state.View, c api.Caller, status string, f api.TriggerFilter) (rows []oplog.TriggerRow) {
	n := api.Limit(f.Limit)
	for st := oplog.TriggerPending; st <= oplog.TriggerExpired && len(rows) < n; st++ {
		if status == "all" || status == st.String() {
			rows = append(rows, state.Pick(n-len(rows), func(look func(oplog.TriggerRow) bool) { v.Triggers(c.DB, st, look) },
				func(t oplog.TriggerRow) bool {
					return (f.Type == "" || f.Type == t.Type) && v.Within(c.DB, c.Reach(f.Namespace), t.Sources)
				})...)
		}
	}
	return rows
}

// deliverTriggers hands over pending triggers and marks them as delivered, in one entry.
func (s *Service) deliverTriggers(ctx context.Context, c api.Caller, q *api.DeliverTriggersRequest) (*api.TriggerList, error) {
	rows, err := read(s, func(v *state.View) []oplog.TriggerRow {
		return findTriggers(v, c, oplog.TriggerPending.String(), api.TriggerFilter{Namespace: q.Namespace, Limit: q.Limit})
	})
	if err != nil || len(rows) == 0 {
		return triggerList(nil), err
	}
	var ops []oplog.Op
	for i := range rows {
		rows[i].Status = oplog.TriggerDelivered
		ops = append(ops, &oplog.TriggerMove{ID: rows[i].ID, To: oplog.TriggerDelivered, At: oplog.At(time.Now())})
	}
	_, err = s.write(ctx, c, ops...)
	return triggerList(rows), err
}

// triggerVerbs lists the actions on a trigger.
var triggerVerbs = map[string]oplog.TriggerStatus{"acknowledge": oplog.TriggerAcknowledged, "act": oplog.TriggerActed, "dismiss": oplog.TriggerDismissed}

func (s *Service) moveTrigger(ctx context.Context, c api.Caller, q *api.MoveTriggerRequest) (*api.MovedTrigger, error) {
	to, ok := triggerVerbs[q.Verb]
	if !ok {
		return nil, &api.Refusal{Code: "not_found", Err: oplog.Errorf(oplog.NotFound, "unknown verb: want acknowledge, act or dismiss")}
	}
	w, err := s.write(ctx, c, &oplog.TriggerMove{ID: q.ID, To: to, At: oplog.At(time.Now())})
	return &api.MovedTrigger{ID: q.ID, Status: to.String(), Changed: w.First.Changed, Index: field.Token(w.Index)}, err
}

// pruneTriggers expires pending triggers. It is decided again when one of them was moved meanwhile.
func (s *Service) pruneTriggers(ctx context.Context, c api.Caller, q *api.PruneTriggersRequest) (a *api.PrunedTriggers, err error) {
	for range matchTries {
		var ops []oplog.Op
		if err := s.state.Read(func(v *state.View) error { a, ops = prunable(v, c.DB, q, oplog.At(s.now())); return nil }); err != nil {
			return nil, err
		}
		if a.Index = field.Token(s.commit.Indexed()); q.DryRun || len(ops) == 0 {
			return a, nil
		}
		w, err := s.write(ctx, c, ops...)
		if errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) || errors.Is(err, oplog.ErrNoTrigger) {
			continue
		}
		a.Index = field.Token(w.Index)
		return a, err
	}
	return nil, oplog.Errorf(oplog.Unavailable, "triggers change all the time; retry")
}

// prunable returns what expires the pending triggers that are over or too many.
func prunable(v *state.View, db oplog.DB, q *api.PruneTriggersRequest, now oplog.Time) (a *api.PrunedTriggers, ops []oplog.Op) {
	rows := state.Pick(state.MaxLook, func(f func(oplog.TriggerRow) bool) { v.Triggers(db, oplog.TriggerPending, f) }, func(oplog.TriggerRow) bool { return true })
	a = &api.PrunedTriggers{DryRun: q.DryRun, Before: len(rows)}
	over := func(t oplog.TriggerRow) bool { return t.Expires != 0 && t.Expires <= now }
	slices.SortStableFunc(rows, func(a, b oplog.TriggerRow) int { // the newest first among those that are as urgent
		if over(a) != over(b) {
			return cmp.Compare(b.Expires, a.Expires)
		}
		return cmp.Compare(b.Urgency, a.Urgency)
	})
	for i := len(rows) - 1; i >= 0 && len(ops) < api.MaxList && (over(rows[i]) || i >= q.MaxPending); i-- {
		if over(rows[i]) {
			a.Overdue++
		} else {
			a.Excess++
		}
		ops = append(ops, &oplog.TriggerMove{ID: rows[i].ID, To: oplog.TriggerExpired, At: now})
	}
	a.After = a.Before - len(ops)
	return a, ops
}

func (s *Service) categories(context.Context, api.Caller, *api.CategoriesRequest) (*api.CategoryList, error) {
	list, all := &api.CategoryList{}, mind.Categories()
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list.Categories = append(list.Categories, api.Category{Name: name, Members: len(all[name])})
	}
	list.Count = len(list.Categories)
	return list, nil
}

func (s *Service) categoryMembers(_ context.Context, _ api.Caller, q *api.CategoryMembersRequest) (*api.CategoryWords, error) {
	words, ok := mind.Categories()[q.Name]
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "no such category: GET /v1/categories lists them")
	}
	return &api.CategoryWords{Name: q.Name, Count: len(words), Members: api.Each(words, func(w string) api.CategoryWord { return api.CategoryWord{Word: w, Confidence: 1, Source: "seed"} })}, nil
}

// personality is four traits, by name.
func (s *Service) personality(v *state.View, c api.Caller, q *api.PersonalityRequest) (*api.TraitList, error) {
	p := v.Personality(c.DB)
	if r := c.Reach(q.Namespace); !r.All() {
		p = s.personalityOf(v, c.DB, r)
	}
	return &api.TraitList{Traits: []api.Trait{{Name: "attentiveness", Score: p.Attentiveness}, {Name: "depth", Score: p.Depth}, {Name: "energy", Score: p.Energy},
		{Name: "warmth", Score: p.Warmth}}}, nil
}

// patterns lists those that rounds of cognition have found, the most certain first.
func (s *Service) patterns(v *state.View, c api.Caller, q *api.PatternsRequest) (*api.PatternList, error) {
	rows := state.Pick(state.MaxLook, func(f func(oplog.Pattern) bool) { v.Patterns(c.DB, f) }, func(p oplog.Pattern) bool {
		return (q.Type == "" || q.Type == p.Type) && v.Within(c.DB, c.Reach(q.Namespace), p.Sources)
	})
	slices.SortStableFunc(rows, func(a, b oplog.Pattern) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(b.Confirmed, a.Confirmed), cmp.Compare(a.Key, b.Key))
	})
	return &api.PatternList{Patterns: api.Each(rows[:min(len(rows), api.Limit(q.Limit))], func(p oplog.Pattern) api.Pattern {
		return api.Pattern{Type: p.Type, Description: p.Description, Confidence: p.Confidence, Sources: api.OrEmpty(p.Sources), Entities: api.OrEmpty(p.Entities),
			First: p.First.Seconds(), Confirmed: p.Confirmed.Seconds(), Seen: p.Seen}
	})}, nil
}

// feedback keeps what a client says of a recalled memory; rounds of cognition learn from it.
func (s *Service) feedback(ctx context.Context, c api.Caller, q *api.FeedbackRequest) (*api.Heeded, error) {
	if q.Query == "" || q.RID == "" || len(q.Query) > maxNote || len(q.RID) > maxName {
		return nil, oplog.Errorf(oplog.Invalid, "feedback needs a query of up to %d bytes and a rid", maxNote)
	}
	j := oplog.Judgement{Query: q.Query, RID: q.RID, Relevant: q.Relevant, Score: q.Score, Rank: min(q.Rank, api.MaxList), At: oplog.At(time.Now())}
	w, err := s.write(ctx, c, &oplog.Feedback{Judgements: []oplog.Judgement{j}})
	return &api.Heeded{Accepted: 1, Index: field.Token(w.Index)}, err
}
