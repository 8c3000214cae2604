package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
)

// fillMemories fills a state with memories.
func fillMemories(t testing.TB, s *State, n int) {
	t.Helper()
	ops := make([]oplog.Op, n)
	for i := range ops {
		ops[i] = &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: fmt.Sprintf("lighthouse number %05d has a keeper", i),
			Namespace: "default", Created: 1}}
	}
	mustApply(t, s, record(1, []oplog.Entry{{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}}),
		record(2, []oplog.Entry{{Node: 1, DB: 1, Ops: ops}}))
}

// flipTables flips a bit in each block of rows of a state. The state may have the files open.
func flipTables(t *testing.T, dir string) {
	t.Helper()
	tables, err := filepath.Glob(filepath.Join(dir, "1", "*.sst"))
	if err != nil || len(tables) == 0 {
		t.Fatal(tables, err)
	}
	for _, table := range tables {
		raw, err := os.ReadFile(table)
		must(t, err)
		f, err := os.OpenFile(table, os.O_RDWR, 0)
		must(t, err)
		for at := 600; at < len(raw)*3/4; at += 1000 {
			if _, err := f.WriteAt([]byte{raw[at] ^ 4}, int64(at)); err != nil {
				t.Fatal(err)
			}
		}
		must(t, f.Close())
	}
}

// TestScrubFindsFlippedBits: a flipped bit in a table of a running state is found by a scrub, is an error for readers
// of the block, is reported to the listener, and is in no snapshot.
func TestScrubFindsFlippedBits(t *testing.T) {
	for name, keys := range map[string]*seal.Ring{"plain": nil, "encrypted": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			s := mustOpenSealed(t, dir, keys)
			fillMemories(t, s, 2000)
			must(t, s.Flush())
			if err := s.Scrub(t.Context(), 0); err != nil {
				t.Fatalf("a state that is whole: %v", err)
			}
			if err := s.Close(); err != nil { // blocks that were read are cached, and do not change with the disk
				t.Fatal(err)
			}
			s = mustOpenSealed(t, dir, keys)
			defer s.Close()
			flipTables(t, dir)
			if err := s.Scrub(t.Context(), 0); !errors.Is(err, ErrState) {
				t.Errorf("the scrub says %v", err)
			}
			noticed := func() bool {
				select {
				case <-s.Damaged():
					return true
				default:
					return false
				}
			}
			noticed()
			err := s.Read(func(v *View) error {
				v.MemoryAt(1, 1234)
				return nil
			})
			if !errors.Is(err, ErrState) || !noticed() {
				t.Errorf("who reads it is told %v", err)
			}
			v, err := s.View()
			must(t, err)
			defer v.Close()
			if err := v.WriteSnapshot(io.Discard); !errors.Is(err, ErrState) || !noticed() {
				t.Errorf("a snapshot of it: %v", err)
			}
		})
	}
}

// TestScrubWhileTheStateChanges: a scrub runs correctly during commits that merge tables, and during restores.
func TestScrubWhileTheStateChanges(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "state"), Options{NoSync: true, Buffer: 256 << 10})
	must(t, err)
	defer s.Close()
	mustApply(t, s, record(1, []oplog.Entry{{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}}}))
	var wg sync.WaitGroup
	stop := make(chan struct{})
	wg.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if err := errors.Join(s.Scrub(t.Context(), 0), s.Verify()); err != nil {
				t.Error(err)
				return
			}
		}
	})
	text := string(bytes.Repeat([]byte("x"), 16<<10))
	for i := range oplog.Index(300) {
		mustApply(t, s, record(2+i,
			[]oplog.Entry{{Node: 1, DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(),
				Text: text, Namespace: "default", Created: 1}}}}}))
		if i%100 == 50 {
			must(t, s.Restore(snapshotOf(t, s), nil))
		}
	}
	close(stop)
	wg.Wait()
}

// BenchmarkScrub measures a pass without pauses, in memories a second.
func BenchmarkScrub(b *testing.B) {
	s := mustOpen(b, filepath.Join(b.TempDir(), "state"))
	defer s.Close()
	fillMemories(b, s, 20_000)
	must(b, s.Flush())
	for b.Loop() {
		must(b, s.Scrub(b.Context(), 0))
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "memories/s")
}
