package engine

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// personality is four traits, by name.
func (s *Service) personality(ctx context.Context, c api.Caller, _ *api.PersonalityRequest) (*api.TraitList, error) {
	a := &api.TraitList{}
	return a, s.state.Read(func(v *state.View) error {
		p := v.Personality(c.DB)
		a.Traits = []api.Trait{{Name: "attentiveness", Score: p.Attentiveness}, {Name: "depth", Score: p.Depth}, {Name: "energy", Score: p.Energy}, {Name: "warmth", Score: p.Warmth}}
		return nil
	})
}

// patterns lists those that rounds of cognition have found, the most certain first.
func (s *Service) patterns(ctx context.Context, c api.Caller, q *api.PatternsRequest) (*api.PatternList, error) {
	var rows []oplog.Pattern
	err := s.state.Read(func(v *state.View) error {
		v.Patterns(c.DB, func(p oplog.Pattern) bool {
			if q.Type == "" || q.Type == p.Type {
				rows = append(rows, p)
			}
			return len(rows) < maxLook
		})
		return nil
	})
	slices.SortStableFunc(rows, func(a, b oplog.Pattern) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(b.Confirmed, a.Confirmed), cmp.Compare(a.Key, b.Key))
	})
	a := &api.PatternList{Patterns: []api.Pattern{}}
	for _, p := range rows[:min(len(rows), limit(q.Limit))] {
		a.Patterns = append(a.Patterns, api.Pattern{Type: p.Type, Description: p.Description, Confidence: p.Confidence, Sources: orEmpty(p.Sources), Entities: orEmpty(p.Entities),
			First: p.First.Seconds(), Confirmed: p.Confirmed.Seconds(), Seen: p.Seen})
	}
	return a, err
}

// feedback keeps what a client says of a recalled memory; rounds of cognition learn from it.
func (s *Service) feedback(ctx context.Context, c api.Caller, q *api.FeedbackRequest) (*api.Heeded, error) {
	if q.Query == "" || q.RID == "" || len(q.Query) > maxNote || len(q.RID) > maxName {
		return nil, oplog.Errorf(oplog.Invalid, "feedback needs a query of up to %d bytes and a rid", maxNote)
	}
	j := oplog.Judgement{Query: q.Query, RID: q.RID, Relevant: q.Relevant, Score: q.Score, Rank: min(q.Rank, maxList), At: oplog.At(time.Now())}
	w, err := s.write(ctx, c, write{ops: []oplog.Op{&oplog.Feedback{Judgements: []oplog.Judgement{j}}}})
	if err != nil {
		return nil, err
	}
	return &api.Heeded{Accepted: 1, Index: w.Index}, nil
}
