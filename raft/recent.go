package raft

import (
	"sync"

	hraft "github.com/hashicorp/raft"
)

// recent keeps the newest records of a log in memory, for followers that are close behind and for applying. It is bounded by bytes as
// well as by records: the library's own cache counts records, and one may be megabytes.
type recent struct {
	hraft.LogStore

	mu    sync.RWMutex
	logs  []*hraft.Log // consecutive
	bytes int
}

// What recent keeps, at most.
const (
	logCache      = 128
	logCacheBytes = 16 << 20
)

// GetLog implements hraft.LogStore.
func (r *recent) GetLog(index uint64, l *hraft.Log) error {
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
func (r *recent) StoreLog(l *hraft.Log) error { return r.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore.
func (r *recent) StoreLogs(logs []*hraft.Log) error {
	if err := r.LogStore.StoreLogs(logs); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range logs {
		if n := len(r.logs); n > 0 && l.Index != r.logs[n-1].Index+1 {
			r.forget()
		}
		r.logs, r.bytes = append(r.logs, l), r.bytes+len(l.Data)
	}
	out := 0
	for bytes := r.bytes; out < len(r.logs) && (len(r.logs)-out > logCache || bytes > logCacheBytes); out++ {
		bytes -= len(r.logs[out].Data)
		r.bytes = bytes
	}
	kept := copy(r.logs, r.logs[out:])
	clear(r.logs[kept:])
	r.logs = r.logs[:kept]
	return nil
}

// DeleteRange implements hraft.LogStore.
func (r *recent) DeleteRange(first, last uint64) error {
	r.mu.Lock()
	r.forget()
	r.mu.Unlock()
	return r.LogStore.DeleteRange(first, last)
}

func (r *recent) forget() {
	clear(r.logs)
	r.logs, r.bytes = r.logs[:0], 0
}
