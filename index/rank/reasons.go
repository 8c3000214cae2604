package rank

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index/exact"
)

// A movedBy says which properties of the memory itself moved its row up in the answer.
type movedBy struct{ recent, important bool }

// movedUp finds for each row the properties without which it would be lower in the answer.
func (r *Ranker) movedUp(top []*entry, out []Scored) []movedBy {
	moved := make([]movedBy, len(out))
	w, bound := r.set.Weights, r.set.Freshness
	for _, property := range []struct {
		without func(p *Parts) float64
		set     func(l *movedBy)
	}{
		{func(p *Parts) float64 { return float64(w.freshness(p.Decay, 0, bound)*p.Importance) * p.Trust },
			func(l *movedBy) { l.recent = true }},
		{func(p *Parts) float64 { return w.freshness(0, p.Recency, bound) * p.Trust }, func(l *movedBy) { l.important = true }},
	} {
		plain, order := make([]entry, len(out)), make([]int, len(out))
		for i := range out {
			plain[i] = entry{Row: top[i].Row, row: top[i].row,
				score: exact.Round(float64(out[i].Parts.Relevance * property.without(&out[i].Parts)))}
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return precedes(&plain[a], &plain[b]) })
		for place, i := range order {
			if i < place {
				property.set(&moved[i])
			}
		}
	}
	return moved
}

// timeAlone reports whether the time that the question names is all that a row has of its words.
func (r *Ranker) timeAlone(c *Candidate) bool {
	time := false
	for i, tf := range c.TF {
		if tf > 0 && !r.q.Terms[i].Time {
			return false
		}
		time = time || tf > 0
	}
	return time
}

// why returns a row's reasons, in the order that clients know. Recency and importance are reasons only when they
// moved the row. asked is the time in the question's own words. timeAlone says that the row has no other word of the
// question.
func why(p *Parts, c *Candidate, moved movedBy, asked string, timeAlone bool) (out []string) {
	if p.Vector > .5 {
		out = append(out, fmt.Sprintf("semantically similar (%.2f)", p.Vector))
	}
	if p.Recency > .5 && moved.recent {
		out = append(out, "recent")
	}
	if p.Decay > .3 && moved.important {
		out = append(out, fmt.Sprintf("important (decay=%.2f)", p.Decay))
	}
	if len(out) == 0 {
		out = append(out, "matched query")
	}
	if p.Words > 0 && !timeAlone {
		out = append(out, "keyword_match")
		if !c.HasVector {
			out = append(out, "fts_sourced")
		}
	}
	if p.Graph > 0 && c.Via != "" {
		out = append(out, "graph-connected via "+c.Via)
	}
	for _, r := range []struct {
		holds bool
		name  string
	}{
		{p.Around > 0 && p.Around > p.Words, "context_match"},
		{p.Session > 0, "session_match"},
		{p.Named, "speaker_match"},
		{p.Date == 1, asked},
		{p.Date > 0 && p.Date < 1, "date_match"},
		{p.When, "time_match"},
	} {
		if r.holds {
			out = append(out, r.name)
		}
	}
	return out
}

// Confidence returns how far to trust an answer: the probability that its best row answers.
func Confidence(top []Scored) float64 {
	if len(top) == 0 {
		return 0
	}
	return top[0].Score
}

// A Hint says how to ask better.
type Hint struct {
	Type       string   `json:"hint_type"`
	Suggestion string   `json:"suggestion"`
	Entities   []string `json:"related_entities"`
}

// unsure is the confidence from which an answer needs no hints.
const unsure = .5

// Hints say how to ask better when confidence is low; a sure answer and a list get none. created holds the times of the
// answer's rows, in microseconds. The hints name those of the entities that the question does not name. named returns
// the entities, and is called only if there are hints.
func Hints(question string, top []Scored, created []int64, named func() []string) (out []Hint) {
	asked := " " + strings.Join(words(question), " ") + " "
	if Confidence(top) >= unsure || asked == "  " {
		return nil
	}
	entities := slices.DeleteFunc(slices.Clone(named()), func(name string) bool {
		return strings.Contains(asked, " "+strings.Join(words(name), " ")+" ")
	})
	if entities == nil {
		entities = []string{}
	}
	hint := func(kind, suggestion string) { out = append(out, Hint{kind, suggestion, entities}) }
	if len(strings.Fields(question)) <= 3 {
		hint("specificity", "add more detail to the question")
	}
	if len(entities) > 0 {
		hint("entity", "name one of the related entities")
	}
	var first, last int64
	for i, t := range created {
		if i == 0 {
			first, last = t, t
		}
		first, last = min(first, t), max(last, t)
	}
	if last-first > 30*86400*1e6 {
		hint("time_range", "limit the question to a span of time")
	}
	if len(top) == 0 || top[0].Parts.Words < .25 {
		hint("keyword", "use words that the memory itself would use")
	}
	return out
}
