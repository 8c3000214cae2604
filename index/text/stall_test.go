package text

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/cairndb/cairn/oplog/suite"
)

// stalled is a Bleve that blocks, as it does during merges, until it is released.
type stalled struct {
	bleve.Index
	waits chan struct{} // told of a batch that waits
	letGo chan struct{}

	release func() // lets it go
}

func (s *stalled) Batch(b *bleve.Batch) error {
	select {
	case s.waits <- struct{}{}:
	default:
	}
	<-s.letGo
	return s.Index.Batch(b)
}

// stallIndex blocks the Bleve of a newly opened index, whose indexer has not been woken yet.
func stallIndex(t *testing.T, x *Index) (s *stalled) {
	s = &stalled{Index: x.store, waits: make(chan struct{}, 1), letGo: make(chan struct{})}
	s.release = sync.OnceFunc(func() { close(s.letGo) })
	t.Cleanup(s.release)
	x.store = s
	return s
}

// TestNothingWaitsForBleve applies changes and searches while Bleve is stalled.
func TestNothingWaitsForBleve(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	x := openAt(t, t.TempDir())
	s := stallIndex(t, x)
	rows := benchTexts(blockRows + 3000)
	for i := range rows {
		rows[i].Text += fmt.Sprintf(" mark%dx", i)
	}
	apply(t, x, rows[:blockRows])
	<-s.waits
	found := func(i int) bool {
		hits := find(t, x, Query{Text: fmt.Sprintf("mark%dx", i)})
		return len(hits) == 1 && hits[0].Row == uint32(i)
	}
	for part := range slices.Chunk(rows[blockRows:], 30) {
		apply(t, x, part, part[0].Row-blockRows)
		if last := int(part[len(part)-1].Row); !found(last) || found(last-blockRows-len(part)+1) {
			t.Fatalf("rows up to %d: the last is not found, or one that was deleted is", last)
		}
	}
	if n, lag := x.onDisk(), x.Lag(); n != 0 || x.inTail() != len(rows) {
		t.Errorf("%d changes on disk, lag %+v: Bleve took something", n, lag)
	}
	s.release()
	settle(t, x)
	if lag := x.Lag(); lag.Unsynced != 0 || x.inTail() != 0 || !found(len(rows)-1) || !found(blockRows-1) || found(0) {
		t.Errorf("afterwards: lag %+v", lag)
	}
}
