package text

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index/exact"
	"github.com/cairndb/cairn/oplog/suite"
)

// everyRow answers a query from every posting of its terms, one row after the other.
func everyRow(t testing.TB, x *Index, q Query) (f Found, hits []Hit) {
	t.Helper()
	s, err := x.evaluate(q)
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		return f, nil
	}
	defer s.release()
	f.Totals = s.totals
	tfs, lengths := map[uint32][]uint16{}, map[uint32]uint16{}
	for j, term := range s.terms {
		f.Terms = append(f.Terms, TermStat{term.term, term.df, term.share})
		for _, l := range term.lists {
			for _, p := range l.unpack(nil) {
				if tfs[p.row] == nil {
					tfs[p.row] = make([]uint16, len(s.terms))
				}
				tfs[p.row][j], lengths[p.row] = p.tf, p.length
			}
		}
	}
	for row, tf := range tfs {
		if q.Keep != nil && !q.Keep(row) {
			continue
		}
		sum, matched := 0.0, 0
		for j, term := range s.terms {
			if tf[j] > 0 {
				matched++
				weight := float64(term.share * idfSquared(s.totals.Rows, term.df))
				sum += float64(weight * saturation(tf[j], lengthNorm(lengths[row], s.totals)))
			}
		}
		hits = append(hits, Hit{Row: row, Score: exact.Round(float64(sum * coord(matched, len(s.terms)))), Matched: matched})
	}
	slices.SortFunc(hits, func(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), q.tied(a.Row, b.Row)) })
	hits = hits[:min(len(hits), cmp.Or(q.K, 10))]
	best := slices.Clone(hits)
	slices.SortFunc(best, func(a, b Hit) int { return cmp.Compare(a.Row, b.Row) })
	for _, h := range best {
		f.Rows, f.TF = append(f.Rows, h.Row), append(f.TF, tfs[h.Row]...)
	}
	return f, hits
}

// TestPrunedAnswersAreExact compares pruned answers with a scan of every row, to the bit: with filters, groups, dead
// rows, texts and frequencies too long for four bytes, rows far apart, in the tail, on disk, merged and after a
// restart.
func TestPrunedAnswersAreExact(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	r := rand.New(rand.NewPCG(21, 22))
	z := rand.NewZipf(r, 1.1, 8, 3000)
	dir := t.TempDir()
	x := openAt(t, dir)
	next := uint32(0)
	for round := range 6 {
		var rows []Row
		for range 4000 + r.IntN(4000) {
			next += 1 + uint32(r.IntN(1+40*(round%2)))
			n := 1 + r.IntN(60)
			text := zipfWords(z, n, 0)
			switch r.IntN(400) {
			case 0:
				text += strings.Repeat("hay ", 5000)
			case 1:
				text += strings.Repeat(zipfWords(z, 1, 0), 3+r.IntN(40))
			}
			rows = append(rows, Row{Row: next, Group: uint32(r.IntN(5)), Text: text})
		}
		var dead []uint32
		for range 500 * (round % 3) {
			dead = append(dead, uint32(r.IntN(int(next))))
		}
		apply(t, x, rows, dead...)
		comparePruned(t, x, r, fmt.Sprint("tail ", round))
		if round%2 == 1 {
			settle(t, x)
			comparePruned(t, x, r, fmt.Sprint("disk ", round))
		}
	}
	settle(t, x)
	x.Close()
	comparePruned(t, openAt(t, dir), r, "restart")
}

func comparePruned(t *testing.T, x *Index, r *rand.Rand, when string) {
	t.Helper()
	z := rand.NewZipf(r, 1.1, 8, 3000)
	var f Found
	for i := range 60 {
		q := Query{Text: zipfWords(z, 1+r.IntN(12), uint64(r.IntN(40))), K: []int{1, 10, 100, 1000}[r.IntN(4)], Exact: r.IntN(2) == 0,
			Groups: []uint32{0, 1, 2}[:r.IntN(4)], Order: func(row uint32) int64 { return -int64(row % 64) }}
		if i%10 == 0 {
			q.Text = zipfWords(z, 60, 0)
		}
		if m := uint32(1 + r.IntN(60)); r.IntN(2) == 0 {
			q.Keep = func(row uint32) bool { return row%m == 0 }
		}
		q.Local = r.IntN(2) == 0
		_, want := everyRow(t, x, q)
		sameHits(t, fmt.Sprintf("%s, search %d, %+v", when, i, q), find(t, x, q), want)
		if err := x.Find(q, &f); err != nil {
			t.Fatal(err)
		}
		q.Local = true
		all, _ := everyRow(t, x, q)
		if !slices.Equal(f.Rows, all.Rows) || !slices.Equal(f.TF, all.TF) || !slices.Equal(f.Terms, all.Terms) || f.Totals != all.Totals {
			t.Fatalf("%s, find %d, %+v: got %d rows, want %d: %+v", when, i, q, len(f.Rows), len(all.Rows), f.Totals)
		}
	}
}

// unpack appends a list's postings to dst.
func (l *list) unpack(dst []posting) []posting {
	l.each(func(r run) {
		for _, p := range r.post {
			tf, length := r.counts(p)
			dst = append(dst, posting{r.row(p), tf, length})
		}
	})
	return dst
}
