package seal_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestNoBitOfAFileIsServedWrongly flips each bit of short files and of all block headers, and a sample of the others.
func TestNoBitOfAFileIsServedWrongly(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	r := ring(t)
	for _, s := range shapes(t, r) {
		want, err := readAt(r, s.raw)
		if err != nil {
			t.Fatal(err)
		}
		flip := func(bit int) {
			bad := bytes.Clone(s.raw)
			bad[bit/8] ^= 1 << (bit % 8)
			for name, read := range map[string]func(*seal.Ring, []byte) ([]byte, error){"in order": readAll, "in any order": readAt} {
				if got, err := read(r, bad); err == nil {
					t.Fatalf("%s, %s: bit %d of byte %d changed unseen; %d bytes, of %d", s.name, name, bit%8, bit/8, len(got), len(want))
				} else if !errors.Is(err, seal.ErrDamaged) && bit/8 >= 8 { // the first eight bytes are the magic of a sealed file
					t.Fatalf("%s, %s: byte %d: %v", s.name, name, bit/8, err)
				}
			}
		}
		for bit := 0; bit < len(s.raw)*8; bit += suite.Count(7, 1, 1) {
			if len(s.raw) <= 2048 || bit/8 < sector+24 || bit%499 == 0 {
				flip(bit)
			}
		}
	}
}

// TestACutFileIsSeen: truncation at any length is detected, except that a file with several syncs may appear as it
// was at an earlier sync.
func TestACutFileIsSeen(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	r := ring(t)
	for _, s := range shapes(t, r) {
		all, whole := text(4*plain), -1
		for n := range len(s.raw) {
			if plainEnd, ok := s.ends[n]; ok {
				whole = plainEnd
			}
			if len(s.raw) > 4096 && n%sector > 30 && n%sector < sector-20 && n%211 != 0 {
				continue
			}
			got, err := readAt(r, s.raw[:n])
			if whole < 0 && err == nil {
				t.Fatalf("%s: cut to %d, %d bytes are there", s.name, n, len(got))
			}
			if whole >= 0 && (err != nil || !bytes.Equal(got, all[:whole])) {
				t.Fatalf("%s: cut to %d, %d bytes of %d are there: %v", s.name, n, len(got), whole, err)
			}
			if _, ok := s.ends[n]; ok {
				continue
			}
			if _, err := readAll(r, s.raw[:n]); err == nil {
				t.Fatalf("%s: cut to %d, and read in order", s.name, n)
			}
		}
		for _, more := range [][]byte{{1}, text(sector), s.raw[sector:], s.raw[len(s.raw)-sector:]} {
			if _, err := readAll(r, append(bytes.Clone(s.raw), more...)); !errors.Is(err, seal.ErrDamaged) {
				t.Errorf("%s, with %d bytes more: %v", s.name, len(more), err)
			}
		}
	}
}

// TestAMovedBlockIsSeen: swapped, repeated and missing blocks are detected, and blocks of another file with the same
// key.
func TestAMovedBlockIsSeen(t *testing.T) {
	t.Parallel()
	r := ring(t)
	a, b := sealFile(t, text(5*plain), r.Writer), sealFile(t, text(5*plain), r.Writer)
	at := func(raw []byte, n int) []byte { return raw[sector+n*block : sector+(n+1)*block] }
	for name, change := range map[string]func(bad []byte) []byte{
		"two places":           func(bad []byte) []byte { copy(at(bad, 1), at(a, 2)); copy(at(bad, 2), at(a, 1)); return bad },
		"twice":                func(bad []byte) []byte { copy(at(bad, 3), at(a, 2)); return bad },
		"another file":         func(bad []byte) []byte { copy(at(bad, 2), at(b, 2)); return bad },
		"another file's last":  func(bad []byte) []byte { copy(at(bad, 4), at(b, 4)); return bad },
		"another file's head":  func(bad []byte) []byte { copy(bad, b[:sector]); return bad },
		"left out":             func(bad []byte) []byte { return slices.Delete(bad, sector+block, sector+2*block) },
		"the last one earlier": func(bad []byte) []byte { copy(at(bad, 2), at(a, 4)); return bad[:sector+3*block] },
	} {
		bad := change(bytes.Clone(a))
		if _, err := readAll(r, bad); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("%s, in order: %v", name, err)
		}
		if _, err := readAt(r, bad); !errors.Is(err, seal.ErrDamaged) {
			t.Errorf("%s, in any order: %v", name, err)
		}
	}
}

// TestACrashLeavesWhatWasSynced: power fails at any moment of the writing. Any subset of the unsynced sectors is on
// the disk.
func TestACrashLeavesWhatWasSynced(t *testing.T) {
	t.Parallel()
	r := ring(t)
	rapid.Check(t, func(t *rapid.T) {
		f := draw(t, r)
		d := f.d
		durable, page := 0, rapid.SampledFrom([]int{sector, 4096}).Draw(t, "page")
		for range rapid.IntRange(1, 6).Draw(t, "syncs") {
			f.sync()
			durable = len(f.want)
			f.write(1, 500, 5000, plain, 2*plain+10)
		}
		safe := d.synced
		if rapid.Bool().Draw(t, "in a sync") { // its mark is written, but may not be on the disk
			f.sync()
		}
		left := bytes.Clone(d.data)
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		for at := safe / page * page; at < len(left); at += page {
			if rng.IntN(2) == 0 {
				clear(left[max(at, safe):min(at+page, len(left))])
			}
		}
		left = left[:safe+rng.IntN(len(left)-safe+1)]
		got, err := readAt(r, left)
		if err != nil || len(got) < durable || !bytes.Equal(got, f.want[:len(got)]) {
			t.Fatalf("%d bytes were synced, %d are there: %v", durable, len(got), err)
		}
	})
}

// TestZerosInWhatWasSyncedAreDamage: a sector that a disk lost reads as zeros, like one that was never written. A
// later mark shows that it was written.
func TestZerosInWhatWasSyncedAreDamage(t *testing.T) {
	t.Parallel()
	r := ring(t)
	d := syncedFile(t, r, 100, 2*plain, 3*plain, 3*plain+10)
	for at := sector; at < d.marks[2]; at += sector {
		bad := bytes.Clone(d.data)
		clear(bad[at : at+sector])
		if got, err := readAt(r, bad); !errors.Is(err, seal.ErrDamaged) {
			t.Fatalf("a sector at %d is lost: %d bytes are there, %v", at, len(got), err)
		}
	}
}

// failingWriter accepts room bytes and then fails.
type failingWriter struct{ room int }

func (f *failingWriter) Write(p []byte) (int, error) {
	n := min(len(p), f.room)
	f.room -= n
	if n < len(p) {
		return n, errors.New("disk is full")
	}
	return n, nil
}

// TestAFailedWriteStays: after a failed write, every later write fails. A block that reached the disk in part must
// not be written again with other content.
func TestAFailedWriteStays(t *testing.T) {
	t.Parallel()
	f := &failingWriter{room: sector + block + 100}
	w, err := ring(t).Writer(f)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = w.Write(text(3 * plain)); err == nil {
		t.Fatal("a full disk took it")
	}
	f.room = 1 << 20
	if _, again := w.Write([]byte("more")); again != err {
		t.Errorf("write: %v", again)
	}
	if again := w.Close(); again != err {
		t.Errorf("close: %v", again)
	}
	if f.room != 1<<20 {
		t.Errorf("%d bytes were written behind what failed", 1<<20-f.room)
	}
}
