package text

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// bleveRaces is why the race detector does not see Rewrite.
const bleveRaces = "Bleve's rewriting sets a number that its persister reads, without a lock"

// TestRewriteLeavesNoFileUnderAnOldKey: several segments, and then the single one merged from them, are rewritten
// under the next key while the index is searched and written. Then the old key is dropped, and the index opens.
func TestRewriteLeavesNoFileUnderAnOldKey(t *testing.T) {
	suite.NotShort(t, bleveRaces)
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
			if err := x.Apply(add, del); err != nil {
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
	if left, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(left) != 2 { // keyring and index, nothing aside
		t.Errorf("%v, %v", left, err)
	}
}

// TestRewriteOfADamagedList: rewriting an open index with a damaged page in its list of segments neither ends the
// process nor keeps the index from being closed.
func TestRewriteOfADamagedList(t *testing.T) {
	suite.NotShort(t, bleveRaces)
	t.Parallel()
	caught := 0
	for from := 2; from < 8; from++ {
		dir, keys := filepath.Join(t.TempDir(), "text"), newRing()
		x, err := Open(Config{Dir: dir, Keys: keys})
		if err != nil {
			t.Fatal(err)
		}
		for i := range uint32(4) {
			apply(t, x, []Row{{Row: i, Text: "some words"}})
			settle(t, x)
		}
		suite.Eventually(t, "Bleve to have nothing to do", func() bool { return waits(x) })
		f, err := os.OpenFile(filepath.Join(dir, rootFile), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		page := make([]byte, os.Getpagesize())
		for i := range page {
			page[i] = byte(i)
		}
		if _, err := f.WriteAt(page, int64(from*len(page))); err != nil {
			t.Fatal(err)
		}
		f.Close()
		done := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			err := x.Rewrite(ctx)
			if found := x.Verify(context.Background(), 0); errors.Is(err, ErrCorrupt) != errors.Is(found, ErrCorrupt) ||
				err != nil && !errors.Is(err, ErrCorrupt) {
				t.Errorf("page %d: Rewrite says %v, Verify %v", from, err, found)
			}
			if err != nil {
				caught++
			}
			done <- x.Close()
		}()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Fatalf("page %d: the index is not closed", from)
		}
	}
	if caught == 0 {
		t.Error("no damage was in a page that is read")
	}
}

// TestAnIndexThatIsClosedMeanwhile: Bleve is called to rewrite an index that was closed after its keys were checked.
func TestAnIndexThatIsClosedMeanwhile(t *testing.T) {
	x, err := Open(Config{Dir: t.TempDir(), Keys: newRing()})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if err := x.dropKeys(map[string]struct{}{"1": {}}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v, want %v", err, ErrClosed)
	}
}
