package index_test

import (
	"fmt"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestAStartOpensFew: a start opens only some of many databases with files. For the others, entries are deferred,
// before and after a restart and a crash. Every database answers as before, with its last entries.
func TestAStartOpensFew(t *testing.T) {
	t.Parallel()
	const dbs, maxOpen = 14, 8
	l := newLog(t)
	for db := range oplog.DB(dbs) {
		if db > 0 {
			l.add(0, &oplog.CreateDB{Name: fmt.Sprint("db", db+1), At: oplog.At(now)})
		}
		for i := range 5 {
			l.add(db+1, remember(fmt.Sprintf("m%d-%d", db+1, i), fmt.Sprintf("the garden of plot%d", i)))
		}
	}
	r := openReplicaWith(t, index.Config{Small: 0})
	r.apply(l.records, 50)
	written := 0
	write := func() { // adds a memory to each database and forgets an old one
		from := len(l.records)
		for db := range oplog.DB(dbs) {
			l.add(db+1, remember(fmt.Sprintf("late%d-%d", db+1, written), fmt.Sprintf("late word%dq", written)))
			l.add(db+1, &oplog.Forget{RID: fmt.Sprintf("m%d-%d", db+1, written), At: oplog.At(now)})
		}
		r.apply(l.records[from:], 7)
		written++
	}
	check := func(when string, open int) {
		t.Helper()
		if n := index.OpenNow(r.index); n > open {
			t.Errorf("%s: %d indexes are open", when, n)
		}
		for db := range oplog.DB(dbs) {
			for i := range written {
				for word, want := range map[string]bool{fmt.Sprintf("word%dq", i): true, fmt.Sprintf("plot%d", i): false} {
					hits, _, err := r.index.Search(t.Context(), db+1, index.Query{Text: word, K: 10, Now: now})
					must(t, err)
					if (len(hits) > 0) != want {
						t.Fatalf("%s: %s in database %d: found is %v", when, word, db+1, !want)
					}
				}
			}
		}
	}
	r.reopen()
	write()
	check("after a start", maxOpen)
	r.closeAll()
	write()
	if n := index.OpenNow(r.index); n > 0 {
		t.Errorf("entries had %d indexes opened", n)
	}
	killed := r.killed(t)
	r.reopen()
	check("entries had passed closed ones by, and a restart", maxOpen)
	r.index.Close()
	killed()
	r.openIndex()
	check("entries had passed closed ones by, and a crash", maxOpen)
	suite.Eventually(t, "counts of closed indexes", func() bool {
		r.closeAll()
		for db := range oplog.DB(dbs) {
			if have, of := r.index.WithVectors(db + 1); have != 0 || of != 5 {
				t.Fatalf("database %d: %d of %d memories have vectors", db+1, have, of)
			}
		}
		return index.OpenNow(r.index) == 0
	})
}

// TestVectorsOfClosedIndexesAreCounted: after any deferred entries a closed index counts its memories, and those with
// vectors, like one that is always open, also after a start.
func TestVectorsOfClosedIndexesAreCounted(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][]func(*changing){
		"memories": {
			func(l *changing) {
				m := remember("late", "with a vector")
				m.Vector = oplog.MakeVector(turned(3))
				l.add(1, m)
				l.add(1, remember("later", "without one"))
			},
			func(l *changing) { l.correct("m05") },
			func(l *changing) { l.add(1, &oplog.Forget{RID: "m06", At: oplog.At(now)}) },
		},
		"another embedder": {func(l *changing) { l.rebind(latter) }, func(l *changing) { l.embed(1, boxes+1) }},
		"no embedder":      {func(l *changing) { l.rebind(oplog.NoEmbedder) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newChanging(t)
			open, closed := openReplicaWith(t, index.Config{Small: 0}), openReplicaWith(t, index.Config{Small: 0})
			done := 0
			check := func(step int) {
				t.Helper()
				open.apply(l.records[done:], 10)
				closed.apply(l.records[done:], 10)
				done = len(l.records)
				have, of := open.index.WithVectors(1)
				for _, when := range []string{"at once", "after a start"} {
					if h, o := closed.index.WithVectors(1); h != have || o != of {
						t.Errorf("step %d, %s: %d of %d have vectors, want %d of %d", step, when, h, o, have, of)
					}
					closed.closeAll()
					closed.reopen()
					closed.closeAll()
				}
			}
			check(0)
			for i, change := range changes {
				change(l)
				check(i + 1)
			}
		})
	}
}
