package seal_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/seal"
)

// Constants of the format (see doc.go).
const (
	sector = 512
	block  = 16 << 10
	plain  = block - 24 - 16 // plain bytes of a full block
)

// crashDisk is a file on a disk that loses power. Each sector written since the last sync may or may not be on it.
type crashDisk struct {
	data   []byte
	synced int
	marks  []int // length of data at each sync
}

func (d *crashDisk) Write(p []byte) (int, error) { d.data = append(d.data, p...); return len(p), nil }
func (d *crashDisk) Sync() error {
	d.synced = len(d.data)
	d.marks = append(d.marks, d.synced)
	return nil
}

func text(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i % 251)
	}
	return b
}

func sealFile(t testing.TB, plain []byte, open func(io.Writer) (*seal.Writer, error)) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := open(&b)
	if err != nil {
		t.Fatal(err)
	}
	for piece := range slices.Chunk(plain, 10_000) {
		if _, err := w.Write(piece); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// syncedFile returns a file that was synced after each of the lengths.
func syncedFile(t testing.TB, r *seal.Ring, lengths ...int) *crashDisk {
	t.Helper()
	d := &crashDisk{}
	w, err := r.Writer(d)
	if err != nil {
		t.Fatal(err)
	}
	all, at := text(slices.Max(lengths)), 0
	for _, n := range lengths {
		if _, err := w.Write(all[at:n]); err != nil {
			t.Fatal(err)
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
		at = n
	}
	return d
}

func readAll(r *seal.Ring, sealed []byte) ([]byte, error) {
	in, err := r.Reader(iotest.HalfReader(bytes.NewReader(sealed)))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(in)
}

func readAt(r *seal.Ring, sealed []byte) ([]byte, error) {
	f, err := r.At(bytes.NewReader(sealed), int64(len(sealed)))
	if err != nil {
		return nil, err
	}
	out := make([]byte, f.Size())
	_, err = f.ReadAt(out, 0)
	return out, err
}

// TestFiles: files of all lengths around block boundaries can be read sequentially and in random order.
func TestFiles(t *testing.T) {
	t.Parallel()
	r := ring(t)
	for _, size := range []int{0, 1, 471, 472, 473, plain - 1, plain, plain + 1, 3 * plain, 3*plain + 7} {
		want := text(size)
		sealed := sealFile(t, want, r.Writer)
		if len(sealed)%sector != 0 {
			t.Errorf("%d bytes take %d, no whole sectors", size, len(sealed))
		}
		if got, err := readAll(r, sealed); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: %d come back, %v", size, len(got), err)
		}
		f, err := r.At(bytes.NewReader(sealed), int64(len(sealed)))
		if err != nil {
			t.Fatal(err)
		}
		if err := iotest.TestReader(io.NewSectionReader(f, 0, f.Size()), want); err != nil {
			t.Errorf("%d bytes in any order: %v", size, err)
		}
		if _, err := f.ReadAt(make([]byte, 1), f.Size()); !errors.Is(err, io.EOF) {
			t.Errorf("behind the end of %d bytes: %v", size, err)
		}
	}
}

// A drawnFile is written in random pieces with random syncs.
type drawnFile struct {
	t    *rapid.T
	d    *crashDisk
	w    *seal.Writer
	want []byte
}

func draw(t *rapid.T, r *seal.Ring) *drawnFile {
	d := &crashDisk{}
	w, err := r.Writer(d)
	if err != nil {
		t.Fatal(err)
	}
	return &drawnFile{t: t, d: d, w: w}
}

func (f *drawnFile) sync() {
	if err := f.w.Sync(); err != nil {
		f.t.Fatal(err)
	}
}

// write appends a piece whose length is drawn from lengths.
func (f *drawnFile) write(lengths ...int) {
	piece := text(rapid.SampledFrom(lengths).Draw(f.t, "length"))
	f.want = append(f.want, piece...)
	if _, err := f.w.Write(piece); err != nil {
		f.t.Fatal(err)
	}
}

// TestAFileIsWhatWasWritten compares a file with a plain one: random pieces and syncs, and reads of random parts by
// several readers.
func TestAFileIsWhatWasWritten(t *testing.T) {
	t.Parallel()
	r := ring(t)
	rapid.Check(t, func(t *rapid.T) {
		made := draw(t, r)
		d := made.d
		for range rapid.IntRange(0, 12).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "sync") {
				made.sync()
				if got, err := readAt(r, d.data); err != nil || !bytes.Equal(got, made.want) { // while the writer is open
					t.Fatalf("%d bytes were synced, %d are there: %v", len(made.want), len(got), err)
				}
				continue
			}
			made.write(0, 1, 100, 472, plain-1, plain, plain+1, 40_000)
		}
		if err := made.w.Close(); err != nil {
			t.Fatal(err)
		}
		want := made.want
		if got, err := readAll(r, d.data); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("in order: %d of %d bytes, %v", len(got), len(want), err)
		}
		f, err := r.At(bytes.NewReader(d.data), int64(len(d.data)))
		if err != nil || f.Size() != int64(len(want)) {
			t.Fatalf("%d bytes, %v", len(want), err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		var readers sync.WaitGroup
		for i := range 2 {
			readers.Go(func() {
				rng := rand.New(rand.NewPCG(seed, uint64(i)))
				for range 20 {
					from := rng.IntN(len(want) + 1)
					p := make([]byte, rng.IntN(min(len(want)-from, 50_000)+1))
					if n, err := f.ReadAt(p, int64(from)); n != len(p) || err != nil || !bytes.Equal(p, want[from:from+n]) {
						t.Errorf("%d bytes at %d: %d, %v", len(p), from, n, err)
						return
					}
				}
			})
		}
		readers.Wait()
	})
}

// shape is a file, and the plain length that is readable if it is truncated after each of its marks.
type shape struct {
	name string
	raw  []byte
	ends map[int]int // length on the disk → plain length
}

func shapes(t testing.TB, r *seal.Ring) (all []shape) {
	for _, lengths := range [][]int{{0}, {300}, {plain}, {3*plain + 7}, {10, 300, 1000}, {0, 100, 2*plain + 5, 2*plain + 5, 3 * plain}} {
		d := syncedFile(t, r, lengths...)
		s := shape{fmt.Sprint(lengths), d.data, map[int]int{}}
		for i, at := range d.marks {
			s.ends[at] = lengths[i]
		}
		all = append(all, s)
	}
	return all
}

// FuzzFile: only sealed content opens, and random reads return the same as sequential ones.
func FuzzFile(f *testing.F) {
	r := ring(f)
	whole := sealFile(f, []byte("a memory"), r.Writer)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(sealFile(f, nil, r.Backup))
	synced := syncedFile(f, r, 100, 200).data
	f.Add(synced)
	f.Fuzz(func(t *testing.T, in []byte) {
		plain, err := readAll(r, in)
		if err == nil && !bytes.Equal(in, whole) && !bytes.Equal(in, synced) && len(plain) != 0 {
			t.Fatalf("%d bytes opened that were not sealed", len(plain))
		}
		at, atErr := readAt(r, in)
		if err == nil && (atErr != nil || !bytes.Equal(at, plain)) {
			t.Fatalf("in order it opens, in any order: %v", atErr)
		}
		if _, err := r.Open(nil, in, nil); err == nil {
			t.Fatal("a value opened that was not sealed")
		}
	})
}
