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
		c.put(a, fmt.Sprint("a", i), allGroups, list{post: make([]uint32, 200)})
		c.put(b, fmt.Sprint("b", i), allGroups, list{post: make([]uint32, 200)})
		if got := c.Bytes(); got > 100_000 {
			t.Fatalf("after %d: %d bytes", i, got)
		}
	}
	if c.get(a, "a499", allGroups) == nil || c.get(a, "a0", allGroups) != nil {
		t.Error("the newest entry is gone or the oldest is not")
	}
	if e := c.put(a, "large", allGroups, list{post: make([]uint32, 100_000)}); e == nil || c.get(a, "large", allGroups) != nil {
		t.Error("an entry larger than a quarter of the cache was kept")
	}
	c.drop(a)
	c.drop(b)
	if got := c.Bytes(); got != 0 || c.order.Len() != 0 {
		t.Errorf("got %d bytes in %d entries after both segments went", got, c.order.Len())
	}
	c.put(a, "late", allGroups, list{post: make([]uint32, 20)})
	if got := c.Bytes(); got != 0 {
		t.Errorf("a segment that is gone was cached: %d bytes", got)
	}
}
