package text

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// TestLengthsAreExact stores texts of awkward lengths and frequencies and reads
// them back through segments, a merge and a restart.
func TestLengthsAreExact(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	lengths := []int{0, 1, 2, 3, 127, 128, 129, 255, 256, 4095, 4096, 5000, 16383, 16384, 32767, 32768, 40000}
	want := make(map[uint32][2]int)
	for i, n := range lengths {
		row, tf := uint32(i), max(n/2, min(n, 1))
		text := strings.Repeat("needle ", tf) + strings.Repeat("hay ", n-tf)
		n = min(n, MaxTokens)
		want[row] = [2]int{min(tf, MaxTokens), n}
		apply(t, x, []Row{{Row: row, Text: text}})
		settle(t, x) // a segment each, which Bleve then merges
	}
	check := func(when string) {
		t.Helper()
		var f Found
		if err := x.Find(Query{Text: "needle", K: 100}, &f); err != nil || len(f.Rows) != len(lengths)-1 {
			t.Fatalf("%s: got %d hits, %v, want %d", when, len(f.Rows), err, len(lengths)-1)
		}
		for i, row := range f.Rows {
			if got := [2]int{int(f.TF[i]), int(f.Lengths[i])}; got != want[row] {
				t.Errorf("%s: row %d: got tf and length %v, want %v", when, row, got, want[row])
			}
		}
	}
	check("live")
	totals := x.Totals()
	x.Close()
	x = openAt(t, dir)
	if got := x.Totals(); got != totals {
		t.Errorf("got %+v after a restart, want %+v", got, totals)
	}
	check("restarted")
}

func TestTieRuleAndOrder(t *testing.T) {
	x := openAt(t, "")
	for i := range uint32(50) {
		apply(t, x, []Row{{Row: i, Text: "same words"}})
	}
	rows := func(q Query) (out []uint32) {
		q.Text, q.K = "words", 3
		for _, h := range find(t, x, q) {
			out = append(out, h.Row)
		}
		return out
	}
	if got, want := rows(Query{}), []uint32{0, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	newest := func(a, b uint32) int { return cmp.Compare(b, a) }
	if got, want := rows(Query{Tie: newest}), []uint32{49, 48, 47}; !slices.Equal(got, want) {
		t.Errorf("newest first: got %v, want %v", got, want)
	}
	tens := func(row uint32) int64 { return -int64(row / 10) }
	if got, want := rows(Query{Order: tens, Tie: newest}), []uint32{49, 48, 47}; !slices.Equal(got, want) {
		t.Errorf("by tens, newest first: got %v, want %v", got, want)
	}
	if got, want := rows(Query{Order: tens}), []uint32{40, 41, 42}; !slices.Equal(got, want) {
		t.Errorf("by tens: got %v, want %v", got, want)
	}
	odd := func(row uint32) bool { return row%2 == 1 }
	if got, want := rows(Query{Keep: odd}), []uint32{1, 3, 5}; !slices.Equal(got, want) {
		t.Errorf("odd: got %v, want %v", got, want)
	}
}

// TestManyTerms compares questions with many more terms than are scored with the model.
func TestManyTerms(t *testing.T) {
	x, m := openAt(t, ""), model{}
	r := rand.New(rand.NewPCG(5, 6))
	for i := range uint32(300) {
		row := Row{Row: i, Text: words(r, 30, 400)}
		m[i] = row
		apply(t, x, []Row{row})
	}
	for range 10 {
		q := Query{Text: words(r, 300, 400), K: 40}
		sameHits(t, "many terms", find(t, x, q), m.search(q))
	}
	var long strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&long, "w%dx ", i)
	}
	if hits := find(t, x, Query{Text: long.String()}); len(hits) != 10 {
		t.Errorf("got %d hits for 10,000 words", len(hits))
	}
}

// TestWindows compares with the model if rows lie in several windows and arrive in no order, in the tail and in
// segments.
func TestWindows(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	x, m := openAt(t, t.TempDir()), model{}
	r := rand.New(rand.NewPCG(21, 22))
	for part := range slices.Chunk(r.Perm(1200), 300) {
		var rows []Row
		for _, i := range part {
			row := Row{Row: uint32(i * 23), Group: uint32(i % 3), Text: words(r, 10, 60)}
			rows, m[row.Row] = append(rows, row), row
		}
		apply(t, x, rows)
		for range 10 {
			q := Query{Text: words(r, 5, 60), K: 1 + r.IntN(400), Groups: []uint32{0, 1, 2}[:r.IntN(4)]}
			sameHits(t, "windows", find(t, x, q), m.search(q))
			var f Found
			if err := x.Find(q, &f); err != nil {
				t.Fatal(err)
			}
			q.Local = true
			want := m.search(q)
			slices.SortFunc(want, func(a, b Hit) int { return cmp.Compare(a.Row, b.Row) })
			for i, h := range want {
				matched := 0
				for j, tf := range f.TF[i*len(f.Terms) : (i+1)*len(f.Terms)] {
					count := 0
					for _, a := range Analyze(m[h.Row].Text) {
						if a.Term == f.Terms[j].Term {
							count++
						}
					}
					if int(tf) != count {
						t.Fatalf("row %d, term %q: got %d, want %d", h.Row, f.Terms[j].Term, tf, count)
					}
					matched += min(count, 1)
				}
				if f.Rows[i] != h.Row || matched != h.Matched {
					t.Fatalf("place %d: got row %d with %d terms, want %+v", i, f.Rows[i], matched, h)
				}
			}
			if len(f.Rows) != len(want) {
				t.Fatalf("got %d rows, want %d", len(f.Rows), len(want))
			}
		}
		settle(t, x)
	}
}

// TestConcurrent searches while rows come and go. A row of a finished Apply is never missed.
func TestConcurrent(t *testing.T) {
	x := openAt(t, t.TempDir())
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for g := range 3 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for {
				select {
				case <-stop:
					return
				default:
				}
				q := Query{Text: words(r, 3, 100), Groups: []uint32{0, 1}[:r.IntN(3)]}
				if _, err := x.Search(q); err != nil {
					t.Errorf("search: %v", err)
					return
				}
			}
		})
	}
	r := rand.New(rand.NewPCG(77, 0))
	for i := range uint32(4000) {
		mark := fmt.Sprintf("mark%d", i)
		apply(t, x, []Row{{Row: i, Group: i % 2, Text: words(r, 10, 100) + mark}})
		if h := find(t, x, Query{Text: mark}); len(h) != 1 || h[0].Row != i {
			t.Fatalf("row %d: got %v", i, h)
		}
		if i%5 == 4 {
			apply(t, x, nil, i-uint32(r.IntN(5)))
		}
	}
	close(stop)
	wg.Wait()
	settle(t, x)
	if l := x.Lag(); x.inTail() != 0 || l.Unsynced != 0 || l.Err != nil || l.Bytes != 0 {
		t.Errorf("got %+v after Sync", l)
	}
}

// TestSyncWithoutRows waits for a change without rows.
func TestSyncWithoutRows(t *testing.T) {
	x := openAt(t, t.TempDir())
	apply(t, x, []Row{{Row: 0, Text: "one"}})
	apply(t, x, nil)
	settle(t, x)
	apply(t, x, nil)
	settle(t, x)
	if l := x.Lag(); l.Unsynced != 0 {
		t.Errorf("got %+v after Sync", l)
	}
}

func TestClosed(t *testing.T) {
	x := openAt(t, t.TempDir())
	x.Close()
	_, err := x.Search(Query{Text: "x"})
	for _, err := range []error{err, x.Apply(nil, nil), x.Close()} {
		if err != nil && !errors.Is(err, ErrClosed) {
			t.Errorf("got %v", err)
		}
	}
	if _, err := x.Search(Query{Text: "x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want ErrClosed", err)
	}
}

// TestUnknownTerms checks which words are searched in place of a word that no row has, in an index in memory, and in
// one on disk after a deletion.
func TestUnknownTerms(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		x := openAt(t, dir)
		apply(t, x, []Row{{Row: 0, Text: "the restaurant by the harbour"},
			{Row: 1, Text: "Die Krankenversicherung zahlt"}, {Row: 2, Text: "commit 3f9a2bc81d7e"},
			{Row: 3, Group: 1, Text: "harber is a name"}, {Row: 4, Text: "a harbuer"},
			{Row: 5, Group: 1, Text: "zelkob zelkod"}, {Row: 6, Text: "the dorado and the mercado"}, {Row: 7, Text: "the mers"},
			{Row: 8, Text: "Mia is the babysitter"}, {Row: 9, Text: "signed by the editors, but not soon, goes live"}})
		apply(t, x, nil, 4)
		if dir != "" {
			settle(t, x)
		}
		for q, want := range map[string][]uint32{"resturant": {0}, "Versicherung": {1}, "3f9a2bc": {2}, "harber": nil,
			"zzzzzz": nil, "harbuor": {0}, "zelkog": nil,
			"dorado mercado": {6}, "babysit": {8}, "signatures": {9}, "edition": {9}, "butter": nil, "likes": nil} {
			var got []uint32
			for _, h := range find(t, x, Query{Text: q, Groups: []uint32{0}}) {
				got = append(got, h.Row)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q in %q: got %v, want %v", q, dir, got, want)
			}
			// a part of a compound is a term of its own
			if hits := find(t, x, Query{Text: q, Groups: []uint32{0}, Exact: true}); len(hits) > 0 && q != "Versicherung" &&
				q != "dorado mercado" {
				t.Errorf("%q exactly: got %v", q, hits)
			}
		}
	}
}

// TestTones checks questions and texts whose words differ only by their tones, written with and without them.
func TestTones(t *testing.T) {
	x := openAt(t, "")
	for i, text := range []string{
		"Con má đang nấu ăn trong bếp của người bạn", // mother
		"Con ma đang ở trong bếp của người bạn",      // ghost
		"Con mạ đang lên trong ruộng của người bạn",  // seedling
		"Nha cua ban toi o gan cho",                  // written without marks
	} {
		apply(t, x, []Row{{Row: uint32(i), Text: text}})
	}
	for question, want := range map[string][]uint32{
		"mạ của bạn ở đâu":   {2},
		"người mẹ và con má": {0},
		"ma":                 {0, 1, 2}, // without tones it may be any
		"nhà của bạn ở đâu":  {3},       // no row has the word with its tone
	} {
		hits := find(t, x, Query{Text: question, K: 3})
		got := []uint32{}
		for _, h := range hits[:min(len(hits), len(want))] {
			got = append(got, h.Row)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%q: got %v first, want %v", question, got, want)
		}
	}
}
