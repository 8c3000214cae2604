package logstore

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
)

// newKeptLog returns the files of a closed log, several segments of whose beginning were cut off and retained.
func newKeptLog(t *testing.T, keys *seal.Ring) (files *memoryFS, kept, want []*hraft.Log) {
	t.Helper()
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, keys)}
	s.open()
	for i := range uint64(60) {
		s.want = append(s.want, record(i+1, i*8+1, 200))
		must(t, s.log.StoreLog(s.want[i]))
	}
	must(t, errors.Join(s.log.DeleteRange(1, 45), s.log.Close()))
	return s.files.killed(), s.want[:45], s.want[45:]
}

// watchedFS is a file system that records which files are opened, and how much of them is read.
type watchedFS struct {
	*memoryFS
	opened map[string]bool
	read   map[string]int
}

func watch(files *memoryFS) watchedFS { return watchedFS{files, map[string]bool{}, map[string]int{}} }

func (w watchedFS) Open(name string) (File, error) {
	w.opened[filepath.Base(name)] = true
	f, err := w.memoryFS.Open(name)
	return watchedFile{f, w, filepath.Base(name)}, err
}

type watchedFile struct {
	File
	w    watchedFS
	name string
}

func (f watchedFile) ReadAt(b []byte, at int64) (int, error) {
	n, err := f.File.ReadAt(b, at)
	f.w.read[f.name] += n
	return n, err
}

// TestAStartReadsNoKeptRecord: a start neither opens nor reads retained segments, and a Reader opens only those that
// it reads.
func TestAStartReadsNoKeptRecord(t *testing.T) {
	t.Parallel()
	files, kept, want := newKeptLog(t, nil)
	w := watch(files)
	log, err := Open("log", smallSegments(w, nil))
	must(t, err)
	first := log.segs[len(log.segs)-1].first
	for _, g := range log.segs {
		if g.kept == w.opened[filepath.Base(g.name)] {
			t.Errorf("%s: kept %v, opened %v", g.name, g.kept, !g.kept)
		}
		if !g.kept {
			first = min(first, g.first)
		}
	}
	if n := log.segmentsBefore(want[0].Index); n < 4 {
		t.Fatalf("only %d segments are kept", n)
	}
	r := log.Reader()
	_, err = r.Read(kept[20].Index)
	r.Close()
	opened := 0
	for _, g := range log.segs {
		if g.kept && w.opened[filepath.Base(g.name)] {
			opened++
		}
	}
	if err != nil || opened != 1 {
		t.Errorf("one record, and %d kept segments were opened: %v", opened, err)
	}
	must(t, errors.Join(compareKept(log, kept, want), log.Close()))
	if _, err := log.Reader().Read(1); !errors.Is(err, ErrClosed) {
		t.Errorf("read from a closed log: %v", err)
	}
}

// TestDamageOfKeptRecords: if a bit changes in a retained segment, or the segment is missing, the retained records up
// to there are lost and nothing else. The log opens, goes on, and reports the loss once. A Reader never returns a
// wrong record.
func TestDamageOfKeptRecords(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, kept, want := newKeptLog(t, keys)
			var names []string
			for name := range made.now {
				if first, ok := parseSegmentName(filepath.Base(name)); ok && first < 38 {
					names = append(names, name)
				}
			}
			slices.Sort(names)
			rng := rand.New(rand.NewPCG(5, 6))
			found := 0
			for i := range 300 {
				files := made.killed()
				if name := names[i%len(names)]; i < len(names) {
					delete(files.now, name)
				} else {
					b := files.now[name].bytes
					b[rng.IntN(len(b))] ^= 1 << rng.IntN(8)
				}
				told := 0
				o := smallSegments(files, keys)
				o.Lost = func(error) { told++ }
				log, err := Open("log", o)
				must(t, err)
				r := log.Reader()
				for _, w := range kept {
					l, err := r.Read(w.Index)
					if err == nil && (l.Term != w.Term || !slices.Equal(l.Data, w.Data)) {
						t.Fatalf("record %d is another", w.Index)
					}
					if err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, hraft.ErrLogNotFound) {
						t.Fatal(err)
					}
				}
				r.Close()
				left := slices.DeleteFunc(slices.Clone(kept), func(l *hraft.Log) bool { return l.Index < log.FirstKept() })
				must(t, errors.Join(compareLog(log, want), compareKept(log, left, want)))
				if lost := len(left) < len(kept); lost != (told > 0) || told > 1 {
					t.Fatalf("%d of %d records are left, and that was told %d times", len(left), len(kept), told)
				} else if lost {
					found++
				}
				if i%2 == 0 { // a rewrite drops unreadable records
					must(t, log.Reseal(want[len(want)-1].Index))
				} else {
					must(t, log.Erase(1, eraseData))
				}
				must(t, errors.Join(compareLog(log, want), compareKept(log, left, want), log.Close()))
			}
			if found < 50 {
				t.Errorf("%d times something was lost", found)
			}
		})
	}
}

// TestReadersBesideAWriter: readers run while records are stored, cut off, dropped, rewritten and erased. Each read
// returns the original record, its erased form, or an error.
func TestReadersBesideAWriter(t *testing.T) {
	t.Parallel()
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
	s.open()
	store := func(n int) {
		for range n {
			l := record(s.last()+1, s.last()*8+1, 100)
			s.want = append(s.want, l)
			must(t, s.log.StoreLog(l))
		}
	}
	store(100)
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for n := range uint64(3) {
		readers.Go(func() {
			rng := rand.New(rand.NewPCG(n, 1))
			for {
				r := s.log.Reader()
				from := s.log.FirstKept() + uint64(rng.IntN(50))
				for i := from; i < from+30; i++ {
					l, err := r.Read(i)
					if err != nil && !errors.Is(err, hraft.ErrLogNotFound) ||
						err == nil && !slices.Equal(l.Data, erasedData) && !slices.Equal(l.Data, record(i, (i-1)*8+1, 100).Data) {
						t.Errorf("record %d: %v, %v", i, l, err)
					}
				}
				r.Close()
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for i := range uint64(60) {
		store(10)
		must(t, s.log.DeleteRange(1, s.last()-50))
		if i%3 == 0 {
			must(t, s.log.Reseal(s.last()))
		}
		if i%5 == 4 {
			s.retain += 50
			must(t, s.log.Erase(s.log.FirstKept()+3, eraseData))
		}
	}
	close(stop)
	readers.Wait()
	must(t, s.log.Close())
}

// TestSalvageReadsNoKeptRecord: Salvage of a damaged log does not read the retained records into memory.
func TestSalvageReadsNoKeptRecord(t *testing.T) {
	t.Parallel()
	files, kept, want := newKeptLog(t, nil)
	w := watch(files)
	r := Salvage("log", smallSegments(w, nil), want[0].Index)
	if r.End != want[len(want)-1].Index || r.Open || len(r.Records) != len(want) {
		t.Errorf("it ended at %d, open %v, with %d records", r.End, r.Open, len(r.Records))
	}
	if n := w.read[segmentName(kept[0].Index)]; n != headerSize {
		t.Errorf("%d bytes of a kept segment were read", n)
	}
}
