package text

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestRewriteLeavesNoFileUnderAnOldKey: several segments, and then the one that they became, are brought under the next
// key while the index is searched and written; then the old key goes, and the index opens.
func TestRewriteLeavesNoFileUnderAnOldKey(t *testing.T) {
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	keys, err := seal.Create(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	dir, n := filepath.Join(home, "text"), uint32(0)
	for round := range 4 {
		x, err := Open(Config{Dir: dir, Keys: keys})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		add := func(rows int) {
			t.Helper()
			var add []Row
			for range rows {
				add = append(add, Row{Row: n, Group: 1, Text: fmt.Sprintf("zzword%d stands here", n)})
				n++
			}
			var del []uint32
			if n > 50 {
				del = []uint32{n - 50}
			}
			if err := x.Apply(uint64(n), add, del); err != nil {
				t.Fatal(err)
			}
			if err := x.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if round > 0 {
			rewritten := make(chan error, 1)
			go func() { rewritten <- x.Rewrite(suite.Context(t)) }()
			add(20)
			if err := <-rewritten; err != nil {
				t.Fatalf("round %d: %v", round, err)
			}
			if err := keys.Retire(); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 * min(1, 2-min(2, round)) { // the last rounds have little
			add(100)
		}
		for _, row := range []uint32{0, n/2 + 1, n - 1} {
			if hits := find(t, x, Query{Text: fmt.Sprintf("zzword%d", row), K: 5}); len(hits) != 1 || hits[0].Row != row {
				t.Errorf("round %d, word %d: %v", round, row, hits)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		if err := x.Rewrite(t.Context()); err == nil {
			t.Error("a closed index was rewritten")
		}
		if err := keys.Rotate(); err != nil {
			t.Fatal(err)
		}
		if keys, _, err = seal.Open(home, masters); err != nil || len(keys.Keys()) != 2 {
			t.Fatal(keys.Keys(), err)
		}
	}
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 2 { // the keyring and the index: nothing was moved aside
		t.Errorf("%v, %v", left, err)
	}
}
