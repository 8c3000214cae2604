package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// filled returns a replay of n frames with their numbers as data.
func filled(t *testing.T, dir string, limit int64, n int) *replay {
	t.Helper()
	r := newReplay(dir, limit, seal.Ephemeral([]seal.Master{seal.NewMaster()})) // as on a node that encrypts
	t.Cleanup(r.close)
	for i := 1; i <= n; i++ {
		put(r, i)
	}
	return r
}

// put adds a frame as a process does.
func put(r *replay, i int) {
	if r.add(frame{data: payload(i)}) {
		r.spill(new(sync.Mutex))
	}
}

func payload(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%08d", i), maxFrame/8) }

// check reads the frames from one to the last, in small pieces.
func check(t *testing.T, r *replay, from uint64) {
	t.Helper()
	c := cursor{next: from}
	for seq := from; seq <= r.last(); {
		part, err := r.nextRange(c, r.last())
		if err != nil {
			t.Fatalf("frame %d: %v", seq, err)
		}
		var b []byte
		if b, c, err = part.read(nil, []byte(`"p"`), 100_000); err != nil {
			t.Fatalf("frame %d: %v", seq, err)
		}
		for l := range bytes.Lines(b) {
			if want := appendFrame(nil, []byte(`"p"`), seq, frame{data: payload(int(seq))}); !bytes.Equal(l, want) {
				t.Fatalf("frame %d is %.60q", seq, l)
			}
			seq++
		}
	}
}

func TestReplayKeepsEverythingBelowItsLimit(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine writes 2,000 large frames")
	}
	r := filled(t, t.TempDir(), 1<<30, 2000)
	if r.first() != 1 || r.last() != 2000 || r.inMemory > memoryBudget {
		t.Errorf("frames %d to %d, %d bytes held", r.first(), r.last(), r.inMemory)
	}
	for _, from := range []uint64{1, 2, 255, 256, 257, 1300, 1999, 2000} {
		check(t, r, from)
	}
}

func TestReplayDropsTheOldestAboveItsLimit(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine writes 3,000 large frames")
	}
	r := filled(t, t.TempDir(), 32<<20, 3000)
	kept := int64(r.last()-r.first()+1) * maxFrame
	if r.first() == 1 || kept < 32<<20 || r.spilled > 32<<20 {
		t.Errorf("frames %d to %d, %d bytes in files", r.first(), r.last(), r.spilled)
	}
	check(t, r, r.first())
	if _, err := r.nextRange(cursor{next: r.first() - 1}, r.last()); !errors.Is(err, errDropped) {
		t.Errorf("a dropped frame: %v", err)
	}
}

// If nothing can be written, the frames in memory stay, and first and last are correct.
func TestReplayWithoutRoom(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := filled(t, dir, 1<<30, 1000)
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	r.limit = 0 // the existing segment counts as full
	for i := 1001; i <= 2000; i++ {
		put(r, i)
	}
	if r.first() != r.recentFirst() || r.last() != 2000 || r.inMemory > memoryBudget || len(r.recent) == 0 {
		t.Errorf("frames %d to %d, %d in memory", r.first(), r.last(), len(r.recent))
	}
	check(t, r, r.first())
}

func TestReplayLeavesNoFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := filled(t, dir, 1<<30, 2000)
	if l, err := os.ReadDir(dir); err != nil || len(l) != 0 || len(r.segments) == 0 {
		t.Errorf("%v, %v, %d segments", l, err, len(r.segments))
	}
	r.close()
	r.add(frame{stream: exitStream, code: 3})
	for i := range 1000 {
		put(r, i)
	}
	if len(r.segments) != 0 {
		t.Error("a closed replay writes")
	}
}

// A frame range is read without the lock of the process: frames are added, moved and dropped while a client reads.
func TestReadersHoldNoLock(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	r := filled(t, t.TempDir(), 64<<20, 1500)
	var runs []frameRange
	for _, from := range []uint64{1, 300, r.recentFirst(), r.last()} {
		part, err := r.nextRange(cursor{next: from}, r.last())
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, part)
	}
	read := func(part frameRange) error {
		b, c, err := part.read(nil, []byte(`"p"`), 300_000)
		for l := range bytes.Lines(b) {
			if want := appendFrame(nil, []byte(`"p"`), part.start.next, frame{data: payload(int(part.start.next))}); !bytes.Equal(l, want) {
				t.Errorf("frame %d is %.60q", part.start.next, l)
			}
			part.start.next++
		}
		if part.start.next != c.next {
			t.Errorf("the cursor is at %d behind frame %d", c.next, part.start.next-1)
		}
		return err
	}
	for i := 1501; i <= 2000; i++ { // the frames in memory move to a file
		put(r, i)
	}
	for _, part := range runs {
		if err := read(part); err != nil {
			t.Errorf("from %d: %v", part.start.next, err)
		}
	}
	for i := 2001; i <= 6000; i++ { // the frames in files are dropped
		put(r, i)
	}
	if err := read(runs[0]); !errors.Is(err, errDropped) {
		t.Errorf("a run whose file was dropped: %v", err)
	}
	if err := read(runs[3]); err != nil {
		t.Errorf("a run in memory: %v", err)
	}
}
