package logstore

import (
	"runtime"
	"sync/atomic"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
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

// TestTheCacheKeepsNoFrame: a follower's records share the bytes of the frames in which they arrived. The cache keeps
// the records alone, or small ones could hold megabytes each.
func TestTheCacheKeepsNoFrame(t *testing.T) {
	t.Parallel()
	log, err := Open(t.TempDir(), Options{FS: OS{NoSync: true}})
	must(t, err)
	defer log.Close()
	r := &Cache{LogStore: log}
	var freed atomic.Int32
	const frames = 8
	for i := range uint64(frames) {
		frame := make([]byte, 1<<20)
		runtime.AddCleanup(&frame[0], func(int) { freed.Add(1) }, 0)
		must(t, r.StoreLog(&hraft.Log{Index: i + 1, Term: 1, Data: frame[:10:10]}))
	}
	if !suite.Within(suite.Patience, func() bool { runtime.GC(); return freed.Load() == frames }) {
		t.Errorf("%d frames of %d are freed", freed.Load(), frames)
	}
	var l hraft.Log
	if err := r.GetLog(frames, &l); err != nil || len(l.Data) != 10 {
		t.Errorf("the newest record: %d bytes, %v", len(l.Data), err)
	}
}
