package text

import (
	"context"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"

	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/raft/rafttest"
)

// rests is a context that counts the pauses of Verify, each of which calls Done, and calls then in each.
type rests struct {
	context.Context
	n    int
	then func()
}

func (r *rests) Done() <-chan struct{} {
	r.n++
	if r.then != nil {
		r.then()
	}
	return r.Context.Done()
}

// TestVerifyRestsWithinAFile: a large segment is read in pieces, with pauses. Cancelling ends the reading between two
// pieces.
func TestVerifyRestsWithinAFile(t *testing.T) {
	t.Parallel()
	const pieces = 5
	raw := make([]byte, (pieces-1)*verifyPiece+1, (pieces-1)*verifyPiece+1+crc32.Size)
	rand.NewChaCha8([32]byte{}).Read(raw)
	path := filepath.Join(t.TempDir(), "000000000001.zap")
	write := func(raw []byte) {
		t.Helper()
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw)))
	counted := &rests{Context: t.Context()}
	if err := verify(counted, path, time.Nanosecond); err != nil || counted.n != pieces {
		t.Errorf("%d rests, %v", counted.n, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	defer cancel()
	cut := &rests{Context: ended, then: cancel}
	if err := verify(cut, path, time.Hour); !errors.Is(err, context.Canceled) || cut.n != 1 {
		t.Errorf("cancelled in the first rest: %d rests, %v", cut.n, err)
	}
	for _, harmed := range [][]byte{raw, raw[:3], {}} { // the last four bytes are not the checksum of the others
		write(harmed)
		if err := verify(t.Context(), path, 0); !errors.Is(err, ErrCorrupt) || damage.PathOf(err, "") != path {
			t.Errorf("%d bytes: %v", len(harmed), err)
		}
	}
}

// TestAMergeCarriesNoDamageOver: a merge rejects a damaged segment with an error, and leaves the file unchanged for
// Verify to find.
func TestAMergeCarriesNoDamageOver(t *testing.T) {
	t.Parallel()
	dir, told := filepath.Join(t.TempDir(), "ix"), make(chan error, 1)
	x, err := Open(Config{Dir: dir, Damaged: func(err error) { told <- err }})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close() // it ends the merge that waits
	add := func(row uint32) {
		t.Helper()
		apply(t, x, []Row{{Row: row, Text: "some hay"}})
		settle(t, x)
	}
	add(0)
	add(1)
	bleve := x.store.(*scorch.Scorch)
	if err := bleve.ForceMerge(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	paths, err := x.segmentPaths() // of one segment, so that no merge is under way
	if err != nil || len(paths) != 1 {
		t.Fatalf("segments %q, %v", paths, err)
	}
	rafttest.FlipOne(t, paths[0], rand.New(rand.NewPCG(1, 2)))
	add(2)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	merged := make(chan error, 1)
	go func() { merged <- bleve.ForceMerge(ctx, nil) }() // unless Bleve does it by itself
	select {
	case err := <-told:
		if !errors.Is(err, ErrCorrupt) || damage.PathOf(err, "") != paths[0] {
			t.Errorf("it tells of %v", err)
		}
	case err := <-merged:
		t.Errorf("the segments were merged, %v", err)
	}
	if err := x.Verify(t.Context(), 0); !errors.Is(err, ErrCorrupt) {
		t.Errorf("after the merge: %v", err)
	}
}

// TestVerifyKeepsNoIndexOpen: an index can be closed and removed while Verify pauses.
func TestVerifyKeepsNoIndexOpen(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "ix")
	x := openAt(t, dir)
	apply(t, x, []Row{{Row: 0, Text: "some hay"}})
	settle(t, x)
	removed := &rests{Context: t.Context(), then: func() {
		if err := errors.Join(x.Close(), os.RemoveAll(dir)); err != nil {
			t.Error(err)
		}
	}}
	if err := x.Verify(removed, time.Nanosecond); err != nil || removed.n == 0 {
		t.Errorf("%d rests, %v", removed.n, err)
	}
	if err := x.Verify(t.Context(), 0); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}
