package index_test

import (
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// BenchmarkAWriteToAClosedIndex times Follow for one memory of a large database whose index is closed.
func BenchmarkAWriteToAClosedIndex(b *testing.B) {
	l := history(b, 20_000)
	r := openReplica(b)
	r.apply(l.records, 1000)
	b.ResetTimer()
	for b.Loop() {
		b.StopTimer()
		r.settle()
		r.closeAll()
		n := len(l.records)
		l.add(1, &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "one more", Namespace: "default",
			Created: oplog.At(now)}})
		b.StartTimer()
		r.apply(l.records[n:], 1)
	}
}
