package index_test

import (
	"fmt"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestPieces: an index that continues from the pieces of its checkpoints answers like one that was never closed,
// however often it is closed or killed in between.
func TestPieces(t *testing.T) {
	suite.NotShort(t, "many records, one after the other")
	t.Parallel()
	l, qs := history(t, 900), questions()[:suite.Count(15, 60, 60)]
	whole := openReplica(t)
	cfg := index.Config{}
	index.Pieces(&cfg, 20)
	r := openReplicaWith(t, cfg)
	most := 0
	for i := 0; i < len(l.records); i += 60 {
		next := l.records[i:min(i+60, len(l.records))]
		whole.apply(next, 7)
		r.apply(next, 3)
		files, _ := index.PiecesOf(r.index, 1)
		most = max(most, len(files))
		switch i / 60 % 3 {
		case 1:
			r.reopen()
		case 2: // the last checkpoint is what a crash would have left
			restore := r.killed(t)
			r.index.Close()
			restore()
			r.openIndex()
		}
		sameAnswers(t, fmt.Sprint("after ", i), qs, r.answers(qs), whole.answers(qs))
		if err := index.CheckMembers(r.index, 1); err != nil {
			t.Fatal(err)
		}
	}
	if most < 3 {
		t.Errorf("a checkpoint had %d pieces at most", most)
	}
}

// TestACheckpointWritesWhatChanged: while a database grows, all its checkpoints together write each row only a few
// times.
func TestACheckpointWritesWhatChanged(t *testing.T) {
	suite.NotShort(t, "many records, one after the other")
	t.Parallel()
	const unit, n = 50, 6400
	cfg := index.Config{}
	index.Pieces(&cfg, unit)
	r, l := openReplicaWith(t, cfg), newLog(t)
	r.apply(l.records, 1)
	written, seen := 0, map[string]bool{}
	for i := 0; i < n; i += unit {
		var ops []oplog.Op
		for k := i; k < i+unit; k++ {
			ops = append(ops, remember(fmt.Sprintf("m%05d", k), vocabulary[k%len(vocabulary)]))
		}
		l.add(1, ops...)
		r.apply(l.records[len(l.records)-1:], 1)
		files, rows := index.PiecesOf(r.index, 1)
		if len(files) > 12 {
			t.Fatalf("%d pieces of %d rows", len(files), i+unit)
		}
		for _, f := range files {
			if !seen[f] {
				seen[f] = true
				written += rows[f]
			}
		}
	}
	if most := 5 * n; written > most { // and one more for each factor of four
		t.Errorf("%d rows were written %d times, at most %d are due", n, written, most)
	}
	at := len(l.records)
	for k := range 3 {
		text := fmt.Sprint("castle ", k)
		l.add(1, &oplog.Correct{RID: fmt.Sprintf("m%05d", k), Text: &text, Reason: "moved", At: oplog.At(now)})
	}
	r.apply(l.records[at:], 1)
	r.reopen()
	if files, rows := index.PiecesOf(r.index, 1); rows[files[len(files)-1]] > 4*unit {
		t.Errorf("three corrections wrote a piece of %d rows", rows[files[len(files)-1]])
	}
}

// TestDeadRowsLeave: a memory that was corrected many times, or renamed, costs as much memory as another, also after
// a start.
func TestDeadRowsLeave(t *testing.T) {
	t.Parallel()
	suite.NotShort(t, "thousands of batches, one after the other")
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("first", "a castle"), remember("second", "a river"))
	for i := range 5000 {
		text := fmt.Sprintf("a castle of %d towers", i)
		l.add(1, &oplog.Correct{RID: "first", Text: &text, Reason: "counted again", At: oplog.At(now),
			Entities: []oplog.Mention{{Name: fmt.Sprintf("tower %d", i)}}})
	}
	r.apply(l.records, 2)
	if n := index.Names(r.index, 1); n > 1100 {
		t.Errorf("%d names for two memories", n)
	}
	check := func(when string) {
		t.Helper()
		if n := index.Chunks(r.index, 1); n > 2 {
			t.Errorf("%s: %d chunks for two memories", when, n)
		}
		if got := r.ask(index.Query{Text: "castle 4999 towers", K: 5}); len(got) != 1 {
			t.Errorf("%s: %v", when, got)
		}
		if got := r.ask(index.Query{Text: "river", K: 5}); len(got) != 1 {
			t.Errorf("%s: %v", when, got)
		}
	}
	check("corrected")
	r.reopen()
	check("opened again")
}

// TestWhatWasForgottenLeaves: an open index frees the sessions, speakers and facet rows of forgotten memories, and
// still finds the other sessions.
func TestWhatWasForgottenLeaves(t *testing.T) {
	t.Parallel()
	suite.NotShort(t, "thousands of batches, one after the other")
	r, l := openReplica(t), newLog(t)
	memory := func(rid, session, speaker, namespace string) *oplog.Remember {
		op := remember(rid, "a castle with towers")
		op.Session, op.Speaker, op.Namespace = session, speaker, namespace
		return op
	}
	l.add(1, memory("stays", "first", "Ada", "default"))
	for space := range 4 {
		for i := range 1000 {
			of := fmt.Sprint(space, "-", i)
			l.add(1, memory("gone "+of, "session "+of, "speaker "+of, fmt.Sprint("space ", space)))
		}
		for i := range 1000 {
			l.add(1, &oplog.Forget{RID: fmt.Sprint("gone ", space, "-", i), At: oplog.At(now)})
		}
	}
	l.add(1, memory("last", "first", "Ada", "default"))
	r.apply(l.records[:1], 1)
	r.ask(index.Query{Text: "castle", K: 5}) // opens it
	r.apply(l.records[1:], 1)
	if sessions, speakers, entries := index.Kept(r.index, 1); sessions > 2000 || speakers > 2000 || entries > 200 {
		t.Errorf("for two memories: %d sessions, %d speakers, %d rows in the lists of facets", sessions, speakers, entries)
	}
	for _, when := range []string{"after forgetting", "opened again"} {
		if got := r.ask(index.Query{Text: "castle", K: 5, Filter: index.Filter{Session: "first"}}); len(got) != 2 {
			t.Errorf("%s: %v", when, got)
		}
		r.reopen()
	}
}
