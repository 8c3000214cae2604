package engine

import (
	"cmp"
	"context"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine/thinking"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// digestLook is the number of newest memories from which a digest picks the most important.
const digestLook = 500

func (s *Service) digest(ctx context.Context, c api.Caller, q *api.DigestRequest) (*api.DigestAnswer, error) {
	a, ns := &api.DigestAnswer{}, orDefault(q.Namespace)
	r := c.Reach(ns)
	err := s.state.Read(func(v *state.View) error {
		newest, _ := state.Collect(digestLook, outlined(func(f func(*oplog.Memory) bool) { v.InNamespace(c.DB, ns, f) }), func(m *oplog.Memory) bool {
			return m.Status == oplog.Active && r.Has(m.Namespace) && !m.Unsearchable
		})
		a.Decisions = decisions(v, c, newest, q)
		a.Conflicts, _ = thinking.FindConflicts(v, c, &api.ConflictsRequest{Status: "open", Namespace: ns, Limit: max(q.MaxConflicts, 1)})
		a.Triggers = thinking.FindTriggers(v, c, "pending", api.TriggerFilter{Namespace: ns, Limit: max(q.MaxTriggers, 1)}).Triggers
		a.AllConflicts, a.AllTriggers, a.Thought = thinking.OpenConflicts(v, c.DB, r), thinking.PendingTriggers(v, c.DB, r), api.When(v.Mind(c.DB, "").LastThink)
		sessions, err := s.sessions(v, c, &api.SessionsRequest{Namespace: ns, Limit: 20})
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(sessions.Sessions, func(x api.Session) bool { return x.Summary != "" }); i >= 0 {
			a.Head = new(snippet(sessions.Sessions[i].Summary, q.SnippetChars))
		}
		return nil
	})
	if err != nil || !q.IncludeGaps {
		return a, err
	}
	gaps, err := s.gaps(ctx, c, &api.GapsRequest{Namespace: ns, MinCount: gapCount, MaxTop: gapTop, Limit: q.MaxGaps})
	if err != nil {
		return nil, err
	}
	a.Gaps = gaps.Gaps
	return a, nil
}

// decisions returns the most important of the newest memories.
func decisions(v *state.View, c api.Caller, newest []*oplog.Memory, q *api.DigestRequest) []api.Decision {
	slices.SortStableFunc(newest, func(a, b *oplog.Memory) int { return cmp.Compare(b.Importance, a.Importance) })
	list, _ := readFull(v, c.DB, newest[:min(len(newest), q.MaxDecisions)], c.Hold)
	return api.Each(list, func(m *oplog.Memory) api.Decision {
		return api.Decision{RID: m.RID, Snippet: snippet(m.Text, q.SnippetChars), Type: m.Type, Importance: m.Importance,
			Created: m.Created.Seconds()}
	})
}

// snippet returns the beginning of a text, cut between characters.
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
