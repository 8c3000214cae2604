package text

import (
	chain "container/list"
	"strings"
	"sync"
	"sync/atomic"
)

// minCached is the smallest segment whose postings are worth keeping decoded.
const minCached = 1000

// A Cache keeps decoded postings of large segments, and buffers of searches. Postings that are not used are evicted.
// All indexes of a process share one Cache.
type Cache struct {
	idle sync.Pool // of *scratch

	mu    sync.RWMutex
	max   int64
	used  int64
	order chain.List // of *entry: the back is evicted next, or moves to the front if it was used since it was last there
}

// NewCache returns a cache that holds at most this many bytes of postings.
func NewCache(bytes int64) *Cache { return &Cache{max: bytes} }

type entry struct {
	info  *segmentInfo
	term  string
	group int64 // whose rows the list has, or allGroups
	list
	// counted is deaths<<32 | live rows: how many of post are live as of that
	// many deaths, valid while no other row dies.
	counted atomic.Uint64
	used    atomic.Bool // since it last moved to the front
	at      *chain.Element
}

func (e *entry) cost() int64 { return e.bytes() + int64(len(e.term)) + 250 }

const allGroups = -1

func (c *Cache) get(info *segmentInfo, term string, group int64) *entry {
	c.mu.RLock()
	e := info.entries[group][term]
	c.mu.RUnlock()
	if e != nil && !e.used.Load() {
		e.used.Store(true)
	}
	return e
}

// put offers postings to the cache and returns the entry to use, kept or not.
func (c *Cache) put(info *segmentInfo, term string, group int64, l list) *entry {
	e := &entry{info: info, term: strings.Clone(term), group: group, list: l} // term may be a piece of a long query
	e.counted.Store(uncounted)
	c.mu.Lock()
	defer c.mu.Unlock()
	if existing := info.entries[group][term]; existing != nil {
		return existing
	}
	if info.dropped || len(info.rows) < minCached || e.cost() > c.max/4 {
		return e
	}
	if info.entries == nil {
		info.entries = make(map[int64]map[string]*entry)
	}
	if info.entries[group] == nil {
		info.entries[group] = make(map[string]*entry)
	}
	info.entries[group][e.term] = e
	e.at = c.order.PushFront(e)
	for c.used += e.cost(); c.used > c.max; {
		if oldest := c.order.Back().Value.(*entry); oldest.used.Swap(false) && oldest != e {
			c.order.MoveToFront(oldest.at)
		} else {
			c.remove(oldest)
		}
	}
	return e
}

// drop removes the entries of a segment that no longer exists.
func (c *Cache) drop(info *segmentInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info.dropped = true
	for _, terms := range info.entries {
		for _, e := range terms {
			c.remove(e)
		}
	}
}

// remove evicts an entry. The caller holds mu.
func (c *Cache) remove(e *entry) {
	c.order.Remove(e.at)
	delete(e.info.entries[e.group], e.term)
	if len(e.info.entries[e.group]) == 0 {
		delete(e.info.entries, e.group)
	}
	c.used -= e.cost()
}

const uncounted = ^uint64(0)
