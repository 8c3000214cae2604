package store

import (
	"fmt"
	"testing"
	"time"
)

// TestPeekNew: it sees the rows in buffers and in tables of every level, and the rows that the batch has written and
// removed since the first call, but no row that was deleted before.
func TestPeekNew(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			s, err := Open(t.TempDir(), Options{Keys: keys}, nil)
			must(t, err)
			defer s.Close()
			key := func(i int) []byte { return fmt.Appendf(nil, "key %05d", i) }
			put := func(from, to int) {
				b := s.Batch()
				defer b.Close()
				for i := from; i < to; i++ {
					must(t, b.Set(key(i), []byte("value")))
				}
				must(t, b.Commit())
			}
			put(0, 1000)
			must(t, s.Flush())
			must(t, s.Compact(t.Context(), []Span{{}}, func(int64) time.Duration { return 0 }))
			put(2000, 3000)
			must(t, s.Flush())
			put(4000, 5000)
			b := s.Batch()
			must(t, b.Delete(key(1)))
			must(t, b.DeleteRange(key(10), key(20)))
			must(t, b.Commit())
			b.Close()
			b = s.Batch()
			defer b.Close()
			there := func(i int) bool { return i/1000%2 == 0 && i < 6000 && i != 1 && (i < 10 || i >= 20) }
			all := func() {
				t.Helper()
				for i := range 7000 {
					if v, has, err := b.PeekNew(key(i)); err != nil || has != there(i) || has && string(v) != "value" {
						t.Fatalf("key %d: %q, %v, %v", i, v, has, err)
					}
				}
			}
			all()
			must(t, b.Set(key(6001), []byte("value")))
			must(t, b.Delete(key(2)))
			before := there
			there = func(i int) bool { return before(i) && i != 2 || i == 6001 }
			all()
			must(t, b.DeleteRange(key(30), key(40)))
			then := there
			there = func(i int) bool { return then(i) && (i < 30 || i >= 40) }
			all()
			for i := 6100; i < 6200; i++ {
				must(t, b.Set(key(i), []byte("value")))
				if _, has, err := b.PeekNew(key(i)); !has || err != nil {
					t.Fatalf("key %d, just written: %v, %v", i, has, err)
				}
			}
			must(t, b.Commit())
		})
	}
}
