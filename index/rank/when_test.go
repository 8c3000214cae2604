package rank

import (
	"slices"
	"testing"
)

// twoOf ranks two rows with equal scores by words.
func twoOf(q Question, set Settings, edit func(i int, r *Row)) []Scored {
	one := []uint16{1, 0}
	return Rank(q, set, []Candidate{{Row: 0, TF: one}, {Row: 1, TF: one}}, rows(2, edit))
}

func TestQuestionOfTime(t *testing.T) {
	timed := func(i int, r *Row) { r.Timed = i == 1 }
	q, set := ask("when did it start", 20), Defaults()
	if got := twoOf(q, set, timed); got[0].Score != got[1].Score || got[0].Parts.When {
		t.Error("a row that holds a time is preferred where none is asked for")
	}
	q.When = true
	got := twoOf(q, set, timed)
	wantOrder(t, got, 1, 0)
	if got[0].Score == got[1].Score || !got[0].Parts.When || got[1].Parts.When || !slices.Contains(got[0].Why, "time_match") {
		t.Errorf("the time is not explained: %+v", got)
	}
	if set.Off("when"); twoOf(q, set, timed)[0].Score != twoOf(q, set, timed)[1].Score {
		t.Error("switched off, the signal shows in the score")
	}
}

func TestRelativeDate(t *testing.T) {
	const day = int32(18763) // 16 May 2021
	said := func(exact bool) func(int, *Row) {
		return func(i int, r *Row) {
			r.Created = 1_626_000_000_000_000 // July 2021
			if i == 1 {
				r.Said, r.SaidDay = day, exact
			}
		}
	}
	for question, want := range map[string][2]float64{ // of the date, by a day and by a month
		"in May 2021":     {1, 1},
		"on May 16, 2021": {1, 1},
		"on May 17, 2021": {1.25 / 2.25, 1},
		"in June 2021":    {.2, .2},
	} {
		for i, exact := range []bool{true, false} {
			for _, s := range twoOf(ask(question, 20), Defaults(), said(exact)) {
				if s.Row == 1 && s.Parts.Date != want[i] {
					t.Errorf("%s: a row that means 16 May agrees by %v, want %v", question, s.Parts.Date, want[i])
				}
			}
		}
	}
}

// TestShortTurns: a row that is short for its namespace scores lower where texts are short turns, and not where they
// are long.
func TestShortTurns(t *testing.T) {
	short := func(i int, r *Row) { r.Length = []uint32{3, 20}[i] }
	set := Defaults()
	set.B = 0
	for average, lower := range map[float64]bool{12: true, 30: true, 38: false, 200: false} {
		q := ask("x", 20)
		q.Average = average
		got := twoOf(q, set, short)
		if by := got[0].Score - got[1].Score; (by > 0) != lower || lower && got[0].Row != 1 {
			t.Errorf("among rows of %v tokens a short one stands lower by %v", average, by)
		}
	}
	set.Off("short")
	if got := twoOf(ask("x", 20), set, short); got[0].Score != got[1].Score {
		t.Error("switched off, the signal shows in the score")
	}
}
