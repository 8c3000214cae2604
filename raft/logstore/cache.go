package logstore

import (
	"sync"

	hraft "github.com/hashicorp/raft"
)

// Cache keeps the newest records of a log in memory, for followers that are close behind and for applying. It is bounded by bytes as
// well as by records: the library's own cache counts records, and one may be megabytes.
type Cache struct {
	hraft.LogStore

	mu    sync.RWMutex
	logs  []*hraft.Log // consecutive
	bytes int
}

// What a Cache keeps, at most.
const (
	CacheRecords = 128
	CacheBytes   = 16 << 20
)

// GetLog implements hraft.LogStore.
func (r *Cache) GetLog(index uint64, l *hraft.Log) error {
	r.mu.RLock()
	if n := len(r.logs); n > 0 && index >= r.logs[0].Index && index <= r.logs[n-1].Index {
		*l = *r.logs[index-r.logs[0].Index]
		r.mu.RUnlock()
		return nil
	}
	r.mu.RUnlock()
	return r.LogStore.GetLog(index, l)
}

// StoreLog implements hraft.LogStore.
func (r *Cache) StoreLog(l *hraft.Log) error { return r.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore.
func (r *Cache) StoreLogs(logs []*hraft.Log) error {
	if err := r.LogStore.StoreLogs(logs); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range logs {
		if n := len(r.logs); n > 0 && l.Index != r.logs[n-1].Index+1 {
			r.clear()
		}
		r.logs, r.bytes = append(r.logs, l), r.bytes+len(l.Data)
	}
	out := 0
	for bytes := r.bytes; out < len(r.logs) && (len(r.logs)-out > CacheRecords || bytes > CacheBytes); out++ {
		bytes -= len(r.logs[out].Data)
		r.bytes = bytes
	}
	kept := copy(r.logs, r.logs[out:])
	clear(r.logs[kept:])
	r.logs = r.logs[:kept]
	return nil
}

// DeleteRange implements hraft.LogStore.
func (r *Cache) DeleteRange(first, last uint64) error {
	r.mu.Lock()
	r.clear()
	r.mu.Unlock()
	return r.LogStore.DeleteRange(first, last)
}

func (r *Cache) clear() {
	clear(r.logs)
	r.logs, r.bytes = r.logs[:0], 0
}
