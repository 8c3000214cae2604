package rank

import (
	"math"

	"github.com/cairndb/cairn/index/exact"
)

// A score is the probability that its row answers the question. Rows are ordered by their composite first; what that
// order, the leads in it and the question's words say is turned into a probability by one logistic function, which
// was fitted on the development sets (DESIGN.md). Evidence is the share of the question's words that the row has,
// alone or with the exchange that it is part of, or how far its vector stands out.
const (
	anyRow        = -2.1 // log odds of a row without evidence
	byEvidence    = 1.0
	byFirst       = 1.2 // times the evidence, for the best row
	byLead        = 4.2 // times evidence and lead: the log of the best composite over the next one, 1 at most
	loneLead      = .4  // the lead of a row that is the only one
	byBehind      = 1.1 // times how far a row is behind the best: the log of their composites' ratio, -3 at least
	byBehindTimes = 3.2 // times that and the evidence
)

// probabilities sets the scores of rows in their order. No row has a higher one than those before it.
func (r *Ranker) probabilities(top []*entry, out []Scored) {
	if r.q.List || len(top) == 0 || top[0].score <= 0 {
		return
	}
	lead, previous := loneLead, 1.0
	if len(top) > 1 && top[1].score > 0 {
		lead = min(exact.Ln(top[0].score/top[1].score), 1)
	}
	for i, c := range top {
		evidence := r.evidence(c)
		logOdds := anyRow + float64(byEvidence*evidence)
		if c.score == top[0].score {
			logOdds += float64((byFirst + float64(byLead*lead)) * evidence)
		} else if c.score > 0 {
			behind := max(exact.Ln(c.score/top[0].score), -3)
			logOdds += float64((byBehind + float64(byBehindTimes*evidence)) * behind)
		}
		if previous = min(previous, exact.Round(1/(1+exact.Exp(-logOdds)))); c.score <= 0 {
			previous = 0 // nothing is left of its match
		}
		out[i].Score = previous
	}
}

// evidence returns how much of the question a row covers, 0 to 1.
func (r *Ranker) evidence(c *entry) float64 {
	words := 0.0
	if n := len(r.weight); n > 0 {
		words = c.covered / float64(n)
	}
	return min(max(words, c.outlier), 1)
}

// composite orders the rows of an answer.
func (p *Parts) composite() float64 {
	return float64(float64(p.Relevance*p.Fresh)*p.Importance) * p.Trust
}

// Shares split a score by what it comes from; they add up to it.
type Shares struct {
	Words, Passage, Around, Session float64 // own words, the exchange's, its neighbours' matches, its session's
	Vector, Graph                   float64
	Worth                           float64 // freshness, importance and trust
}

// Shares splits a score of these parts.
func (p *Parts) Shares(score float64) (s Shares) {
	worth := float64(p.Fresh*p.Importance) * p.Trust
	if p.Relevance <= 0 || worth <= 0 {
		return s
	}
	s.Worth = score * (1 - 1/worth)
	remaining := score - s.Worth
	if p.Graph > 0 {
		before := (p.Relevance - p.Graph) / (1 - p.Graph)
		s.Graph = remaining * (1 - before/p.Relevance)
		remaining -= s.Graph
	}
	x := (p.Words+p.Passage+p.Around+p.Session)*p.Factor + p.Lift
	if x <= 0 || math.IsNaN(x) {
		s.Vector = remaining
		return s
	}
	share := func(part float64) float64 { return remaining * part * p.Factor / x }
	s.Words, s.Passage, s.Around, s.Session = share(p.Words), share(p.Passage), share(p.Around), share(p.Session)
	s.Vector = remaining * p.Lift / x
	if p.Solo {
		s.Words, s.Passage = s.Words+s.Passage, 0
	}
	return s
}
