package text

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index/exact"
)

// A model is the same index as plain maps: every row scored one by one.
type model map[uint32]Row

func (m model) search(q Query, p Params) []Hit {
	terms := q.Terms
	if terms == nil {
		terms = AnalyzeQuery(q.Text)
	}
	terms = slices.Clone(terms)
	slices.Sort(terms)
	terms = slices.Compact(terms)
	in := func(r Row) bool { return len(q.Groups) == 0 || slices.Contains(q.Groups, r.Group) }
	var all Totals
	df := make(map[string]uint64)
	docs := make(map[uint32]document)
	for row, r := range m {
		d := new(analyzer).document(r)
		docs[row] = d
		if p.Local && !in(r) {
			continue
		}
		all.Rows++
		all.Tokens += uint64(d.length)
		for _, t := range d.terms {
			df[t.term]++
		}
	}
	if len(terms) > maxTerms {
		slices.SortFunc(terms, func(a, b string) int { return cmp.Or(cmp.Compare(df[a]-1, df[b]-1), strings.Compare(a, b)) })
		terms = terms[:maxTerms]
		slices.Sort(terms)
	}
	var hits []Hit
	for row, d := range docs {
		sum, matched := 0.0, 0
		for _, term := range terms {
			for _, t := range d.terms {
				if t.term == term {
					matched++
					sum += float64(p.weight(all.Rows, df[term]) * p.saturation(t.tf, p.lengthNorm(d.length, all)))
				}
			}
		}
		if matched > 0 && in(m[row]) && (q.Keep == nil || q.Keep(row)) {
			hits = append(hits, Hit{Row: row, Score: exact.Round(float64(sum * p.coord(matched, len(terms)))), Matched: matched})
		}
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Row, b.Row)) })
	return hits[:min(len(hits), cmp.Or(q.K, 10))]
}

// sameHits fails unless rows, matches and the bits of scores are equal.
func sameHits(t fataler, what string, got, want []Hit) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: got %d hits, want %d: %v, %v", what, len(got), len(want), got, want)
	}
	for i := range got {
		if got[i].Row != want[i].Row || got[i].Score != want[i].Score || got[i].Matched != want[i].Matched {
			t.Fatalf("%s: hit %d: got %+v, want %+v", what, i, got[i], want[i])
		}
	}
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

func openAt(t testing.TB, dir string) *Index {
	t.Helper()
	x, err := Open(Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { x.Close() })
	return x
}

func apply(t fataler, x *Index, applied uint64, add []Row, del ...uint32) {
	t.Helper()
	if err := x.Apply(applied, add, del); err != nil {
		t.Fatalf("apply %d: %v", applied, err)
	}
}

func settle(t fataler, x *Index) {
	t.Helper()
	if err := x.Sync(context.Background()); err != nil {
		t.Fatalf("sync: %v", err)
	}
}

func find(t fataler, x *Index, q Query) []Hit {
	t.Helper()
	hits, err := x.Search(q)
	if err != nil {
		t.Fatalf("search: %v", err)
	}
	return hits
}

// words makes texts whose words follow a steep distribution, as language does.
func words(r *rand.Rand, n, vocabulary int) string {
	var b strings.Builder
	for range n {
		f := r.Float64()
		fmt.Fprintf(&b, "w%dx ", int(f*f*f*float64(vocabulary)))
	}
	return b.String()
}
