package rank

import (
	"slices"
	"testing"
)

// TestOnlyAnExchangeHasContext: a row next to a match is an answer with a better score and the name of the match, if
// both are turns that several speakers said within minutes. It is no answer in a list of facts, months later, with
// one speaker, or next to a weak match.
func TestOnlyAnExchangeHasContext(t *testing.T) {
	month := int64(30 * 86400 * 1e6)
	for name, c := range map[string]struct {
		edit    func(i int, r *Row)
		tf      []uint16
		context bool
	}{
		"turns":            {func(int, *Row) {}, []uint16{1, 1}, true},
		"a minute apart":   {func(i int, r *Row) { r.Created += int64(i) * 60e6 }, []uint16{1, 1}, true},
		"months apart":     {func(i int, r *Row) { r.Created += int64(i) * month }, []uint16{1, 1}, false},
		"nobody speaks":    {func(_ int, r *Row) { r.Speaker = "" }, []uint16{1, 1}, false},
		"one speaks alone": {func(_ int, r *Row) { r.Speaker = "p" }, []uint16{1, 1}, false},
		"a faint match":    {func(int, *Row) {}, []uint16{1, 0}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := rows(12, func(i int, r *Row) {
				if i < 4 {
					r.Session = 1
				}
				c.edit(i, r)
			})
			got := Rank(ask("x", 40), Defaults(), []Candidate{{Row: 1, TF: c.tf}, {Row: 9, TF: []uint16{1, 1}}}, s)
			at := slices.IndexFunc(got, func(x Scored) bool { return x.Row == 2 })
			if (at >= 0) != c.context {
				t.Fatalf("the row beside the match is at %d: %+v", at, got)
			}
			if match := got[slices.IndexFunc(got, func(x Scored) bool { return x.Row == 1 })]; match.Parts.Solo == c.context &&
				name != "a faint match" {
				t.Errorf("solo is %v: %+v", match.Parts.Solo, match)
			}
			if !c.context {
				return
			}
			if !slices.Contains(got[at].Why, "from the same conversation as #1") &&
				!slices.Contains(got[at].Why, "from the same conversation as #2") {
				t.Errorf("why = %q", got[at].Why)
			}
			if got[at].Score >= got[0].Score {
				t.Errorf("without a word it scores %v of %v", got[at].Score, got[0].Score)
			}
		})
	}
}

// TestScoresAreProbabilities: a row's score rises with its lead and with its share of the question's words. Equal
// rows have equal scores, a vector alone is never certain, and confidence does not rise with the number of rows.
func TestScoresAreProbabilities(t *testing.T) {
	score := func(cands ...Candidate) []Scored { return Rank(ask("x", 40), Defaults(), cands, rows(12, nil)) }
	both, half := []uint16{1, 1}, []uint16{0, 1}
	alone, ahead, equal, faint := score(Candidate{Row: 0, TF: both}), score(Candidate{Row: 0, TF: both}, Candidate{Row: 1, TF: half}),
		score(Candidate{Row: 0, TF: both}, Candidate{Row: 1, TF: both}), score(Candidate{Row: 0, TF: half})
	if alone[0].Score < .8 || ahead[0].Score < alone[0].Score || equal[0].Score > .55 || equal[0].Score != equal[1].Score ||
		faint[0].Score > .5 {
		t.Errorf("alone %v, ahead %v, equal %v, faint %v", alone, ahead, equal, faint)
	}
	if ahead[1].Score > .02 {
		t.Errorf("noise below a sure answer scores %v", ahead[1].Score)
	}
	if v := score(Candidate{Row: 0, HasVector: true, Vector: .9}); v[0].Score > .11 {
		t.Errorf("by its vector alone: %v", v)
	}
	var many []Candidate
	for i := range uint32(10) {
		many = append(many, Candidate{Row: i, TF: half})
	}
	if few, lots := Confidence(score(many[:2]...)), Confidence(score(many...)); lots > few {
		t.Errorf("two rows: %v, ten: %v", few, lots)
	}
}
