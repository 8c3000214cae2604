package index_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestARebuildIsNotSeen: a search during a rebuild gets an answer of the old or the new index. A closed index returns
// an error.
func TestARebuildIsNotSeen(t *testing.T) {
	suite.Full(t)
	r := openReplica(t)
	r.apply(history(t, 200).records, 10)
	q := questions()[0]
	want := len(r.ask(q))
	if want == 0 {
		t.Fatal("nothing is found at rest")
	}
	var askers sync.WaitGroup
	var over atomic.Bool
	for range 4 {
		askers.Go(func() {
			for !over.Load() {
				if hits, _, err := r.index.Search(t.Context(), 1, q); err != nil || len(hits) != want {
					t.Errorf("got %d hits, %v; want %d", len(hits), err, want)
					return
				}
			}
		})
	}
	for range 30 {
		if _, err := r.index.Rebuild(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	over.Store(true)
	askers.Wait()
	r.index.Close()
	if hits, _, err := r.index.Search(t.Context(), 1, q); !errors.Is(err, text.ErrClosed) {
		t.Errorf("closed: got %d hits, %v", len(hits), err)
	}
}
