package node

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A Trait is one line of a personality.
type Trait struct {
	Name  string
	Score float64
}

// Personality is what a database's memories make of their agent: four traits, by name.
func (s *Service) Personality(ctx context.Context, c Caller, f Freshness) (traits []Trait, err error) {
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		p := v.Personality(c.DB)
		traits = []Trait{{"attentiveness", p.Attentiveness}, {"depth", p.Depth}, {"energy", p.Energy}, {"warmth", p.Warmth}}
		return nil
	})
	return traits, err
}

// Patterns lists what THINK has seen, the most certain first; kind filters when it is set.
func (s *Service) Patterns(ctx context.Context, c Caller, kind string, n int, f Freshness) (rows []oplog.Pattern, err error) {
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		v.Patterns(c.DB, func(p oplog.Pattern) bool {
			if kind == "" || kind == p.Type {
				rows = append(rows, p)
			}
			return len(rows) < maxLook
		})
		return nil
	})
	slices.SortStableFunc(rows, func(a, b oplog.Pattern) int {
		return cmp.Or(cmp.Compare(b.Confidence, a.Confidence), cmp.Compare(b.Confirmed, a.Confirmed), cmp.Compare(a.Key, b.Key))
	})
	return rows[:min(len(rows), limit(n))], err
}

// maxJudgements bounds a word of feedback.
const maxJudgements = 1000

// Feedback keeps what a client says of recalled memories; THINK learns from it.
func (s *Service) Feedback(ctx context.Context, c Caller, judgements ...oplog.Judgement) (Written, error) {
	if len(judgements) > maxJudgements {
		return Written{}, oplog.Errorf(oplog.TooLarge, "%d judgements are over %d", len(judgements), maxJudgements)
	}
	for i := range judgements {
		j := &judgements[i]
		if j.Query == "" || j.RID == "" || len(j.Query) > maxNote || len(j.RID) > maxName {
			return Written{}, oplog.Errorf(oplog.Invalid, "feedback needs a query and a rid")
		}
		j.At = oplog.At(time.Now())
	}
	return s.write(ctx, c, write{scope: Write, ops: []oplog.Op{&oplog.Feedback{Judgements: judgements}}})
}
