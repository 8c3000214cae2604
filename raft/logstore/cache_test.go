package logstore

import (
	"testing"

	hraft "github.com/hashicorp/raft"
)

// TestTheCacheIsBoundedByBytes: reads return the stored records, from the cache or the log below, and the cache holds
// a bounded number of bytes and records.
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
		for at, l := range r.logs {
			if l != nil && (l.Index%CacheRecords != uint64(at) || len(l.Data) > CacheBytes) {
				t.Fatalf("record %d of %d bytes at %d", l.Index, len(l.Data), at)
			}
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
	store(1, 40<<20)
	check()
	store(5, 10)
	check()
	if newest := r.logs[at%CacheRecords]; newest == nil || newest.Index != at {
		t.Error("the newest record is not in memory")
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
