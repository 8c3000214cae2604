package store

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2"
)

// TestAFlushMissesNoBatch: a batch that was committed before a call of Flush is on the disk after it, also when other
// calls ran while it was committed.
func TestAFlushMissesNoBatch(t *testing.T) {
	t.Parallel()
	s, err := Open(filepath.Join(t.TempDir(), "state"), Options{NoSync: true}, nil)
	must(t, err)
	defer s.Close()
	var others sync.WaitGroup
	stop := make(chan struct{})
	others.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = s.Flush() // the test's own calls return the same errors
			}
		}
	})
	for n := 1; n <= 300 && !t.Failed(); n++ {
		must(t, commitBatch(s, n))
		must(t, s.Flush())
		it, err := s.db.NewIter(&pebble.IterOptions{OnlyReadGuaranteedDurable: true})
		must(t, err)
		if !it.SeekGE(rowKey(n, 0)) || string(it.Key()) != string(rowKey(n, 0)) {
			t.Errorf("batch %d is not on the disk", n)
		}
		must(t, it.Close())
	}
	close(stop)
	others.Wait()
}
