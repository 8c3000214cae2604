package store

import (
	"sync"
	"time"

	"github.com/cockroachdb/pebble/v2"

	"github.com/cairndb/cairn/oplog/damage"
)

// Stats counts what a store has done since it was opened, and says how its tables lie. The numbers come from events
// and our own counters: pebble's own Metrics waits for the list of tables to be written, and its readers would keep a
// store whose disk has failed from closing.
type Stats struct {
	Tables, TableBytes     int64
	Unmerged               int64 // bytes of tables above the lowest that has any: what merges have to do, at least
	ReadAmplification      int64 // tables that a read may have to look into: each of level 0, and one of each level below
	Flushes, Merges        int64
	FlushedBytes           int64
	MergedBytes            int64 // written by merges
	CacheHits, CacheMisses int64
	Stalls                 int64 // of writers that waited because the disk was so much slower
	StallTime              time.Duration
	Failures               int64         // of flushes and merges, which are tried again
	Damaged                int64         // reads of blocks that were damaged
	DamagedFiles           []damage.File // the first of their files
}

// counters holds the numbers for Stats.
type counters struct {
	mu     sync.Mutex // held for moments alone: events come with pebble's locks held
	did    Stats      // what is counted, and not what is computed of tables, the cache and damage
	tables map[uint64]tableInfo

	damaged damage.Files
}

// damage counts a damaged block of a file.
func (c *counters) damage(path string) { c.damaged.Found(damage.File{Kind: damage.State, Path: path}) }

// tableInfo holds a table's level and size.
type tableInfo struct {
	level int
	size  int64
}

func (c *counters) flush(i pebble.FlushInfo) {
	if i.Err != nil || !i.Done {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did.Flushes++
	for _, t := range i.Output {
		c.did.FlushedBytes += int64(t.Size)
		c.tables[uint64(t.FileNum)] = tableInfo{0, int64(t.Size)}
	}
}

func (c *counters) merge(i pebble.CompactionInfo) {
	if i.Err != nil || !i.Done {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did.Merges++
	was := map[uint64]bool{} // moved down as they are: not written
	for _, level := range i.Input {
		for _, t := range level.Tables {
			was[uint64(t.FileNum)] = true
			delete(c.tables, uint64(t.FileNum))
		}
	}
	for _, t := range i.Output.Tables {
		if !was[uint64(t.FileNum)] {
			c.did.MergedBytes += int64(t.Size)
		}
		c.tables[uint64(t.FileNum)] = tableInfo{i.Output.Level, int64(t.Size)}
	}
}

// setTables sets the tables to those that exist when a store is opened. Events may have come before.
func (c *counters) setTables(levels [][]pebble.SSTableInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tables)
	for n, level := range levels {
		for _, t := range level {
			c.tables[uint64(t.FileNum)] = tableInfo{n, int64(t.Size)}
		}
	}
}

func (c *counters) stall(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did.Stalls, c.did.StallTime = c.did.Stalls+1, c.did.StallTime+time.Since(since)
}

func (c *counters) failure() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.did.Failures++
}

// Stats reads the counters.
func (s *Store) Stats() Stats {
	c, cache := &s.counters, s.cache.Metrics()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.did
	out.Damaged, out.DamagedFiles = c.damaged.Times(damage.State), c.damaged.List()
	out.CacheHits, out.CacheMisses = cache.Hits, cache.Misses
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
