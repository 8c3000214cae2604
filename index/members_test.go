package index_test

import (
	"fmt"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestMembers: the lists of rows by facet have all rows, whatever happened to these, also after a restart and when
// made from the state.
func TestMembers(t *testing.T) {
	l := history(t, 1500)
	r := openReplica(t)
	check := func(when string) {
		t.Helper()
		if err := index.CheckMembers(r.index, 1); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	for i := 0; i < len(l.records); i += 300 {
		r.apply(l.records[i:min(i+300, len(l.records))], 7)
		check(fmt.Sprint(i, " records"))
	}
	end := len(l.records)
	for i := range 500 {
		rid := fmt.Sprint("changing", i)
		l.add(1, remember(rid, "a text of its own"))
		l.add(1, &oplog.Correct{RID: rid, Text: new("another text"), At: oplog.At(now)}, &oplog.Forget{RID: rid, At: oplog.At(now)})
	}
	r.apply(l.records[end:], 50)
	check("after corrections")
	r.reopen()
	check("opened again")
	r.settle()
	_, err := r.index.Rebuild(t.Context())
	must(t, err)
	check("rebuilt")
}
