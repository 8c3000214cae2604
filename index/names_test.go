package index_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

// TestNamesOfAnOpenIndex: an index that has followed the log for long has stale names and aliases that differ only in
// case. Questions follow the same names in it as in one that was just opened.
func TestNamesOfAnOpenIndex(t *testing.T) {
	t.Parallel()
	r, l := openReplica(t), newLog(t)
	question := "who of"
	for i := range 9 {
		name := fmt.Sprint("Gone", i)
		m := remember(name, name+" was here")
		m.Entities = []oplog.Mention{{Name: name}}
		l.add(1, m)
		l.add(1, &oplog.Forget{RID: name, At: oplog.At(now)})
		question += " " + name
	}
	l.add(1, remember("tea", "Kestrel prefers tea"))
	l.add(1, remember("mill", "Heron owns a mill"))
	l.add(1, &oplog.Relate{ID: "e", Src: "Ada", Dst: "Kestrel", Type: "knows", Weight: 1, At: oplog.At(now)})
	l.add(1, &oplog.Relate{ID: "f", Src: "Bo", Dst: "Heron", Type: "knows", Weight: 1, At: oplog.At(now)})
	l.add(1, &oplog.Alias{Namespace: "default", Alias: "gaffer", Canonical: "Ada", At: oplog.At(now)})
	l.add(1, &oplog.Alias{Namespace: "default", Alias: "Gaffer", Canonical: "Bo", At: oplog.At(now)})
	r.apply(l.records, 3)
	qs := []index.Query{{Text: question + " and Ada", K: 5, Expand: true}, {Text: "what does gaffer like", K: 5, Expand: true}}
	same := func(when string) {
		t.Helper()
		open := r.answers(qs)
		r.reopen()
		if opened := r.answers(qs); !reflect.DeepEqual(open, opened) {
			t.Errorf("%s:\n open   %v\n opened %v", when, open, opened)
		}
	}
	same("at first")
	at, salt := len(l.records), []byte("a salt of random bytes")
	l.add(1, &oplog.Purge{Name: oplog.NameHash(salt, "Gaffer"), Salt: salt, At: oplog.At(now)})
	r.apply(l.records[at:], 1)
	same("an alias is erased")
}
