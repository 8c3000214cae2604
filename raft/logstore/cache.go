package logstore

import (
	"bytes"
	"sync"

	hraft "github.com/hashicorp/raft"
)

// Cache keeps the newest records of a log in memory, for followers that lag slightly and for applying. Unlike the
// library's cache it keeps no large records, so that its memory is bounded in bytes: one record may be megabytes.
type Cache struct {
	hraft.LogStore

	mu   sync.RWMutex
	logs [CacheRecords]*hraft.Log // at index modulo CacheRecords; nil if not cached
}

// A Cache keeps up to CacheRecords records of at most CacheBytes each: 16 MiB together.
const (
	CacheRecords = 128
	CacheBytes   = 128 << 10
)

// GetLog implements hraft.LogStore.
func (r *Cache) GetLog(index uint64, l *hraft.Log) error {
	r.mu.RLock()
	kept := r.logs[index%CacheRecords]
	r.mu.RUnlock()
	if kept != nil && kept.Index == index {
		*l = *kept
		return nil
	}
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
		at := l.Index % CacheRecords
		if r.logs[at] = nil; len(l.Data) <= CacheBytes {
			kept := *l
			kept.Data, r.logs[at] = bytes.Clone(l.Data), &kept // l may share the frame of megabytes that it arrived in
		}
	}
	return nil
}

// DeleteRange implements hraft.LogStore. A snapshot cuts the log's beginning as well, so the cache begins again then.
func (r *Cache) DeleteRange(first, last uint64) error {
	r.mu.Lock()
	clear(r.logs[:])
	r.mu.Unlock()
	return r.LogStore.DeleteRange(first, last)
}
