package mind

import (
	"math"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// DefaultWeights holds the weights of a database that has not learned any.
var DefaultWeights = oplog.Weights{Sim: .50, Decay: .20, Recency: .30, GateTau: .25, AlphaImp: .80, KeywordBoost: .31}

const (
	minJudgements = 20
	margin        = .05
	step          = .05  // relative step of a weight
	tauStep       = .005 // absolute step of GateTau
	maxChange     = .05  // greatest change of a weight in one generation
)

// judged is a row of feedback with the signals that recall would score.
type judged struct {
	query               string
	relevant            bool
	sim, decay, recency float64
	importance          float64
	keyword             bool
}

// Learn adjusts the weights so that relevant memories score above irrelevant ones. It returns nil if there is too
// little feedback or no improvement.
func Learn(s *Snapshot) *oplog.Weights {
	rows := s.judged()
	if len(rows) < minJudgements {
		return nil
	}
	w := s.Weights
	if w.Sim == 0 && w.Decay == 0 && w.Recency == 0 {
		w = DefaultWeights
	}
	start, best := w, loss(rows, w)
	before := best
	for range 20 {
		s.yieldAt(0)
		improved := false
		for i := range tunable(&w) {
			for _, sign := range []float64{1, -1} {
				next := w
				move := *tunable(&w)[i] * step
				if i == gate {
					move = tauStep
				}
				*tunable(&next)[i] += sign * move
				next = normalize(next)
				if !withinMaxChange(start, next) {
					continue
				}
				if l := loss(rows, next); l < best-1e-9 {
					w, best, improved = next, l, true
				}
			}
		}
		if !improved {
			break
		}
	}
	if best >= before-1e-9 {
		return nil
	}
	w.Generation = s.Weights.Generation + 1
	return &w
}

// tunable returns the weights that Learn adjusts; gate is the index of GateTau.
func tunable(w *oplog.Weights) [5]*float64 {
	return [5]*float64{&w.Sim, &w.Decay, &w.Recency, &w.AlphaImp, &w.GateTau}
}

const gate = 4

// normalize scales the three shares so that they sum to 1.
func normalize(w oplog.Weights) oplog.Weights {
	if sum := w.Sim + w.Decay + w.Recency; sum > 0 {
		w.Sim, w.Decay, w.Recency = w.Sim/sum, w.Decay/sum, w.Recency/sum
	}
	return w
}

func withinMaxChange(a, b oplog.Weights) bool {
	for i, x := range tunable(&a) {
		if math.Abs(*x-*tunable(&b)[i]) > maxChange {
			return false
		}
	}
	return b.GateTau >= 0
}

// loss returns the mean hinge loss over all pairs of a relevant and an irrelevant row of one query.
func loss(rows []judged, w oplog.Weights) float64 {
	scores := make([]float64, len(rows))
	for i := range rows {
		scores[i] = rows[i].score(w)
	}
	var sum float64
	n := 0
	for i := range rows {
		if !rows[i].relevant {
			continue
		}
		for j := range rows {
			if rows[j].relevant || rows[i].query != rows[j].query {
				continue
			}
			sum += max(0, margin-(scores[i]-scores[j]))
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return sum / float64(n)
}

func (r *judged) score(w oplog.Weights) float64 {
	base := w.Sim*r.sim + w.Decay*r.decay + w.Recency*r.recency
	gate := 1 / (1 + math.Exp(-12*(r.sim-w.GateTau)))
	s := base * (1 + gate*w.AlphaImp*min(r.importance, 1))
	if r.keyword {
		s += w.KeywordBoost * max(1-r.sim, .2)
	}
	return s
}

// MaxLearn bounds the judgements that Learn uses, because it compares pairs.
const MaxLearn = 400

// judged joins the feedback with the rows that still exist. Similarity is the Jaccard index of the words of the
// question and the memory.
func (s *Snapshot) judged() (out []judged) {
	for _, j := range s.Judgements {
		r := s.row(j.RID)
		if r == nil || len(out) == MaxLearn {
			continue
		}
		q, m := meaningOf(j.Query), meaningOf(r.Text)
		row := judged{query: j.Query, relevant: j.Relevant, sim: jaccard(q.words, m.words), decay: r.decay(s.Now),
			recency: math.Exp(-max(0, (s.Now-r.Created).Seconds()) / (7 * 86400)), importance: r.Importance}
		absent := notIn(m.words)
		row.keyword = slices.ContainsFunc(q.words, func(w string) bool { return len(w) > 3 && !absent(w) })
		out = append(out, row)
	}
	return out
}
