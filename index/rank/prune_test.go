package rank

import (
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// withLengths returns the candidates with the lengths of their rows, as the search by words sets them.
func withLengths(cands []Candidate, c Corpus) []Candidate {
	cands = slices.Clone(cands)
	for i := range cands {
		cands[i].Length = uint16(c.Row(cands[i].Row).Length)
	}
	return cands
}

// TestLeftOutRowsWereNotWanted: pruning returns the same K best rows as scoring all, to the last bit, and the tally
// counts all.
func TestLeftOutRowsWereNotWanted(t *testing.T) {
	left := 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 300).Draw(t, "rows")
		whole := rapid.Bool().Draw(t, "equal merits")
		s := rows(n, func(i int, r *Row) {
			r.Length = uint32(rapid.SampledFrom([]int{0, 1, 5, 10, 20, 21, 40, 45, 90, 255, 256, 5000}).Draw(t, "length"))
			if whole {
				return
			}
			r.Created, r.Accessed = rapid.Int64Range(0, now).Draw(t, "created"), rapid.Int64Range(0, now).Draw(t, "accessed")
			r.Importance = rapid.Float64Range(-.5, 1.5).Draw(t, "importance")
			r.Speaker = rapid.SampledFrom([]string{"", "ann", "user"}).Draw(t, "speaker")
			r.Asks, r.Timed = rapid.Bool().Draw(t, "asks"), rapid.Bool().Draw(t, "timed")
		})
		q := ask(rapid.SampledFrom([]string{"x", "what did ann say", "what did I say", "a happy day in May 2021",
			"a bad day"}).Draw(t, "question"), n)
		q.When = rapid.Bool().Draw(t, "when")
		q.Average = rapid.Float64Range(1, 60).Draw(t, "average")
		var cands []Candidate
		for i := range n {
			tf := []uint16{rapid.Uint16Range(0, 6).Draw(t, "tf"), rapid.Uint16Range(0, 1).Draw(t, "tf")}
			if tf[0]+tf[1] > 0 {
				cands = append(cands, Candidate{Row: uint32(i), TF: tf})
			}
		}
		var all, some Ranker
		cands = withLengths(cands, s)
		want := all.Rank(q, Defaults(), cands, s)
		q.K = rapid.IntRange(1, 12).Draw(t, "k")
		got := some.Rank(q, Defaults(), cands, s)
		want = want[:min(len(want), q.K)]
		for _, answer := range [][]Scored{want, got} {
			for i := range answer {
				answer[i].Why = nil // reasons depend on the other rows of an answer
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%v, of all %v", got, want)
		}
		if some.Tally != all.Tally {
			t.Fatalf("%+v, of all %+v", some.Tally, all.Tally)
		}
		left += some.pruned
	})
	if left == 0 {
		t.Fatal("no row was ever left out")
	}
}
