package store

import (
	"fmt"
	"testing"
	"time"
)

// TestSnapshotForAbsent: it knows the rows of buffers and of tables of every level, none that was deleted, and none that came after it.
func TestSnapshotForAbsent(t *testing.T) {
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
			must(t, s.Compact(t.Context(), func(int64) time.Duration { return 0 }))
			put(2000, 3000)
			must(t, s.Flush())
			put(4000, 5000)
			b := s.Batch()
			defer b.Close()
			must(t, b.Delete(key(1)))
			must(t, b.DeleteRange(key(10), key(20)))
			must(t, b.Commit())
			f, err := s.SnapshotForAbsent()
			must(t, err)
			defer f.Close()
			put(6000, 6001)
			for i := range 7000 {
				want := i/1000%2 == 0 && i < 6000 && i != 1 && (i < 10 || i >= 20)
				if _, has, err := f.Peek(key(i)); err != nil || has != want {
					t.Fatalf("key %d: %v, %v", i, has, err)
				}
			}
		})
	}
}
