package store

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
)

// Stats are what a store has done since it was opened, and how its tables lie. They come from events and counters of ours: pebble's own Metrics waits for the
// list of tables to be written, and its readers would keep a store whose disk has failed from closing.
type Stats struct {
	Tables, TableBytes     int64
	Unmerged               int64 // bytes of tables above the lowest that has any: what merges have to do, at least
	ReadAmplification      int64 // tables that a read may have to look into: each of level 0, and one of each level below
	Flushes, Merges        int64
	FlushedBytes           int64
	MergedBytes            int64 // written by merges
	CacheHits, CacheMisses int64
	Stalls                 int64 // of writers who waited because the disk was so much slower
	StallTime              time.Duration
	Failures               int64    // of flushes and merges, which are tried again
	Damaged                int64    // times that a block was read, and was not what was written
	DamagedFiles           []string // the paths of the first of their files, sorted
}

// counters are what Stats is made of.
type counters struct {
	flushes, merges, flushed, merged, stalls, stalled, failures, damaged atomic.Int64

	mu        sync.Mutex // held for moments alone: events come with pebble's locks held
	tables    map[uint64]lies
	damagedIn []string
}

// namedFiles bounds how many damaged files Stats names.
const namedFiles = 8

// damage counts a block of a file that is not what was written.
func (c *counters) damage(path string) {
	c.damaged.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if at, named := slices.BinarySearch(c.damagedIn, path); !named && len(c.damagedIn) < namedFiles {
		c.damagedIn = slices.Insert(c.damagedIn, at, path)
	}
}

// lies says where a table lies, and how large it is.
type lies struct {
	level int
	size  int64
}

func (c *counters) flush(i pebble.FlushInfo) {
	if i.Err != nil || !i.Done {
		return
	}
	c.flushes.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range i.Output {
		c.flushed.Add(int64(t.Size))
		c.tables[uint64(t.FileNum)] = lies{0, int64(t.Size)}
	}
}

func (c *counters) merge(i pebble.CompactionInfo) {
	if i.Err != nil || !i.Done {
		return
	}
	c.merges.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock()
	was := map[uint64]bool{} // moved down as they are: not written
	for _, level := range i.Input {
		for _, t := range level.Tables {
			was[uint64(t.FileNum)] = true
			delete(c.tables, uint64(t.FileNum))
		}
	}
	for _, t := range i.Output.Tables {
		if !was[uint64(t.FileNum)] {
			c.merged.Add(int64(t.Size))
		}
		c.tables[uint64(t.FileNum)] = lies{i.Output.Level, int64(t.Size)}
	}
}

// begin takes the tables that there are when a store is opened. Events may have come before.
func (c *counters) begin(levels [][]pebble.SSTableInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tables)
	for n, level := range levels {
		for _, t := range level {
			c.tables[uint64(t.FileNum)] = lies{n, int64(t.Size)}
		}
	}
}

func (c *counters) stall(since time.Time) {
	c.stalls.Add(1)
	c.stalled.Add(int64(time.Since(since)))
}

// Stats reads the counters.
func (s *Store) Stats() Stats {
	c := &s.counters
	out := Stats{Flushes: c.flushes.Load(), Merges: c.merges.Load(), FlushedBytes: c.flushed.Load(), MergedBytes: c.merged.Load(), Stalls: c.stalls.Load(),
		StallTime: time.Duration(c.stalled.Load()), Failures: c.failures.Load(), Damaged: c.damaged.Load()}
	cache := s.cache.Metrics()
	out.CacheHits, out.CacheMisses = cache.Hits, cache.Misses
	c.mu.Lock()
	defer c.mu.Unlock()
	out.DamagedFiles = slices.Clone(c.damagedIn)
	lowest, levels := 0, map[int]bool{}
	for _, t := range c.tables {
		lowest = max(lowest, t.level)
	}
	for _, t := range c.tables {
		out.Tables, out.TableBytes = out.Tables+1, out.TableBytes+t.size
		if t.level < lowest {
			out.Unmerged += t.size
		}
		if t.level == 0 || !levels[t.level] {
			out.ReadAmplification++
		}
		levels[t.level] = true
	}
	return out
}
