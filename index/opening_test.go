package index_test

import (
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestOpeningAnIndexHoldsUpNoWrite: a closed index takes long to load, for a question, for one after deferred
// entries, or because many entries were deferred. Meanwhile Follow continues, for this database too; a checkpoint
// records up to where the files are complete; and the next question and the next start have the new entries.
func TestOpeningAnIndexHoldsUpNoWrite(t *testing.T) {
	t.Parallel()
	for by, deferred := range map[string]int{"a question": 0, "a question behind entries": 0, "much that was left": 5} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			holdsUpNoWrite(t, by == "a question", deferred)
		})
	}
}

func holdsUpNoWrite(t *testing.T, first bool, left int) {
	l := history(t, 400)
	other := openReplica(t)
	other.apply(l.records, 100)
	qs := questions()[:10]
	want := other.answers(qs)
	loading, goOn := make(chan oplog.DB, 100), make(chan struct{})
	var cfg index.Config
	index.Loading(&cfg, left, func(id oplog.DB) { loading <- id; <-goOn })
	r := openReplicaWith(t, cfg)
	r.apply(l.records[:200], 100)
	index.Checkpointed(r.index)
	r.closeAll()
	if n := index.OpenNow(r.index); n > 0 {
		t.Fatalf("%d indexes are open", n)
	}
	asked := make(chan [][]line, 1)
	ask := func() { go func() { asked <- r.answers(qs) }() }
	if first {
		ask()
		suite.Receive(t, "a question to open an index", loading)
	}
	r.apply(l.records[200:], 20) // it returns
	if left > 0 {
		suite.Receive(t, "entries to have an index opened", loading)
		ask()
	} else if !first {
		if len(loading) > 0 {
			t.Error("an entry had an index opened")
		}
		ask()
		suite.Receive(t, "a question to open an index", loading)
	}
	index.CloseUnused(r.index) // it would write a checkpoint
	index.Checkpointed(r.index)
	killed := r.killed(t)
	close(goOn)
	suite.Receive(t, "its answers", asked) // the answers may be of any point in between
	sameAnswers(t, "opened while it was written to", qs, r.answers(qs), want)
	r.reopen()
	sameAnswers(t, "the next start", qs, r.answers(qs), want)
	r.index.Close()
	killed()
	r.openIndex()
	sameAnswers(t, "the start after a crash in between", qs, r.answers(qs), want)
}
