package rank

import (
	"math"
	"slices"
	"testing"
)

// asked is a question to ten rows that words find alike and two that they do not, and the rows that it was asked
// again by.
func asked(found Second, edit func(i int, r *Row), tf func(i int) []uint16, set Settings) (again [][]uint32, got []Scored) {
	q := ask("what does Ana grow", 200)
	q.Second = func(first []uint32) Second {
		again = append(again, slices.Clone(first))
		return found
	}
	var cands []Candidate
	for i := range 10 {
		cands = append(cands, Candidate{Row: uint32(i), TF: tf(i)})
	}
	return again, Rank(q, set, cands, rows(12, func(i int, r *Row) {
		r.Session = uint32(i + 1)
		if edit != nil {
			edit(i, r)
		}
	}))
}

func TestSecondPass(t *testing.T) {
	alike := func(int) []uint16 { return []uint16{1, 0} }
	one := []uint16{1}
	found := Second{Terms: []Term{{DF: 4, Share: 1}}, Words: []string{"dahlia"}, Cands: []Candidate{{Row: 0, TF: one}, {Row: 9, TF: one}, {Row: 11, TF: one}}}
	again, got := asked(found, nil, alike, Defaults())
	if len(again) != 1 || !slices.Equal(again[0], []uint32{0, 1, 2, 3, 4, 5, 6, 7}) {
		t.Fatalf("asked again by %v", again)
	}
	// The first answer itself is not raised, one that words found as well rises, and one that they did not find is
	// the last.
	wantOrder(t, got, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 11)
	for _, s := range got {
		raised := s.Row == 9 || s.Row == 11
		if (s.Parts.Second > 0) != raised || slices.Contains(s.Why, "second_pass via dahlia") != raised {
			t.Errorf("row %d: %+v, %q", s.Row, s.Parts, s.Why)
		}
		if x := (s.Parts.Words + s.Parts.Passage + s.Parts.Session) * s.Parts.Factor; math.Abs(s.Parts.Relevance-(x+s.Parts.Second)/(1+x+s.Parts.Second)) > 1e-12 {
			t.Errorf("row %d: its parts do not give its relevance: %+v", s.Row, s.Parts)
		}
	}
}

// TestSecondPassIsForTheUnsure: where a row stands out, too few were found or they are of no session, nothing is
// asked again.
func TestSecondPassIsForTheUnsure(t *testing.T) {
	for name, tf := range map[string]func(int) []uint16{
		"a row stands out":    func(i int) []uint16 { return []uint16{1, uint16(max(0, 1-i))} },
		"seven rows have any": func(i int) []uint16 { return []uint16{uint16(min(1, i/3)), 0} },
	} {
		if again, _ := asked(Second{}, nil, tf, Defaults()); len(again) > 0 {
			t.Errorf("%s: asked again by %v", name, again)
		}
	}
	alone := func(_ int, r *Row) { r.Session = 0 }
	if again, _ := asked(Second{}, alone, func(int) []uint16 { return []uint16{1, 0} }, Defaults()); len(again) > 0 {
		t.Errorf("texts of no session: asked again by %v", again)
	}
	off := Defaults()
	off.Off("second")
	if again, _ := asked(Second{}, nil, func(int) []uint16 { return []uint16{1, 0} }, off); len(again) > 0 {
		t.Errorf("switched off: asked again by %v", again)
	}
}

// TestSecondPassOfASpeaker: of a person whom the question names, what another said is not raised.
func TestSecondPassOfASpeaker(t *testing.T) {
	one := []uint16{1}
	found := Second{Terms: []Term{{DF: 4, Share: 1}}, Words: []string{"dahlia"}, Cands: []Candidate{{Row: 9, TF: one}, {Row: 10, TF: one}, {Row: 11, TF: one}}}
	speaks := func(i int, r *Row) { r.Speaker = []string{"Ana", "Ben"}[i%2] }
	_, got := asked(found, speaks, func(int) []uint16 { return []uint16{1, 0} }, Defaults())
	for _, s := range got {
		if (s.Parts.Second > 0) != (s.Row == 10) {
			t.Errorf("row %d: %+v", s.Row, s.Parts)
		}
	}
}
