package text

import (
	"fmt"
	"testing"
)

// TestCacheIsBounded fills a small cache far beyond its bound and drops a segment.
func TestCacheIsBounded(t *testing.T) {
	c := NewCache(100_000)
	a := &segmentInfo{rows: make([]uint32, minCached)}
	b := &segmentInfo{rows: make([]uint32, minCached)}
	for i := range 500 {
		c.put(a, fmt.Sprint("a", i), make([]posting, 100))
		c.put(b, fmt.Sprint("b", i), make([]posting, 100))
		if got := c.Bytes(); got > 100_000 {
			t.Fatalf("after %d: %d bytes", i, got)
		}
	}
	if c.get(a, "a499") == nil || c.get(a, "a0") != nil {
		t.Error("the newest entry is gone or the oldest is not")
	}
	if e := c.put(a, "large", make([]posting, 50_000)); e == nil || c.get(a, "large") != nil {
		t.Error("an entry larger than a quarter of the cache was kept")
	}
	c.drop(a)
	c.drop(b)
	if got := c.Bytes(); got != 0 || c.lru.Len() != 0 {
		t.Errorf("got %d bytes in %d entries after both segments went", got, c.lru.Len())
	}
	c.put(a, "late", make([]posting, 10))
	if got := c.Bytes(); got != 0 {
		t.Errorf("a segment that is gone was cached: %d bytes", got)
	}
}
