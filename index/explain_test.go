package index_test

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestExplained: the parts of a hit add up to its score, whichever search found it. A signal that is off has no part.
func TestExplained(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: compares answers, one question after the other")
	}
	r := openReplica(t)
	r.apply(history(t, 900).records, 100)
	qs := questions()
	seen := map[string]int{}
	for i, q := range qs {
		q.Weights = nil
		for _, h := range r.ask(q) {
			p := h.Parts
			x := max(0, (p.Words+p.Passage+p.Around+p.Session)*p.Factor)
			relevance := (x + p.Lift) / (1 + x + p.Lift)
			switch {
			case x > 0 && p.Lift > 0:
				seen["lifted"]++
			case x == 0 && q.Vector != nil:
				seen["vector alone"]++
				relevance = p.Relevance
			default:
				seen["words"]++
			}
			if p.Graph > 0 {
				seen["graph"]++
				relevance += p.Graph * (1 - relevance)
			}
			if math.Abs(relevance-p.Relevance) > 1e-9 && !(q.Vector != nil && p.Graph > 0) {
				t.Fatalf("question %d, %s: relevance %v, its parts give %v: %+v", i, h.Memory.RID, p.Relevance, relevance, p)
			}
			s := p.Shares(h.Score)
			if got := s.Words + s.Passage + s.Around + s.Session + s.Vector + s.Graph + s.Worth; math.Abs(got-h.Score) > 1e-9 {
				t.Fatalf("question %d, %s: score %v, its shares give %v: %+v", i, h.Memory.RID, h.Score, got, s)
			}
		}
	}
	for _, kind := range []string{"lifted", "vector alone", "words", "graph"} {
		if seen[kind] == 0 {
			t.Errorf("no hit of kind %q: %v", kind, seen)
		}
	}
	part := map[string]func(rank.Parts) bool{
		"passage": func(p rank.Parts) bool { return p.Passage != 0 }, "around": func(p rank.Parts) bool { return p.Around != 0 },
		"session": func(p rank.Parts) bool { return p.Session != 0 },
		"vector":  func(p rank.Parts) bool { return p.Vector != 0 || p.Lift != 0 },
		"graph":   func(p rank.Parts) bool { return p.Graph != 0 }, "freshness": func(p rank.Parts) bool { return p.Fresh != 1 },
		"importance": func(p rank.Parts) bool { return p.Importance != 1 },
	}
	for name, has := range part {
		with, without := 0, 0
		for _, q := range qs {
			for _, h := range r.ask(q) {
				if has(h.Parts) {
					with++
				}
			}
			q.Without = []string{name}
			for _, h := range r.ask(q) {
				if has(h.Parts) {
					without++
				}
			}
		}
		if with == 0 || without != 0 {
			t.Errorf("%s counts in %d hits, and in %d when it is off", name, with, without)
		}
	}
	if _, _, err := r.index.Search(t.Context(), 1, index.Query{Text: "river", K: 1, Now: now, Without: []string{"luck"}}); err == nil ||
		!strings.Contains(err.Error(), `unknown signal "luck": want one of around`) {
		t.Errorf("an unknown signal: %v", err)
	}
}

// TestLearnedWeights: the weights that a database has learned change its order.
func TestLearnedWeights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	r := openReplica(t)
	r.apply(history(t, 600).records, 100)
	plain := rank.DefaultWeights()
	bold := plain
	bold.Sim, bold.AlphaImp, bold.GateTau = .9, 2, .05
	same, other := 0, 0
	for _, q := range questions() {
		want := r.ask(q)
		q.Weights = &plain
		if got := r.ask(q); !reflect.DeepEqual(got, want) {
			t.Fatalf("the default weights are not the default")
		}
		q.Weights = &bold
		got := r.ask(q)
		for i := range want {
			if got[i].Memory.RID == want[i].Memory.RID {
				same++
			} else {
				other++
			}
		}
	}
	if other == 0 {
		t.Errorf("all %d hits in the same place", same)
	}
}

// TestDiverse: of two nearly equal texts only one is in a diverse answer, judged by vectors or by words.
func TestDiverse(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	vec := func(x, y, z float32) oplog.Vector { return oplog.MakeVector([]float32{x, y, z}) }
	for i, m := range []struct {
		text string
		vec  oplog.Vector
	}{
		{"the harbor office opens at nine", vec(1, 0, 0)}, {"at nine the harbor office opens up", vec(1, .01, 0)},
		{"harbor fees doubled", vec(0, 1, 0)},
		{"the harbor ferry sails at noon", nil}, {"the harbor ferry sails at noon", nil},
	} {
		op := remember(fmt.Sprint("m", i), m.text)
		op.Vector = m.vec
		l.add(1, op)
	}
	r.apply(l.records, 5)
	q := index.Query{Text: "harbor", K: 5, Now: now}
	if got := r.ask(q); len(got) != 5 {
		t.Fatalf("%d found, want all", len(got))
	}
	q.Diverse = true
	hits, _, err := r.index.Search(t.Context(), 1, q)
	if err != nil || len(hits) != 3 {
		t.Fatalf("%d found, %v: want 3", len(hits), err)
	}
	alike := 0
	for _, h := range hits {
		if h.Parts.Alike > 0 {
			alike++
		}
	}
	if alike == 0 {
		t.Error("no row says how much it is like those before it")
	}
}
