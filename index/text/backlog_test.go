package text

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
)

// TestReadyHoldsBack: the rows in one index's tail make Ready wait for all indexes that share the backlog, until
// Bleve has stored them.
func TestReadyHoldsBack(t *testing.T) {
	t.Parallel()
	shared := NewBacklog(1000)
	open := func() *Index {
		x, err := Open(Config{Dir: t.TempDir(), Backlog: shared})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { x.Close() })
		return x
	}
	x, other := open(), open()
	s := stallIndex(t, x)
	rows := make([]Row, 50)
	for i := range rows {
		rows[i] = Row{Row: uint32(i), Text: "words"}
	}
	if err := other.Ready(t.Context()); err != nil {
		t.Fatalf("an empty backlog: %v", err)
	}
	apply(t, x, rows)
	ctx, cancel := context.WithCancel(t.Context())
	<-s.waits // the indexer does not linger while the backlog is full
	cancel()
	if err := other.Ready(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v with %+v in a tail that Bleve does not take", err, x.Lag())
	}
	var ready sync.WaitGroup
	for _, x := range []*Index{x, other} {
		ready.Go(func() {
			if err := x.Ready(t.Context()); err != nil {
				t.Errorf("once Bleve has taken it: %v", err)
			}
		})
	}
	s.release()
	ready.Wait()
	if l := x.Lag(); x.inTail() != 0 || l.Bytes != 0 {
		t.Errorf("ready with %+v", l)
	}
}

// TestReadyCountsWhatIsGone: an index that is closed, or whose indexer has failed, no longer counts in the backlog.
func TestReadyCountsWhatIsGone(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(t *testing.T, x *Index){
		"closed": func(t *testing.T, x *Index) {
			var closing sync.WaitGroup
			closing.Go(func() { x.Close() })
			t.Cleanup(closing.Wait) // the directory goes after that
		},
		"failed": func(_ *testing.T, x *Index) { x.fail(errors.New("no room")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := NewBacklog(1000)
			x, err := Open(Config{Dir: t.TempDir(), Backlog: shared})
			if err != nil {
				t.Fatal(err)
			}
			other, err := Open(Config{Dir: t.TempDir(), Backlog: shared})
			if err != nil {
				t.Fatal(err)
			}
			defer other.Close()
			defer x.Close()
			s := stallIndex(t, x)
			defer s.release()
			rows := make([]Row, 50)
			for i := range rows {
				rows[i] = Row{Row: uint32(i), Text: "words"}
			}
			apply(t, x, rows)
			<-s.waits
			if shared.full() == nil {
				t.Fatal("50 rows are no backlog")
			}
			end(t, x)
			if err := other.Ready(t.Context()); err != nil {
				t.Error(err)
			}
			s.release()
			if err := x.Ready(t.Context()); err == nil {
				t.Errorf("%s, and ready", name)
			}
		})
	}
	t.Run("counts come out even", func(t *testing.T) {
		t.Parallel()
		shared := NewBacklog(1 << 20)
		x, err := Open(Config{Dir: t.TempDir(), Backlog: shared})
		if err != nil {
			t.Fatal(err)
		}
		defer x.Close()
		for i := range uint32(200) {
			apply(t, x, []Row{{Row: i, Text: fmt.Sprintf("word %d", i)}}, i/2)
		}
		settle(t, x)
		if l := x.Lag(); l.Bytes != 0 || shared.tail != 0 || shared.unstored != 0 {
			t.Errorf("all is on disk, and counted are %+v, %d bytes in tails, %d not stored", l, shared.tail, shared.unstored)
		}
	})
}

// TestBlocksAreBoundedByBytes: a block of large texts goes to Bleve with far fewer rows than a block of small texts.
// The size of a row is that of its content.
func TestBlocksAreBoundedByBytes(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	x := openAt(t, t.TempDir())
	s := stallIndex(t, x)
	r := rand.New(rand.NewPCG(3, 4))
	const rows = 300
	text := words(r, 4000, 60_000)
	for i := range uint32(rows) {
		apply(t, x, []Row{{Row: i, Text: text + fmt.Sprintf(" only%dx", i)}})
	}
	x.mu.Lock()
	sum, most := x.open.bytes, len(x.open.rows)
	for _, b := range x.sealed {
		sum, most = sum+b.bytes, max(most, len(b.rows))
		if b.bytes > blockBytes+blockBytes/4 {
			t.Errorf("a block of %d rows and %d bytes", len(b.rows), b.bytes)
		}
	}
	x.mu.Unlock()
	if l := x.Lag(); l.Bytes != sum || x.inTail() != rows || most > rows/2 {
		t.Errorf("got %+v, in blocks %d bytes, in the largest %d rows", l, sum, most)
	}
	s.release()
	settle(t, x)
	if got := find(t, x, Query{Text: "only7x"}); len(got) != 1 || got[0].Row != 7 {
		t.Errorf("got %v", got)
	}
}

// TestOneChangeIsSeveralBlocks: a large change goes to Bleve in blocks of the usual size. All of it is found at once,
// and it counts as persisted when its last block is on disk.
func TestOneChangeIsSeveralBlocks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	x := openAt(t, dir)
	apply(t, x, []Row{{Row: 0, Text: "the change before"}})
	settle(t, x)
	if err := x.Close(); err != nil { // its indexer has been woken
		t.Fatal(err)
	}
	x = openAt(t, dir)
	s := stallIndex(t, x)
	rows := make([]Row, 40)
	for i := range rows {
		var b []byte
		for k := range 3000 {
			b = fmt.Appendf(b, "only%dx%d ", i, k)
		}
		rows[i] = Row{Row: uint32(i + 1), Text: string(b)}
	}
	apply(t, x, rows)
	x.mu.Lock()
	blocks, seq := append([]*block{x.open}, x.sealed...), x.seq
	x.mu.Unlock()
	if len(blocks) < 3 {
		t.Errorf("%d blocks", len(blocks))
	}
	for _, b := range blocks {
		if b.bytes > blockBytes+blockBytes/4 {
			t.Errorf("a block of %d rows and %d bytes", len(b.rows), b.bytes)
		}
		if (b.seq == seq) != (b == blocks[0]) {
			t.Errorf("one of %d blocks, of %d rows, ends change %d of %d", len(blocks), len(b.rows), b.seq, seq)
		}
	}
	found := func() {
		t.Helper()
		for _, i := range []int{0, 17, 39} {
			if got := find(t, x, Query{Text: fmt.Sprintf("only%dx2999", i)}); len(got) != 1 || got[0].Row != uint32(i+1) {
				t.Errorf("row %d: got %v", i+1, got)
			}
		}
	}
	found()
	if n := x.onDisk(); n != 0 {
		t.Errorf("%d changes are on disk while Bleve takes nothing", n)
	}
	s.release()
	settle(t, x)
	found()
	if n := x.onDisk(); n != 1 {
		t.Errorf("%d changes are on disk when all is", n)
	}
}

// TestShortTextsAfterALongOne: the memory that Bleve reserves for a segment does not depend on the lengths of texts
// in the previous segment.
func TestShortTextsAfterALongOne(t *testing.T) {
	suite.Full(t)
	x := openAt(t, t.TempDir())
	var long []byte
	for i := range 30_000 {
		long = fmt.Appendf(long, "word%dx ", i)
	}
	apply(t, x, []Row{{Row: 0, Text: string(long)}})
	settle(t, x)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	rows := make([]Row, 1000)
	for i := range rows {
		rows[i] = Row{Row: uint32(i + 1), Text: "few words"}
	}
	apply(t, x, rows)
	settle(t, x)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 60<<20 {
		t.Errorf("%d rows of two words took %d MB", len(rows), n>>20)
	}
}
