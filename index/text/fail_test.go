package text

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"
)

// failing is a store whose batches fail in given turns.
type failing struct {
	bleve.Index
	turns chan error
}

func (s *failing) Batch(b *bleve.Batch) error {
	if err := <-s.turns; err != nil {
		return err
	}
	return s.Index.Batch(b)
}

// TestAFailedRoundLeavesNoRowTwice: no row is found twice when one block of a round is in a segment and another
// cannot be written.
func TestAFailedRoundLeavesNoRowTwice(t *testing.T) {
	x := openAt(t, t.TempDir())
	turns := make(chan error, 2)
	x.mu.Lock()
	x.store = &failing{x.store, turns}
	for i := range uint32(2) {
		for n := range uint32(3) {
			d := Analyse([]string{"needle in hay"})[0].As(i*3+n, 0, Tag{})
			x.seq++
			x.addLocked(d)
		}
		x.open.seq = x.seq
		x.sealLocked()
	}
	x.mu.Unlock()
	turns <- nil
	turns <- errors.New("no space left")
	x.wakeIndexer()
	for deadline := time.Now().Add(10 * time.Second); x.Lag().Err == nil; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the indexer did not fail")
		}
	}
	x.tasks.Wait()
	var f Found
	if err := x.Find(Query{Text: "needle hay"}, &f); err != nil || len(f.Rows) != 6 || f.Terms[0].DF != 6 {
		t.Errorf("got %d rows, %+v, %v; want 6", len(f.Rows), f.Terms, err)
	}
}

// TestTheMarkerIsWrittenAgain: if the file that marks a stored state cannot be written, it is written later.
func TestTheMarkerIsWrittenAgain(t *testing.T) {
	dir := t.TempDir()
	x := openAt(t, dir)
	path := filepath.Join(dir, marker)
	if err := os.Mkdir(path, 0o700); err != nil { // no file can be written there
		t.Fatal(err)
	}
	apply(t, x, []Row{{Row: 1, Text: "one"}})
	settle(t, x)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	apply(t, x, []Row{{Row: 2, Text: "two"}})
	settle(t, x)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		t.Errorf("got %v, %v after another change was stored", info, err)
	}
}
