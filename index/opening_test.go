package index_test

import (
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestOpeningAnIndexHoldsUpNoWrite: a closed index is loaded for long, for a question or for an entry that touches it.
// Follow goes on meanwhile, for this database too, no checkpoint names files without what it left, and the next
// question sees what came. So does the next start.
func TestOpeningAnIndexHoldsUpNoWrite(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"a question", "an entry"} {
		t.Run(by, func(t *testing.T) { holdsUpNoWrite(t, by == "a question") })
	}
}

func holdsUpNoWrite(t *testing.T, question bool) {
	t.Parallel()
	l := history(t, 400)
	first := openReplica(t)
	first.apply(l.records, 100)
	qs := questions()[:10]
	want := first.answers(qs)
	loading, goOn := make(chan oplog.DB, 100), make(chan struct{})
	var cfg index.Config
	index.Loading(&cfg, func(id oplog.DB) { loading <- id; <-goOn })
	r := openReplicaWith(t, cfg)
	r.apply(l.records[:200], 100)
	index.Checkpointed(r.index)
	r.closeAll()
	if n := index.OpenNow(r.index); n > 0 {
		t.Fatalf("%d indexes are open", n)
	}
	asked := make(chan [][]line, 1)
	ask := func() { go func() { asked <- r.answers(qs) }() }
	if question {
		ask()
		suite.Receive(t, "a question to open an index", loading)
	}
	r.apply(l.records[200:], 20) // it returns
	if !question {
		suite.Receive(t, "an entry to have an index opened", loading)
		ask()
	}
	index.CloseUnused(r.index) // it would write a checkpoint
	index.Checkpointed(r.index)
	killed := r.keep("*")
	close(goOn)
	suite.Receive(t, "its answers", asked) // of some point between
	sameAnswers(t, "opened while it was written to", qs, r.answers(qs), want)
	r.reopen()
	sameAnswers(t, "the next start", qs, r.answers(qs), want)
	r.index.Close()
	killed()
	r.openIndex()
	sameAnswers(t, "the start after a crash in between", qs, r.answers(qs), want)
}
