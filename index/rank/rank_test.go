package rank

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/index/text"
)

// shelf is a corpus of rows numbered from 0; a session's rows follow each other.
type shelf []Row

func (s shelf) Row(i uint32) *Row { return &s[i] }

func (s shelf) Number(i uint32) uint64 { return uint64(i) }

func (s shelf) RowOf(number uint64) (uint32, bool) { return uint32(number), true }

func (s shelf) Worth(i uint32) (int64, float64, float64) {
	return s[i].Accessed, s[i].HalfLife, s[i].Importance
}

func (s shelf) Session(id uint32) (rows []uint64) {
	for i := range s {
		if s[i].Session == id {
			rows = append(rows, uint64(i))
		}
	}
	return rows
}

func (s shelf) Keep(uint32) bool { return true }

func (s shelf) Sessions() (int, float64) {
	ids, sum := map[uint32]bool{}, 0.0
	for _, r := range s {
		if r.Session != 0 {
			ids[r.Session] = true
			sum += float64(r.Length)
		}
	}
	return len(ids), sum / float64(max(len(ids), 1))
}

func (s shelf) SessionLength(id uint32) (sum float64) {
	for _, r := range s {
		if r.Session == id {
			sum += float64(r.Length)
		}
	}
	return sum
}

// Rank ranks with a Ranker of its own.
func Rank(q Question, set Settings, cands []Candidate, c Corpus) []Scored {
	return new(Ranker).Rank(q, set, withLengths(cands, c), c)
}

const now = int64(1_700_000_000_000_000)

func rows(n int, edit func(i int, r *Row)) shelf {
	s := make(shelf, n)
	for i := range s {
		s[i] = Row{RID: MakeRID(fmt.Sprintf("r%03d", i)), Created: 1, Accessed: 1, Importance: .5, HalfLife: 604800,
			Length: 10, Speaker: []string{"p", "q"}[i&1]}
		if edit != nil {
			edit(i, &s[i])
		}
	}
	return s
}

func ask(question string, n int) Question {
	return Question{Text: question, Terms: []Term{{DF: 2, Share: 1}, {DF: 3, Share: 1}}, Rows: uint64(n), Average: 10,
		Now: now, Asked: text.ParseAskedTime(question, now)}
}

func order(s []Scored) (out []uint32) {
	for _, x := range s {
		out = append(out, x.Row)
	}
	return out
}

func wantOrder(t *testing.T, got []Scored, want ...uint32) {
	t.Helper()
	if !slices.Equal(order(got), want) {
		t.Errorf("order = %v, want %v", order(got), want)
	}
}

func TestTies(t *testing.T) {
	s := rows(4, func(i int, r *Row) {
		r.RID = MakeRID([]string{"b", "a", "d", "c"}[i])
		if i == 2 {
			r.Created = 2 // too small to change the rounded score
		}
	})
	both := []uint16{1, 1}
	got := Rank(ask("x", 4), Defaults(), []Candidate{{Row: 0, TF: both}, {Row: 1, TF: both}, {Row: 2, TF: both}, {Row: 3, TF: both}}, s)
	wantOrder(t, got, 2, 1, 0, 3)
}

func TestBetterMatchBeatsNewerRow(t *testing.T) {
	s := rows(2, func(i int, r *Row) {
		if i == 1 {
			r.Created, r.Accessed = now, now
		}
	})
	got := Rank(ask("x", 20), Defaults(), []Candidate{{Row: 0, TF: []uint16{1, 1}}, {Row: 1, TF: []uint16{0, 1}}}, s)
	wantOrder(t, got, 0, 1)
	got = Rank(ask("x", 20), Defaults(), []Candidate{{Row: 0, TF: []uint16{1, 1}}, {Row: 1, TF: []uint16{1, 1}}}, s)
	wantOrder(t, got, 1, 0)
}

// TestLightWordsAmongFewRows: if a question has a light word and a more common heavy one, the heavy word decides
// among few rows. Among many rows, the frequencies of both decide.
func TestLightWordsAmongFewRows(t *testing.T) {
	for _, c := range []struct {
		rows, light, other int
		want               []uint32
	}{{6, 1, 3, []uint32{1, 0}}, {1000, 10, 30, []uint32{0, 1}}} {
		q := ask("which CI do we use", c.rows)
		q.Terms = []Term{{DF: uint64(c.light), Share: 1, Light: true}, {DF: uint64(c.other), Share: 1}}
		wantOrder(t, Rank(q, Defaults(), []Candidate{{Row: 0, TF: []uint16{1, 0}}, {Row: 1, TF: []uint16{0, 1}}}, rows(2, nil)), c.want...)
	}
}

// Each signal alone must decide between two rows that are equal without it.
func TestSignals(t *testing.T) {
	one := []uint16{1, 0}
	for _, c := range []struct {
		name  string
		text  string
		edit  func(i int, r *Row)
		cands []Candidate
		off   func(*Settings)
	}{
		{"named", "what did Ada build", func(i int, r *Row) { r.Speaker = []string{"Bob", "Ada"}[i&1] }, nil,
			func(s *Settings) { s.Named = 0 }},
		{"asker", "where did I put it", func(i int, r *Row) { r.Speaker = []string{"assistant", "user"}[i&1] }, nil,
			func(s *Settings) { s.Asker = 0 }},
		{"date", "in June 2021", func(i int, r *Row) {
			r.Created = []int64{1_600_000_000_000_000, 1_623_000_000_000_000}[i&1]
		}, nil, func(s *Settings) { s.Date = 0 }},
		{"question", "x", func(i int, r *Row) { r.Asks = i == 0 }, nil, func(s *Settings) { s.Questions = 0 }},
		{"density", "x", func(i int, r *Row) { r.Length = []uint32{200, 10}[i&1] }, nil,
			func(s *Settings) { s.Density, s.B = 0, 0 }},
		{"vector", "x", nil, []Candidate{{Row: 0, TF: one, HasVector: true, Vector: .1}, {Row: 1, TF: one, HasVector: true, Vector: .9}},
			func(s *Settings) { s.Vector = 0 }},
		{"graph", "x", nil, []Candidate{{Row: 0, TF: one}, {Row: 1, TF: one, Graph: 1, Via: "Ada"}},
			func(s *Settings) { s.Graph = 0 }},
		{"importance", "x", func(i int, r *Row) { r.HalfLife, r.Importance = 0, []float64{.1, .9}[i&1] }, nil,
			func(s *Settings) { s.Importance = false }},
		{"freshness", "x", func(i int, r *Row) { r.Created = []int64{1, now}[i&1] }, nil,
			func(s *Settings) { s.Freshness = 0 }},
		{"trust", "x", func(i int, r *Row) { r.Distrust = uint8(2 - i) }, nil, func(s *Settings) { s.Distrust = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cands == nil {
				c.cands = []Candidate{{Row: 0, TF: one}, {Row: 1, TF: one}}
			}
			s, set := rows(2, c.edit), Defaults()
			set.Fill = false
			got := Rank(ask(c.text, 20), set, c.cands, s)
			wantOrder(t, got, 1, 0)
			if got[0].Score == got[1].Score {
				t.Error("the signal does not show in the score")
			}
			c.off(&set)
			got = Rank(ask(c.text, 20), set, c.cands, s)
			if got[0].Score != got[1].Score {
				t.Errorf("switched off, scores differ: %v, %v", got[0].Score, got[1].Score)
			}
		})
	}
}

func TestNeighboursAnswer(t *testing.T) {
	s := rows(40, func(i int, r *Row) {
		r.Session = uint32(i/4) + 1
		r.Asks = i == 0
	})
	got := Rank(ask("x", 40), Defaults(), []Candidate{{Row: 0, TF: []uint16{1, 1}}, {Row: 9, TF: []uint16{0, 1}}}, s)
	if !slices.Contains(order(got), 1) {
		t.Fatal("the row after a match is no candidate")
	}
	if i := slices.IndexFunc(got, func(x Scored) bool { return x.Row == 1 }); !slices.Contains(got[i].Why, "context_match") ||
		got[i].Parts.Words != 0 {
		t.Errorf("row 1: %+v", got[i])
	}
	set := Defaults()
	set.Passage, set.Around, set.Session = 0, 0, 0
	wantOrder(t, Rank(ask("x", 40), set, []Candidate{{Row: 0, TF: []uint16{1, 1}}, {Row: 9, TF: []uint16{0, 1}}}, s), 0, 9)
}

func TestHashedVectorsOnlyFill(t *testing.T) {
	s := rows(4, nil)
	got := Rank(ask("x", 20), Defaults(), []Candidate{
		{Row: 0, HasVector: true, Vector: .2}, {Row: 1, HasVector: true, Vector: .9},
		{Row: 2, TF: []uint16{0, 1}, HasVector: true}, {Row: 3, TF: []uint16{1, 1}},
	}, s)
	wantOrder(t, got, 3, 2, 1, 0)
}

func TestReasons(t *testing.T) {
	s := rows(1, func(_ int, r *Row) {
		r.Created, r.Accessed, r.Importance, r.Speaker = now, now, .42, "Ada"
	})
	got := Rank(ask("of Ada", 9), Defaults(),
		[]Candidate{{Row: 0, TF: []uint16{1, 0}, HasVector: true, Vector: .83, Graph: 1, Via: "Ada"}}, s)
	want := []string{"semantically similar (0.83)", "keyword_match", "graph-connected via Ada", "speaker_match"}
	if !slices.Equal(got[0].Why, want) {
		t.Errorf("why = %q, want %q", got[0].Why, want)
	}
	list := ask("", 9)
	list.List = true
	got = Rank(list, Defaults(), []Candidate{{Row: 0}}, rows(1, nil))
	if !slices.Equal(got[0].Why, []string{"matched query"}) {
		t.Errorf("why = %q", got[0].Why)
	}
}

// TestReasonsThatMoved: recency and importance are reasons only where they moved the row.
func TestReasonsThatMoved(t *testing.T) {
	for reason, edit := range map[string]func(r *Row){
		"recent":                 func(r *Row) { r.Created = now },
		"important (decay=0.90)": func(r *Row) { r.Importance, r.Accessed = .9, now },
	} {
		s := rows(3, func(i int, r *Row) {
			r.Created, r.Accessed, r.Importance = now-60*86400*1e6+int64(3-i), 1, .4
			if i == 0 {
				r.Importance = .401 // a little ahead
			}
			if i > 0 { // the last one ranks by its words alone
				edit(r)
			}
		})
		got := Rank(ask("x", 9), Defaults(),
			[]Candidate{{Row: 0, TF: []uint16{1, 0}}, {Row: 1, TF: []uint16{1, 0}}, {Row: 2, TF: []uint16{9, 9}}}, s)
		wantOrder(t, got, 2, 1, 0)
		for _, x := range got {
			if has := slices.Contains(x.Why, reason); has != (x.Row == 1) {
				t.Errorf("%s: row %d says %q", reason, x.Row, x.Why)
			}
		}
	}
}

// TestOnlyWhatMatches: a row is an answer only by its words, its neighbours' words, its likeness or its relations.
func TestOnlyWhatMatches(t *testing.T) {
	s := rows(40, func(i int, r *Row) {
		r.Created, r.Accessed, r.Importance = now, now, 1
		if i >= 30 {
			r.Session = 1
		}
	})
	hashed, real := Defaults(), Defaults()
	hashed.Near, real.Fill = .15, false
	for _, set := range []Settings{hashed, real} {
		var r Ranker
		got := r.Rank(ask("x", 40), set,
			[]Candidate{{Row: 0}, {Row: 1, HasVector: true, Vector: .02}, {Row: 2, HasVector: true, Vector: -1},
				{Row: 3, HasVector: true, Vector: .3}, {Row: 4, TF: []uint16{0, 1}}, {Row: 5, Graph: .2, Via: "Ada"},
				{Row: 35, TF: []uint16{1, 0}}}, s)
		at := order(got)
		slices.Sort(at)
		if want := []uint32{3, 4, 5, 31, 32, 33, 34, 35, 36, 37, 38, 39}; !slices.Equal(at, want) {
			t.Errorf("got rows %v, want %v", at, want)
		}
		if want := (Tally{Considered: 15, Matched: 12}); r.Tally != want {
			t.Errorf("got %+v, want %+v", r.Tally, want)
		}
		q := ask("x", 40)
		q.K, q.Least = 3, .05
		if few := r.Rank(q, set,
			[]Candidate{{Row: 3, HasVector: true, Vector: .3}, {Row: 4, TF: []uint16{0, 1}}, {Row: 35, TF: []uint16{1, 0}}},
			s); len(few) > 3 ||
			r.Tally.Below == 0 || slices.ContainsFunc(few, func(x Scored) bool { return x.Score < q.Least }) {
			t.Errorf("at least %v: %+v, %v", q.Least, r.Tally, few)
		}
	}
}

func TestConfidenceAndHints(t *testing.T) {
	top := []Scored{{Score: .8}, {Score: .5}, {Score: .4}}
	near(t, "confidence", Confidence(top), .8, 0)
	near(t, "confidence of nothing", Confidence(nil), 0, 0)
	hints := Hints("who is Bob", top[2:], []int64{0, 40 * 86400 * 1e6}, func() []string { return []string{"bob", "Ada"} })
	var kinds []string
	for _, h := range hints {
		kinds = append(kinds, h.Type)
	}
	if want := []string{"specificity", "entity", "time_range", "keyword"}; !slices.Equal(kinds, want) {
		t.Errorf("hints = %v, want %v", kinds, want)
	}
	if want := []string{"Ada"}; !slices.Equal(hints[1].Entities, want) {
		t.Errorf("offers %v, want %v: the question has the other", hints[1].Entities, want)
	}
	if Hints("who", top, nil, nil) != nil || Hints(" ", nil, nil, nil) != nil {
		t.Error("hints for a sure answer, or for a list")
	}
}

func TestDiverse(t *testing.T) {
	worth := func(row uint32, composite float64) Scored {
		return Scored{Row: row, Score: .8, Parts: Parts{Relevance: composite, Fresh: 1, Importance: 1, Trust: 1}}
	}
	in := []Scored{worth(1, 1), worth(2, .99), worth(3, .9), worth(4, .8), worth(5, .1)}
	likeness := map[uint32]float64{1<<8 | 2: .99, 1<<8 | 3: .9, 1<<8 | 4: .1} // between rows 2, 3 and 4 and row 1
	like := func(a, b uint32) float64 { return max(likeness[a<<8|b], likeness[b<<8|a]) }
	got := Diverse(in, 3, like)
	wantOrder(t, got, 1, 4, 3) // the second repeats the first
	if got[1].Score != .8 || got[1].Parts.Alike != .1 || !slices.Contains(got[1].Why, "diversified") ||
		slices.Contains(got[0].Why, "diversified") {
		t.Errorf("unexplained: %+v", got)
	}
	wantOrder(t, Diverse(in, 10, func(a, b uint32) float64 { return 0 }), 1, 2, 3, 4, 5)
}

func TestSwitches(t *testing.T) {
	on := Defaults()
	for _, name := range Switches() {
		off := Defaults()
		if !off.Off(name) || off == on {
			t.Errorf("%s does nothing", name)
		}
	}
	if on.Off("words") || on != Defaults() {
		t.Error("a signal that is not known")
	}
	learned := Defaults()
	if learned.Learn(DefaultWeights()); learned != Defaults() {
		t.Errorf("what nothing was learned of is %+v", learned)
	}
}

func draw(t *rapid.T) (Question, []Candidate, shelf, Settings) {
	n := rapid.IntRange(1, 30).Draw(t, "rows")
	unit := rapid.Float64Range(0, 1)
	s := rows(n, func(i int, r *Row) {
		r.Session = uint32(i / 5)
		r.Length = rapid.Uint32Range(0, 300).Draw(t, "length")
		r.Created = rapid.Int64Range(0, now).Draw(t, "created")
		r.Importance = unit.Draw(t, "importance")
		r.Asks = rapid.Bool().Draw(t, "asks")
	})
	var cands []Candidate
	for i := range n {
		if rapid.Bool().Draw(t, "found") {
			cands = append(cands, Candidate{Row: uint32(i), TF: []uint16{uint16(rapid.IntRange(0, 3).Draw(t, "tf")), 1},
				HasVector: rapid.Bool().Draw(t, "has"), Vector: unit.Draw(t, "cosine"), Graph: unit.Draw(t, "graph")})
		}
	}
	set := Defaults()
	set.Fill = rapid.Bool().Draw(t, "fill")
	return ask("what did I say in June", n), cands, s, set
}

func TestInputOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, cands, s, set := draw(t)
		got := Rank(q, set, cands, s)
		again := Rank(q, set, rapid.Permutation(cands).Draw(t, "shuffled"), s)
		if !reflect.DeepEqual(got, again) {
			t.Fatalf("%v\n%v", got, again)
		}
	})
}

func TestExplainAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q, cands, s, set := draw(t)
		before := 1.0
		for i, x := range Rank(q, set, cands, s) {
			p := x.Parts
			s := p.Shares(x.Score)
			if sum := s.Words + s.Passage + s.Around + s.Session + s.Vector + s.Graph + s.Worth; math.Abs(x.Score-sum) > 1e-9 {
				t.Fatalf("score %v, shares make %v", x.Score, sum)
			}
			if x.Score < 0 || x.Score > 1 || i > 0 && x.Score > before {
				t.Fatalf("%d: score %v after %v", i, x.Score, before)
			}
			before = x.Score
			if p.Relevance < 0 || p.Relevance > 1 || p.Fresh < 1 || p.Fresh > 1+set.Freshness+1e-12 || len(x.Why) == 0 {
				t.Fatalf("%d: %+v", i, x)
			}
			sum := max(0, (p.Words+p.Passage+p.Around+p.Session)*p.Factor)
			if rel := (sum + p.Lift) / (1 + sum + p.Lift); sum > 0 && p.Graph == 0 && math.Abs(rel-p.Relevance) > 1e-12 {
				t.Fatalf("relevance %v, parts make %v", p.Relevance, rel)
			}
		}
	})
}

func BenchmarkRank(b *testing.B) {
	s := rows(4000, func(i int, r *Row) {
		r.Session = uint32(i/20) + 1
		r.Speaker = []string{"Ada", "Bob"}[i&1]
	})
	c := counted{s, map[uint32][]uint64{}}
	for i := range s {
		c.lines[s[i].Session] = append(c.lines[s[i].Session], uint64(i))
	}
	var cands []Candidate
	for i := range 1000 {
		cands = append(cands, Candidate{Row: uint32(i * 4), TF: []uint16{uint16(i & 1), 1}})
	}
	var r Ranker
	for b.Loop() {
		q := ask("what did Ada say", 4000)
		q.K = 10
		r.Rank(q, Defaults(), cands, c)
	}
}

// counted is a corpus that counts sessions of one length at once, as an index does.
type counted struct {
	shelf
	lines map[uint32][]uint64
}

func (c counted) Session(id uint32) []uint64   { return c.lines[id] }
func (c counted) Sessions() (int, float64)     { return len(c.shelf) / 20, 200 }
func (c counted) SessionLength(uint32) float64 { return 200 }
