package index_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestExpiredMemoriesAreNotFound: an expired memory is in no answer, by words, vector, list or neighbourhood, from
// the entry on that moves the log's time past its expiry, whether or not a sweep has run.
func TestExpiredMemoriesAreNotFound(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	vec := func(x float32) oplog.Vector { return oplog.MakeVector([]float32{1, x, 0, 0}) }
	var rids []string
	for i := range 20 {
		m := remember(fmt.Sprint("m", i), fmt.Sprint("the harbor opens at gate ", i))
		m.Vector, m.Session = vec(float32(i)/100), "s"
		if i%2 == 1 {
			m.Expires = l.timeAfter(30)
		}
		l.add(1, m)
		rids = append(rids, m.RID)
	}
	questions := map[string]index.Query{
		"words":   {Text: "harbor gate", K: 50, Now: now},
		"vector":  {Vector: vec(0).Floats(), K: 50, Now: now},
		"both":    {Text: "harbor", Vector: vec(0).Floats(), K: 50, Now: now},
		"list":    {K: 50, Now: now},
		"session": {Text: "gate 4", Filter: index.Filter{Session: "s"}, K: 50, Now: now},
		"bare":    {Text: "harbor", K: 50, Bare: true, Now: now},
	}
	count := func(when string, want int) {
		t.Helper()
		for name, q := range questions {
			if got := len(r.ask(q)); got != want {
				t.Errorf("%s: the question by %s finds %d, want %d", when, name, got, want)
			}
		}
		q := index.Query{Text: "harbor", K: 50, Explain: true, Now: now, Filter: index.Filter{Namespace: "default"}}
		if _, info, err := r.index.Search(t.Context(), 1, q); err != nil || info.Left[0].Rows != want {
			t.Errorf("%s: a filter leaves %v, want %d: %v", when, info.Left, want, err)
		}
	}
	r.apply(l.records, 7)
	count("before", 20)
	done := len(l.records)
	for len(l.records) < 60 { // entries of another kind move the log's time
		l.add(1, &oplog.Relate{ID: fmt.Sprint("e", len(l.records)), Src: "a", Dst: fmt.Sprint("b", len(l.records)),
			Type: "near", Weight: 1, At: oplog.At(now)})
	}
	r.apply(l.records[done:], 7)
	count("after their time", 10)
	r.reopen()
	count("after a restart", 10)
	done = len(l.records)
	l.add(1, &oplog.Sweep{RIDs: []string{"m0", "m1", "m2", "m3"}})
	r.apply(l.records[done:], 1)
	count("between two sweeps", 10)
	done = len(l.records)
	l.add(1, &oplog.Sweep{RIDs: rids})
	r.apply(l.records[done:], 1)
	count("swept", 10)
}

// TestUnsearchableMemoriesAreNotFound: an unsearchable memory has no row until a correction makes it searchable.
func TestUnsearchableMemoriesAreNotFound(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	text := "the harbor opens at dawn"
	m := remember("m", text)
	m.Unsearchable = true
	l.add(1, m)
	at := 0
	find := func(when string, want int) {
		t.Helper()
		r.apply(l.records[at:], 1)
		at = len(l.records)
		for _, q := range []index.Query{{Text: "harbor", K: 5, Now: now}, {K: 5, Now: now}} {
			if got := len(r.ask(q)); got != want {
				t.Errorf("%s: %q finds %d, want %d", when, q.Text, got, want)
			}
		}
	}
	find("stored", 0)
	l.add(1, &oplog.Correct{RID: "m", Text: &text, Searchable: new(true), Reason: "asked about", At: oplog.At(now)})
	find("searchable", 1)
	l.add(1, &oplog.Correct{RID: "m", Searchable: new(false), Reason: "no more", At: oplog.At(now)})
	find("unsearchable", 0)
}

// TestAKeyOfAnExpiredMemoryIsTaken: a memory whose time is over and whose key another one takes before a sweep has
// come is in no answer and in no count from then on.
func TestAKeyOfAnExpiredMemoryIsTaken(t *testing.T) {
	t.Parallel()
	other := "the harbor opens at noon"
	for name, takes := range map[string]oplog.Op{
		"stored":  &oplog.Remember{Content: remember("next", "the harbor is closed").Content},
		"moved":   &oplog.Correct{RID: "other", Place: oplog.Place{Path: new("/k")}, At: oplog.At(now)},
		"guarded": &oplog.Keyed{Namespace: "default", Path: "/k", IfAbsent: true},
	} {
		t.Run(name, func(t *testing.T) {
			r, l := openReplica(t), newLog(t)
			m, o := remember("holder", "the harbor opens at dawn"), remember("other", other)
			m.Path, m.Expires = "/k", l.timeAfter(4)
			l.add(1, m)
			l.add(1, o)
			for range 5 { // entries of another kind move the log's time
				l.add(1, &oplog.Expect{RID: "other"})
			}
			if next, ok := takes.(*oplog.Remember); ok {
				next.Path = "/k"
			}
			l.add(1, takes)
			r.apply(l.records, 1)
			q := index.Query{Text: "harbor opens", K: 50, Explain: true, Now: now, Filter: index.Filter{Namespace: "default"}}
			ask := func() (rids []string, left int) {
				hits, info, err := r.index.Search(t.Context(), 1, q)
				if err != nil {
					t.Fatal(err)
				}
				for _, h := range hits {
					rids = append(rids, h.Memory.RID)
				}
				return rids, info.Left[0].Rows
			}
			rids, left := ask()
			r.reopen()
			again, rest := ask()
			if fmt.Sprint(rids, left) != fmt.Sprint(again, rest) || slices.Contains(rids, "holder") {
				t.Errorf("found %v of %d, after a restart %v of %d", rids, left, again, rest)
			}
			if _, err := r.index.Rebuild(t.Context()); err != nil {
				t.Fatal(err)
			}
			if again, rest = ask(); fmt.Sprint(rids, left) != fmt.Sprint(again, rest) {
				t.Errorf("found %v of %d, after a rebuild %v of %d", rids, left, again, rest)
			}
		})
	}
}
