package text

import (
	"errors"
	"testing"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"
)

// failing is a store whose batches fail or not, each as its turn says.
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

// TestAFailedRoundLeavesNoRowTwice: of the blocks of a round, one is in a segment when another cannot be written.
func TestAFailedRoundLeavesNoRowTwice(t *testing.T) {
	x := openAt(t, t.TempDir())
	turns := make(chan error, 2)
	x.mu.Lock()
	x.store = &failing{x.store, turns}
	for i := range uint32(2) {
		for n := range uint32(3) {
			d := Analyse([]string{"needle in hay"})[0].As(i*3+n, 0, Tag{})
			x.seq++
			x.addLocked(d.d)
		}
		x.open.applied, x.open.seq = x.applied, x.seq
		x.sealLocked()
	}
	x.mu.Unlock()
	turns <- nil
	turns <- errors.New("no space left")
	x.poke()
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
