package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

func (s *Service) startSession(ctx context.Context, c api.Caller, q *api.StartSessionRequest) (*api.StartedSession, error) {
	op := &oplog.SessionStart{ID: cmp.Or(q.ID, oplog.NewID()), Namespace: orDefault(q.Namespace), Client: q.Client,
		Metadata: q.Metadata, At: oplog.At(s.now())}
	if err := oplog.CheckNames(op.Namespace, op.Client, op.ID); err != nil {
		return nil, err
	}
	w, err := s.write(ctx, c, op)
	if errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
		return nil, &api.Refusal{Code: "conflict", Err: err, More: map[string]any{"session_id": s.activeSession(c, op)}}
	}
	return &api.StartedSession{ID: op.ID, Index: w.Index}, err
}

// activeSession returns the active session that blocks a new one; nil when it has ended in the meantime.
func (s *Service) activeSession(c api.Caller, op *oplog.SessionStart) any {
	found, _ := state.Get(s.state, func(v *state.View) []oplog.Session { // a closing state knows none
		rows, _ := state.Collect(1, func(f func(oplog.Session) bool) { v.Sessions(c.DB, op.Namespace, op.Client, f) },
			func(x oplog.Session) bool { return x.Status == oplog.SessionActive })
		return rows
	})
	if len(found) == 0 {
		return nil
	}
	return found[0].ID
}

func (s *Service) endSession(ctx context.Context, c api.Caller, q *api.EndSessionRequest) (*api.EndedSession, error) {
	w, err := s.write(ctx, c, &oplog.SessionEnd{ID: q.ID, Summary: q.Summary, At: oplog.At(s.now())})
	if err != nil {
		return nil, err
	}
	x := w.First.Session
	topics, err := state.Get(s.state, func(v *state.View) []string { return topicsWithin(v, c, x.Topics) })
	return &api.EndedSession{ID: x.ID, Duration: (x.Ended - x.Started).Seconds(), Memories: x.Memories, Topics: topics,
		Index: w.Index}, err
}

// topicsWithin returns the topics of a session that a caller may see. Memories of other namespaces can name a session,
// so a bound token gets only names that memories within its reach have.
func topicsWithin(v *state.View, c api.Caller, topics []string) []string {
	return api.OrEmpty(slices.DeleteFunc(slices.Clone(topics),
		func(name string) bool { return !v.NamedWithin(c.DB, c.Spaces, name) }))
}

// sessions lists the newest first.
func (s *Service) sessions(v *state.View, c api.Caller, q *api.SessionsRequest) (*api.SessionList, error) {
	n, most := api.Limit(q.Limit), state.MaxScan
	walk := func(f func(oplog.Session) bool) { v.SessionsOf(c.DB, q.Namespace, f) } // client by client: sorted below
	switch {
	case q.Namespace == "":
		walk = func(f func(oplog.Session) bool) { v.AllSessions(c.DB, f) }
	case q.Client != nil:
		walk, most = func(f func(oplog.Session) bool) { v.Sessions(c.DB, q.Namespace, *q.Client, f) }, n
	}
	found, more := state.Collect(most, walk, func(x oplog.Session) bool {
		return c.Reach(q.Namespace).Has(x.Namespace) && (!q.Active || x.Status == oplog.SessionActive) &&
			(q.Client == nil || x.Client == *q.Client)
	})
	slices.SortStableFunc(found, func(a, b oplog.Session) int {
		return cmp.Or(cmp.Compare(b.Started, a.Started), cmp.Compare(a.ID, b.ID))
	})
	a := &api.SessionList{Bounded: api.Ended(n, more || len(found) > n, "name a namespace and a client")}
	if more && most > n || len(found) == state.MaxScan {
		a.Bounded = api.Cut(state.MaxScan, "sessions", "name a namespace and a client")
	}
	a.Sessions = api.Each(found[:min(len(found), n)], func(x oplog.Session) api.Session { return sessionOf(v, c, x) })
	a.Count = len(a.Sessions)
	return a, nil
}

var sessionStatuses = map[oplog.SessionStatus]string{oplog.SessionActive: "active", oplog.SessionEnded: "ended",
	oplog.SessionAbandoned: "abandoned", oplog.SessionImplicit: "implicit"}

func sessionOf(v *state.View, c api.Caller, x oplog.Session) api.Session {
	return api.Session{ID: x.ID, Namespace: x.Namespace, Client: x.Client, Started: x.Started.Seconds(),
		Ended: api.When(x.Ended), Status: sessionStatuses[x.Status],
		Summary: x.Summary, Memories: x.Memories, Topics: topicsWithin(v, c, x.Topics)}
}

// sessionHistory returns a session and its memories from a position on, in the order in which they were stored.
func (s *Service) sessionHistory(v *state.View, c api.Caller, q *api.SessionHistoryRequest) (*api.SessionAndMemories, error) {
	x, ok := v.Session(c.DB, q.ID)
	if !ok {
		return nil, oplog.ErrNoSession
	}
	a, n, offset := &api.SessionAndMemories{Session: sessionOf(v, c, x), List: []api.Memory{}}, api.Limit(max(q.Limit, 1)), q.Offset
	r := byteBudget{hold: c.Hold}
	v.SessionMemories(c.DB, q.ID, func(m *oplog.Memory) bool {
		switch {
		case m.Unlisted(), !c.Spaces.Has(m.Namespace):
		case offset > 0:
			offset--
		case len(a.List) == n, !r.reserve(m.Weight()):
			a.Next = new(q.Offset + len(a.List))
		default:
			a.List = append(a.List, memoryOf(m))
		}
		return a.Next == nil
	})
	return a, nil
}

// draftSummary returns a draft for each line of a summary, or for each sentence of a line.
func (s *Service) draftSummary(ctx context.Context, c api.Caller, q *api.DraftSummaryRequest) (*api.Drafted, error) {
	var drafts []api.Draft
	for _, text := range q.Statements() {
		drafts = append(drafts, api.Draft{Text: text, Type: "episodic", Importance: 0.5, HalfLife: api.DefaultHalfLife, Certainty: 1,
			Namespace: orDefault(q.Namespace), Domain: q.Domain, Source: "session_summary", Metadata: []byte("{}")})
	}
	r, err := s.store(ctx, c, "", drafts...)
	return &api.Drafted{RIDs: r.RIDs, Count: len(r.RIDs), Redacted: r.Redacted}, err
}
