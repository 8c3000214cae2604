package logstore

import (
	"testing"

	hraft "github.com/hashicorp/raft"
)

// TestTheCacheIsBoundedByBytes: what is read is what was stored, from memory or below it, and memory holds few bytes and few records.
func TestTheCacheIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	below := hraft.NewInmemStore()
	r := &Cache{LogStore: below}
	at := uint64(0)
	store := func(n, size int) {
		var logs []*hraft.Log
		for range n {
			at++
			logs = append(logs, &hraft.Log{Index: at, Term: 1, Data: make([]byte, size)})
		}
		must(t, r.StoreLogs(logs))
	}
	check := func() {
		t.Helper()
		bytes := 0
		for i, l := range r.logs {
			bytes += len(l.Data)
			if l.Index != r.logs[0].Index+uint64(i) {
				t.Fatalf("record %d behind %d", l.Index, r.logs[0].Index)
			}
		}
		if bytes != r.bytes || bytes > CacheBytes || len(r.logs) > CacheRecords {
			t.Fatalf("%d records of %d bytes, counted as %d", len(r.logs), bytes, r.bytes)
		}
		first, _ := below.FirstIndex()
		last, _ := below.LastIndex()
		for i := first; i <= last && i > 0; i++ {
			var l hraft.Log
			if err := r.GetLog(i, &l); err != nil || l.Index != i {
				t.Fatalf("record %d: %d, %v", i, l.Index, err)
			}
		}
	}
	store(300, 10)
	check()
	store(20, 3<<20)
	check()
	store(1, 40<<20) // larger than all there is room for
	check()
	store(5, 10)
	check()
	if len(r.logs) != 5 {
		t.Errorf("%d records are in memory", len(r.logs))
	}
	must(t, r.DeleteRange(at-2, at))
	at -= 3
	check()
	store(2, 20)
	check()
	var l hraft.Log
	if err := r.GetLog(at, &l); err != nil || len(l.Data) != 20 {
		t.Errorf("the record that replaced another: %d bytes, %v", len(l.Data), err)
	}
}
