package index_test

import (
	"slices"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestACorrectionAfterAnUndo: an undo of a merge gives its sources the revision that they had before. A correction
// after it has the number that the merge had. The index finds the corrected text, also if undo and correction come in
// one batch, or while it was closed.
func TestACorrectionAfterAnUndo(t *testing.T) {
	t.Parallel()
	for name, closed := range map[string]bool{"in one batch": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			r, l := openReplica(t), newLog(t)
			l.add(1, remember("a", "the harbor opens at dawn"), remember("b", "the harbor closes at noon"))
			l.add(1, &oplog.Recast{Sources: []oplog.Grounds{{RID: "a"}, {RID: "b"}}, At: oplog.At(now),
				Into: []oplog.Remember{*remember("p", "the harbor opens at dawn and closes at noon")}})
			r.apply(l.records, 1)
			done := len(l.records)
			l.add(1, &oplog.TakeBack{Made: []oplog.Grounds{{RID: "p"}}, Sources: []oplog.Grounds{{RID: "a", Revision: 1}, {RID: "b", Revision: 1}},
				At: oplog.At(now) + 1})
			l.add(1, &oplog.Correct{RID: "a", Text: new("the orchard is open"), At: oplog.At(now) + 2})
			if closed {
				r.index.Close()
				_, err := r.state.Apply(l.records[done:])
				must(t, err)
				r.openIndex()
				r.settle()
			} else {
				r.apply(l.records[done:], 10)
			}
			if got := r.found("orchard"); !slices.Equal(got, []string{"a"}) {
				t.Errorf("the new text finds %v", got)
			}
			if got := r.found("dawn"); slices.Contains(got, "a") {
				t.Errorf("the former text finds %v", got)
			}
		})
	}
}

// TestNoMemoryIsLeft: an index whose memories are all forgotten answers each question after a restart, also one that
// counts what its filters leave.
func TestNoMemoryIsLeft(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	l.add(1, remember("a", "the harbor opens at dawn"))
	l.add(1, &oplog.Forget{RID: "a", At: oplog.At(now)})
	r.apply(l.records, 1)
	r.settle()
	r.reopen()
	for _, q := range []index.Query{{Text: "harbor", K: 5}, {K: 5}, {Text: "harbor", K: 5, Explain: true, Filter: index.Filter{Namespace: "default"}},
		{K: 5, Explain: true, Filter: index.Filter{Domain: "work", Consolidated: true}}} {
		if got := r.ask(q); len(got) > 0 {
			t.Errorf("%+v finds %d", q, len(got))
		}
	}
}
