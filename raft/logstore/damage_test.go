package logstore

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/rafttest"
)

// newUsedLog returns the files of a log of several segments whose store was closed, or killed.
func newUsedLog(t *testing.T, keys *seal.Ring, closed bool) (files *memoryFS, want []*hraft.Log) {
	t.Helper()
	rng := rand.New(rand.NewPCG(11, 12))
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, keys)}
	s.open()
	for i := uint64(1); i <= 40; {
		var logs []*hraft.Log
		for range 1 + rng.IntN(3) {
			logs = append(logs, record(i, rng.Uint64(), rng.IntN(300)))
			i++
		}
		must(t, s.log.StoreLogs(logs))
		want = append(want, logs...)
	}
	s.log.NoteCommitted(9)
	must(t, errors.Join(s.log.StoreCommitted(), s.log.DeleteRange(1, 12)))
	if closed {
		must(t, s.log.Close())
	}
	return s.files.killed(), want[12:]
}

// TestFlippedBits: of 1,000 bits flipped one by one in the files of a closed log, each is detected at the next start,
// or changes nothing. A log that a node rebuilds from the rest has no record that was never written, and names each
// missing one.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	for name, tc := range map[string]struct {
		keys   *seal.Ring
		closed bool
	}{"plain closed": {nil, true}, "plain killed": {nil, false}, "sealed closed": {newRing(), true}, "sealed killed": {newRing(), false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, want := newUsedLog(t, tc.keys, tc.closed)
			rng := rand.New(rand.NewPCG(3, 7))
			ends, kept, lost := rafttest.Ends{}, 0, 0
			for range 1000 {
				files := made.killed()
				name := flip(files, rng)
				log, err := Open("log", smallSegments(files, tc.keys))
				if err == nil {
					ends.Add("log", rafttest.Dead)
					if err := compareLog(log, want); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
					if got := log.Committed(); got != 9 {
						t.Fatalf("%s: committed up to %d", name, got)
					}
					continue
				}
				if !errors.Is(err, ErrDamaged) {
					t.Fatalf("%s: %v", name, err)
				}
				ends.Add("log", rafttest.Caught)
				r := Salvage("log", smallSegments(files, tc.keys), want[0].Index)
				if r.End != want[len(want)-1].Index || r.Open {
					t.Fatalf("%s: %v: the log ended at %d, open %v", name, err, r.End, r.Open)
				}
				for _, w := range want {
					if l := r.Records[w.Index]; l == nil {
						lost++
					} else if l.Term != w.Term || !slices.Equal(l.Data, w.Data) {
						t.Fatalf("%s: record %d is another", name, w.Index)
					} else {
						kept++
					}
				}
			}
			ends.Report(t)
			if found := ends["log"][rafttest.Caught]; lost > found {
				t.Errorf("%d records lost by %d bits", lost, found)
			}
			t.Logf("salvage kept %d records and named %d", kept, lost)
		})
	}
}

// flip changes a random bit; files are chosen in proportion to their length.
func flip(files *memoryFS, rng *rand.Rand) (name string) {
	var names []string
	total := 0
	for name, f := range files.now {
		names, total = append(names, name), total+len(f.bytes)
	}
	slices.Sort(names)
	at := rng.IntN(total)
	for _, name := range names {
		f := files.now[name]
		if at < len(f.bytes) {
			f.bytes[at] ^= 1 << rng.IntN(8)
			return filepath.Base(name)
		}
		at -= len(f.bytes)
	}
	panic("beyond the last file")
}

// TestFlippedBitsUnderARunningStore: the store returns a record unchanged, or not at all.
func TestFlippedBitsUnderARunningStore(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			made, want := newUsedLog(t, keys, true)
			log, err := Open("log", smallSegments(made, keys))
			must(t, err)
			defer log.Close()
			rng, ends := rand.New(rand.NewPCG(4, 8)), rafttest.Ends{}
			for range 1000 {
				before := map[string][]byte{}
				for name, f := range made.now {
					before[name] = slices.Clone(f.bytes)
				}
				flip(made, rng)
				bad := 0
				for _, w := range want {
					var l hraft.Log
					switch err := log.GetLog(w.Index, &l); {
					case errors.Is(err, ErrDamaged):
						bad++
					case err != nil || l.Term != w.Term || !slices.Equal(l.Data, w.Data):
						t.Fatalf("record %d: %v, %v", w.Index, l, err)
					}
				}
				switch bad {
				case 0:
					ends.Add("segments", rafttest.Dead)
				case 1:
					ends.Add("segments", rafttest.Caught)
				default:
					t.Fatalf("one bit, and %d records are damaged", bad)
				}
				for name, f := range made.now {
					copy(f.bytes, before[name])
				}
			}
			ends.Report(t)
		})
	}
}

// TestALogCutShort: Open reports damage if the last segment is truncated at any byte, or if a file is missing.
func TestALogCutShort(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	made, want := newUsedLog(t, nil, false)
	log, err := Open("log", smallSegments(made, nil))
	must(t, err)
	newest, other := log.segs[len(log.segs)-1].name, log.segs[1].name
	made = made.killed()
	for n := range len(made.now[newest].bytes) {
		files := made.killed()
		files.now[newest].bytes = files.now[newest].bytes[:n]
		if _, err := Open("log", smallSegments(files, nil)); !errors.Is(err, ErrDamaged) {
			t.Fatalf("cut to %d bytes: %v", n, err)
		}
		r := Salvage("log", smallSegments(files, nil), 0)
		if !r.Open && r.End < want[len(want)-1].Index {
			t.Fatalf("cut to %d bytes: it is said to have ended at %d", n, r.End)
		}
	}
	for _, name := range []string{newest, other, filepath.Join("log", metaFile)} {
		files := made.killed()
		delete(files.now, name)
		if _, err := Open("log", smallSegments(files, nil)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s gone: %v", name, err)
		}
		if r := Salvage("log", smallSegments(files, nil), 0); r.Open != (name == newest) {
			t.Errorf("%s gone: more may be lost: %v", name, r.Open)
		}
	}
}

// TestATornEnd: if the machine crashes while records are written, any of their sectors may be on disk. For each byte
// in turn the file has the bytes up to it, followed by zeros. It opens with the records that are complete.
func TestATornEnd(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": newRing()} {
		t.Run(name, func(t *testing.T) {
			made, want := newUsedLog(t, keys, false)
			log, err := Open("log", smallSegments(made, keys))
			must(t, err)
			g := log.segs[len(log.segs)-1]
			from, more := g.tail, []*hraft.Log{record(want[len(want)-1].Index+1, 3, 60), record(want[len(want)-1].Index+2, 4, 60)}
			must(t, log.StoreLogs(more))
			if newest := log.segs[len(log.segs)-1]; newest != g {
				t.Fatal("they are in another segment")
			}
			end := g.tail - markSize // the mark was not written
			made = made.killed()
			clear(made.now[g.name].bytes[end:])
			for n := from; n <= end; n++ {
				files := made.killed()
				clear(files.now[g.name].bytes[n:end])
				log, err := Open("log", smallSegments(files, keys))
				if err != nil {
					t.Fatalf("torn at byte %d: %v", n, err)
				}
				have := 0
				for have < len(more) && compareLog(log, slices.Concat(want, more[:have])) != nil {
					have++
				}
				if err := compareLog(log, slices.Concat(want, more[:have])); err != nil {
					t.Fatalf("torn at byte %d: %v", n, err)
				}
				if n == end && have != 2 {
					t.Fatalf("nothing is torn, and %d records are there", have)
				}
			}
		})
	}
}

// TestErasedTextIsInNoFile: after Erase the files contain no deleted record, and none of the erased data of retained
// records.
func TestErasedTextIsInNoFile(t *testing.T) {
	t.Parallel()
	s := &modelStore{t: t, files: newMemory(), o: smallSegments(nil, nil)}
	s.open()
	for i := range uint64(9) {
		must(t, s.log.StoreLog(&hraft.Log{Index: i + 1, Term: 1, Data: []byte{'s', 'e', 'c', 'r', 'e', 't', byte('0' + i)}}))
	}
	has := func(text string) (n int) {
		for _, f := range s.files.now {
			for at := range f.bytes {
				if slices.Equal(f.bytes[at:min(at+len(text), len(f.bytes))], []byte(text)) {
					n++
				}
			}
		}
		return n
	}
	must(t, s.log.DeleteRange(1, 5))
	if has("secret4") == 0 {
		t.Fatal("it was gone before")
	}
	for _, before := range []uint64{1, 4, 6} {
		must(t, s.log.Erase(before, eraseData))
		for i := range uint64(9) {
			want := 1
			if i+1 < before {
				want = 0
			}
			if got := has("secret" + string(rune('0'+i))); got != want {
				t.Errorf("erased before %d: record %d is %d times in the files", before, i+1, got)
			}
		}
	}
}
