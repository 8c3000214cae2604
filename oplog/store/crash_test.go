package store

import (
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestACrashLeavesWholeBatches crashes the machine before every write, sync, rename, link and remove, with all, some
// or none of the unsynced data on the disk, while batches are written, flushed and merged. The store then holds a
// batch and all batches before it, at least up to the last completed flush.
func TestACrashLeavesWholeBatches(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := vfs.NewCrashableMem()
			fs := &faultyFS{FS: mem}
			type crash struct {
				op      string
				flushed int
				left    [3]*vfs.MemFS
			}
			var crashes []crash
			var flushed atomic.Int64
			rng := rand.New(rand.NewPCG(1, 1))
			fs.set(func(op, name string) error {
				c := crash{op: op + " " + name, flushed: int(flushed.Load())}
				for i, percent := range []int{0, 50, 100} {
					c.left[i] = mem.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: rng})
				}
				crashes = append(crashes, c)
				return nil
			})
			o := Options{Keys: keys, Buffer: 64 << 10, fs: fs}
			s, err := Open("state", o, nil)
			must(t, err)
			const batches = 30
			for n := 1; n <= batches; n++ {
				must(t, commitBatch(s, n))
				if n%3 == 0 {
					must(t, s.Flush())
					flushed.Store(int64(n))
				}
			}
			must(t, s.Close())
			flushed.Store(batches)
			fs.set(nil)
			if len(crashes) < 100 {
				t.Fatalf("only %d steps", len(crashes))
			}
			seen := map[string]bool{}
			for i, c := range crashes {
				seen[strings.Fields(c.op)[0]] = true
				for j, left := range c.left {
					s, err := Open("state", Options{Keys: keys, fs: left}, nil)
					if err != nil {
						t.Fatalf("step %d (%s), left %d: %v", i, c.op, j, err)
					}
					at, err := lastBatch(s)
					if err != nil || at < c.flushed {
						t.Fatalf("step %d (%s), left %d: at %d, flushed %d: %v", i, c.op, j, at, c.flushed, err)
					}
					must(t, commitBatch(s, at+1)) // the store can be written
					must(t, s.Close())
				}
			}
			for _, op := range []string{"write", "sync", "create", "remove"} {
				if !seen[op] {
					t.Errorf("no step was a %s", op)
				}
			}
		})
	}
}
