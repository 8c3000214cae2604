package rank

import "testing"

// TestRefers: among short turns a row that refers to earlier rows inherits more from them than one that does not.
func TestRefers(t *testing.T) {
	talk := func(refers bool, set Settings, average float64, match uint32) Parts {
		c := rows(3, func(i int, r *Row) { r.Session, r.Refers = 1, refers && i == 1 })
		q := ask("x y", 20)
		q.Average = average
		for _, s := range Rank(q, set, []Candidate{{Row: match, TF: []uint16{1, 1}}}, c) {
			if s.Row == 1 {
				return s.Parts
			}
		}
		t.Fatal("the row beside the match is no answer")
		return Parts{}
	}
	with, without := talk(true, Defaults(), 10, 0), talk(false, Defaults(), 10, 0)
	if with.Around != without.Around*1.5 || with.Passage <= without.Passage {
		t.Errorf("after the match: %+v, without a pronoun %+v", with, without)
	}
	if with, without = talk(true, Defaults(), 45, 0), talk(false, Defaults(), 45, 0); with.Around != without.Around*1.25 {
		t.Errorf("among longer turns: %+v, without a pronoun %+v", with, without)
	}
	if with, without = talk(true, Defaults(), 60, 0), talk(false, Defaults(), 60, 0); with != without {
		t.Errorf("among long texts: %+v, without a pronoun %+v", with, without)
	}
	if with, without = talk(true, Defaults(), 10, 2), talk(false, Defaults(), 10, 2); with.Around != without.Around {
		t.Errorf("before the match: %+v, without a pronoun %+v", with, without)
	}
	set := Defaults()
	set.Off("refers")
	if with, without = talk(true, set, 10, 0), talk(false, set, 10, 0); with != without {
		t.Errorf("switched off: %+v, without a pronoun %+v", with, without)
	}
}
