package text

import (
	"container/list"
	"strings"
	"sync"
	"sync/atomic"
)

// minCached is the smallest segment whose postings are worth keeping decoded.
const minCached = 1000

// A Cache keeps decoded postings of large segments, least recently used out, and the buffers of searches. One
// Cache is meant to be shared by all indexes of a process.
type Cache struct {
	idle sync.Pool // of *scratch

	mu   sync.Mutex
	max  int64
	used int64
	lru  list.List // of *entry, front is newest
}

// NewCache returns a cache that holds at most so many bytes of postings.
func NewCache(bytes int64) *Cache { return &Cache{max: bytes} }

type entry struct {
	info *segmentInfo
	term string
	post []posting
	// counted is deaths<<32 | live rows: how many of post are live as of that
	// many deaths, valid while no other row dies.
	counted atomic.Uint64
	at      *list.Element
}

func (e *entry) cost() int64 { return int64(8*len(e.post) + len(e.term) + 200) }

func (c *Cache) get(info *segmentInfo, term string) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := info.entries[term]
	if e != nil {
		c.lru.MoveToFront(e.at)
	}
	return e
}

// put offers postings to the cache and returns the entry to use, kept or not.
func (c *Cache) put(info *segmentInfo, term string, post []posting) *entry {
	e := &entry{info: info, term: strings.Clone(term), post: post} // term may be a piece of a long query
	e.counted.Store(uncounted)
	c.mu.Lock()
	defer c.mu.Unlock()
	if had := info.entries[term]; had != nil {
		return had
	}
	if info.dropped || len(info.rows) < minCached || e.cost() > c.max/4 {
		return e
	}
	if info.entries == nil {
		info.entries = make(map[string]*entry)
	}
	info.entries[e.term] = e
	e.at = c.lru.PushFront(e)
	for c.used += e.cost(); c.used > c.max; {
		c.remove(c.lru.Back().Value.(*entry))
	}
	return e
}

// drop forgets a segment that is gone.
func (c *Cache) drop(info *segmentInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	info.dropped = true
	for _, e := range info.entries {
		c.remove(e)
	}
}

// remove runs under mu.
func (c *Cache) remove(e *entry) {
	c.lru.Remove(e.at)
	delete(e.info.entries, e.term)
	c.used -= e.cost()
}

// Bytes returns how much the cache holds.
func (c *Cache) Bytes() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.used
}

const uncounted = ^uint64(0)
