package text

import (
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// waits reports whether Bleve's persister, which writes the list once when it begins, is idle.
func waits(x *Index) bool {
	n, _ := x.store.(*scorch.Scorch).StatsMap()["TotPersistLoopWait"].(uint64)
	return n > 0
}

// TestFlippedListOfSegmentsInUse flips bits of the list of segments under an open index, and then applies a batch. No
// flip may end the process or keep the index from being closed. Verify, the batch or the next start finds the damage,
// or the index has all rows.
func TestFlippedListOfSegmentsInUse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kept := filepath.Join(t.TempDir(), "kept")
			x, err := Open(Config{Dir: kept, Keys: keys})
			if err != nil {
				t.Fatal(err)
			}
			const had, has = 60, 63
			for i := uint64(1); i <= had; i++ {
				row, del := change(i)
				apply(t, x, []Row{row}, del...)
				if i%20 == 0 {
					settle(t, x)
				}
			}
			if err := x.Close(); err != nil {
				t.Fatal(err)
			}
			rng, ends := rand.New(rand.NewPCG(4, 1)), rafttest.Ends{}
			for i := range rafttest.Flips(6) {
				dir := filepath.Join(t.TempDir(), "text")
				if err := os.CopyFS(dir, os.DirFS(kept)); err != nil {
					t.Fatal(err)
				}
				if x, err = Open(Config{Dir: dir, Keys: keys}); err != nil {
					t.Fatal(err)
				}
				suite.Eventually(t, "Bleve to have nothing to do", func() bool { return waits(x) })
				bit := rafttest.FlipLive(t, filepath.Join(dir, rootFile), rng)
				var found error
				if i%2 == 0 {
					found = x.Verify(t.Context(), 0)
				}
				for i := uint64(had + 1); i <= has; i++ {
					row, del := change(i)
					apply(t, x, []Row{row}, del...)
				}
				if found == nil {
					found = x.Sync(context.Background())
				}
				if found != nil && !errors.Is(found, ErrCorrupt) {
					t.Fatalf("bit %d: %v", bit, found)
				}
				if err := x.Close(); err != nil {
					t.Fatal(err)
				}
				switch x, err = Open(Config{Dir: dir, Keys: keys}); {
				case err == nil:
					replayAndCompare(t, x, has)
					x.Close()
				case found != nil && errors.Is(err, ErrLocked): // Bleve was abandoned with its locks, which end with the process
				case !errors.Is(err, ErrCorrupt):
					t.Fatalf("bit %d, the next start: %v", bit, err)
				}
				switch {
				case found != nil:
					ends.Add(rootFile, rafttest.Caught)
				case err != nil:
					ends.Add(rootFile, "caught at the next start")
				default:
					ends.Add(rootFile, rafttest.Dead)
				}
				if err := os.RemoveAll(filepath.Dir(dir)); err != nil {
					t.Fatal(err)
				}
			}
			ends.Log(t)
		})
	}
}
