package oplog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairndb/cairn/oplog/seal"
)

// Whatever is applied between two steps of a scrub, in front of it or behind, its sum is the state's at the end.
func TestScrubMeetsChanges(t *testing.T) {
	dir := t.TempDir()
	rings := []*seal.Ring{nil, seal.Ephemeral([]seal.Master{seal.NewMaster()})}
	run, spoilt, met := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		records := historyOf(t, 60, 12)
		if rapid.IntRange(0, 9).Draw(t, "drop") == 0 {
			records = append(records, record(Index(len(records)+1), []Entry{{Ops: []Op{&CreateDB{Name: "other", At: 1}}}}))
			records = append(records, record(Index(len(records)+1), []Entry{{Ops: []Op{&DropDB{Name: "other", At: 1}}}}))
		}
		s := mustOpenSealed(t, filepath.Join(dir, fmt.Sprint(run)), rapid.SampledFrom(rings).Draw(t, "keys"))
		defer s.Close()
		at := rapid.IntRange(1, len(records)-1).Draw(t, "before")
		if _, err := s.Apply(records[:at]); err != nil {
			t.Fatal(err)
		}
		s.scrub.begin()
		defer s.scrub.end()
		for {
			done, same, err := s.step(rapid.IntRange(1, 40).Draw(t, "rows"))
			if errors.Is(err, errSpoilt) {
				spoilt++
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if done {
				if !same {
					t.Fatalf("the scrub counts %s, the state %s", s.scrub.sum, s.m.sum)
				}
				return
			}
			if n := min(len(records)-at, rapid.IntRange(0, 3).Draw(t, "records")); n > 0 {
				met++
				if _, err := s.Apply(records[at : at+n]); err != nil {
					t.Fatal(err)
				}
				at += n
			}
		}
	})
	if met < run {
		t.Errorf("%d changes met %d scrubs", met, run)
	}
	t.Logf("%d scrubs met %d batches, %d were spoilt", run, met, spoilt)
}

// A bit that flips in a value, where the file looks whole, is found.
func TestScrubFindsFlippedBits(t *testing.T) {
	keys := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	for name, open := range map[string]func(path string) *State{
		"without sums": func(path string) *State { return mustOpenBare(t, path) },
		"plain":        func(path string) *State { return mustOpen(t, path) },
		"encrypted":    func(path string) *State { return mustOpenSealed(t, path, keys) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "state.db")
			s := open(path)
			defer s.Close()
			var ops []Op
			for i := range 2000 {
				ops = append(ops, &Remember{RID: NewID(), Text: fmt.Sprintf("lighthouse number %05d has a keeper", i), Namespace: "default", Created: 1})
			}
			if _, err := s.Apply([]Record{record(1, []Entry{{Node: 1, Ops: []Op{&Init{Cluster: "c", At: 1}}}}), record(2, []Entry{{Node: 1, DB: 1, Ops: ops}})}); err != nil {
				t.Fatal(err)
			}
			if err := s.Scrub(t.Context(), 0); err != nil {
				t.Fatalf("a state that is whole: %v", err)
			}
			var stored []byte // as the file holds it
			if err := s.Read(func(v *View) error {
				b := v.bucket(tMemory, 1)
				stored = bytes.Clone(b.Bucket.Get(b.c.key(b.id, seqKey(1234))))
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			hits := 0
			for at := 0; ; at++ { // an older page may hold it, too
				i := bytes.Index(raw[at:], stored)
				if i < 0 {
					break
				}
				at += i
				mid := at + len(stored)/2
				if _, err := f.WriteAt([]byte{raw[mid] ^ 4}, int64(mid)); err != nil {
					t.Fatal(err)
				}
				hits++
			}
			if err := s.Scrub(t.Context(), 0); !errors.Is(err, ErrState) {
				t.Errorf("a bit flipped in %d places: %v", hits, err)
			}
			err = s.Read(func(v *View) error {
				v.MemoryAt(1, 1234)
				return nil
			})
			sums := name != "without sums"
			if found := errors.Is(err, ErrState); found != sums {
				t.Errorf("who reads it is told %v", err)
			}
			noticed := func() bool {
				select {
				case <-s.Noticed():
					return true
				default:
					return false
				}
			}
			if noticed() != sums {
				t.Error("nobody is told of what a reader met")
			}
			snap, err := s.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			defer snap.Release()
			if _, err := snap.WriteTo(io.Discard); errors.Is(err, ErrState) != sums || noticed() != sums {
				t.Errorf("a snapshot of it: %v", err)
			}
		})
	}
}

// A scrub, commits that let the file grow, and a restore get out of each other's way.
func TestScrubWhileTheFileGrows(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "state.db"))
	defer s.Close()
	if _, err := s.Apply([]Record{record(1, []Entry{{Node: 1, Ops: []Op{&Init{Cluster: "c", At: 1}}}})}); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := s.Scrub(t.Context(), 0); err != nil {
				t.Error(err)
				return
			}
		}
	})
	text := string(bytes.Repeat([]byte("x"), 16<<10))
	for i := range Index(300) {
		if _, err := s.Apply([]Record{record(2+i, []Entry{{Node: 1, DB: 1, Ops: []Op{&Remember{RID: NewID(), Text: text, Namespace: "default", Created: 1}}}})}); err != nil {
			t.Fatal(err)
		}
		if i%100 == 50 {
			snap, err := s.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			var b bytes.Buffer
			if _, err := snap.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			snap.Release()
			if err := s.Restore(&b, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	close(stop)
	wg.Wait()
}

// BenchmarkScrub is a pass without rests, in rows a second.
func BenchmarkScrub(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "state.db"))
	defer s.Close()
	var ops []Op
	for i := range 20_000 {
		ops = append(ops, &Remember{RID: NewID(), Text: fmt.Sprintf("lighthouse number %05d has a keeper", i), Namespace: "default", Created: 1})
	}
	if _, err := s.Apply([]Record{record(1, []Entry{{Node: 1, Ops: []Op{&Init{Cluster: "c", At: 1}}}}), record(2, []Entry{{Node: 1, DB: 1, Ops: ops}})}); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := s.Scrub(b.Context(), 0); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "memories/s")
}
