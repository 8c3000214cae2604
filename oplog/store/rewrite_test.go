package store

import (
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestFilesAreRewrittenUnderAnotherKeyWhileTheyAreUsed: a store is read and written while its files are rewritten
// under the active key. Then the old key is removed, and the store opens with the new key only.
func TestFilesAreRewrittenUnderAnotherKeyWhileTheyAreUsed(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	keys, err := seal.Create(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	dir, at := filepath.Join(home, "state"), 0
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		s, err := Open(dir, Options{Keys: keys}, func(err error) { t.Error(err) })
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		check := func() {
			t.Helper()
			if got, err := lastBatch(s); err != nil || got != at {
				t.Fatalf("round %d: at %d, want %d: %v", round, got, at, err)
			}
		}
		check()
		var rewriting sync.WaitGroup
		if round > 0 {
			rewriting.Go(func() {
				if err := keys.RewriteAll(t.Context(), dir, nil); err != nil {
					t.Errorf("round %d: %v", round, err)
				}
			})
		}
		for i := range 200 {
			at++
			if err := commitBatch(s, at); err != nil {
				t.Fatal(err)
			}
			if i%50 == 0 {
				if err := s.Flush(); err != nil {
					t.Fatal(err)
				}
				check()
			}
		}
		rewriting.Wait()
		check()
		if left, err := keys.OutdatedFiles(dir); err != nil || len(left) > 0 {
			t.Errorf("round %d: %q, %v", round, left, err)
		}
		if round > 0 {
			if err := keys.Retire(); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := keys.Rotate(); err != nil {
			t.Fatal(err)
		}
		if keys, _, err = seal.Open(home, masters); err != nil || len(keys.Keys()) != 2 {
			t.Fatal(keys.Keys(), err)
		}
	}
}
