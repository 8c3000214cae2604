package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// digestLook is how many of the newest memories a digest picks the weightiest from.
const digestLook = 500

func (s *Service) digest(ctx context.Context, c api.Caller, q *api.DigestRequest) (*api.DigestAnswer, error) {
	ns := blank(q.Namespace)
	a := &api.DigestAnswer{}
	var err error
	if a.Decisions, err = s.decisions(ctx, c, ns, q); err != nil {
		return nil, err
	}
	conflicts, err := s.findConflicts(ctx, c, &api.ConflictsRequest{Status: "open", Limit: max(q.MaxConflicts, 1)})
	if err != nil {
		return nil, err
	}
	triggers, err := s.findTriggers(ctx, c, "pending", api.TriggerFilter{Limit: max(q.MaxTriggers, 1)})
	if err != nil {
		return nil, err
	}
	sessions, err := s.sessions(ctx, c, &api.SessionsRequest{Namespace: ns, Limit: 20})
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(sessions.Sessions, func(x api.Session) bool { return x.Summary != "" }); i >= 0 {
		head := snippet(sessions.Sessions[i].Summary, q.SnippetChars)
		a.Head = &head
	}
	a.Conflicts, a.Triggers = conflictsOf(conflicts), triggersOf(triggers)
	if q.IncludeGaps {
		gaps, err := s.gaps(ctx, c, &api.GapsRequest{Namespace: q.Namespace, MinCount: gapCount, MaxTop: gapTop, Limit: q.MaxGaps})
		if err != nil {
			return nil, err
		}
		a.Gaps = gaps.Gaps
	}
	return a, s.state.Read(func(v *state.View) error {
		st := v.Stats(c.DB)
		a.AllConflicts, a.AllTriggers, a.Thought = st.OpenConflicts, st.PendingTriggers, when(v.Mind(c.DB).LastThink)
		return nil
	})
}

// decisions are the most important of the newest memories.
func (s *Service) decisions(ctx context.Context, c api.Caller, namespace string, q *api.DigestRequest) ([]api.Decision, error) {
	list, err := s.newest(ctx, c, namespace, digestLook)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *oplog.Memory) int { return cmp.Compare(b.Importance, a.Importance) })
	out := []api.Decision{}
	for _, m := range list[:min(len(list), q.MaxDecisions)] {
		out = append(out, api.Decision{RID: m.RID, Snippet: snippet(m.Text, q.SnippetChars), Type: m.Type, Importance: m.Importance, Created: m.Created.Seconds()})
	}
	return out, nil
}

// snippet is the beginning of a text, cut between characters.
func snippet(text string, chars int) string {
	n := 0
	for i := range text {
		if n == chars {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
