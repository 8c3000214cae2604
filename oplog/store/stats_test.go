package store

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/cairndb/cairn/raft/rafttest"
)

// TestStatsCountWhatTheFilesAre: the counts from events match those of pebble, while tables are flushed and merged
// and after the store is opened again.
func TestStatsCountWhatTheFilesAre(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	open := func() *Store {
		s, err := Open(dir, Options{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	same := func(s *Store) {
		t.Helper()
		levels, err := s.db.SSTables()
		if err != nil {
			t.Fatal(err)
		}
		var tables, bytes int64
		for _, level := range levels {
			for _, table := range level {
				tables, bytes = tables+1, bytes+int64(table.Size)
			}
		}
		if got := s.Stats(); got.Tables != tables || got.TableBytes != bytes || tables == 0 || got.ReadAmplification == 0 {
			t.Errorf("%+v, and pebble has %d tables of %d bytes", got, tables, bytes)
		}
	}
	s := open()
	for i := range 10 {
		for k := range 20 {
			at(t, s, strconv.Itoa(k), strconv.Itoa(i))
		}
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Compact(t.Context(), []Span{{}}, func(int64) time.Duration { return 0 }); err != nil {
		t.Fatal(err)
	}
	same(s)
	if got := s.Stats(); got.Flushes != 10 || got.Merges == 0 || got.MergedBytes == 0 || got.Damaged != 0 {
		t.Errorf("%+v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	same(s)
	if _, ok, err := s.Get([]byte("7")); !ok || err != nil {
		t.Error(ok, err)
	}
	if got := s.Stats(); got.CacheHits+got.CacheMisses == 0 {
		t.Errorf("a read was not counted: %+v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDamageIsCountedAndNamed: a damaged block is counted when a reader or Check finds it, plain and encrypted, and
// its file is reported once.
func TestDamageIsCountedAndNamed(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			o := Options{Keys: keys, NoSync: true}
			s, err := Open(dir, o, nil)
			must(t, err)
			value := make([]byte, 256<<10) // spans several sealed blocks, because opening a table may already read the last one
			rand.NewChaCha8([32]byte{}).Read(value)
			for n := range 64 {
				at(t, s, strconv.Itoa(n), string(value[n<<12:(n+1)<<12]))
			}
			must(t, s.Close())
			s, err = Open(dir, o, nil)
			must(t, err)
			rafttest.FlipTables(t, filepath.Dir(dir))
			if _, _, err := s.Get([]byte("0")); !errors.Is(err, ErrDamaged) {
				t.Errorf("a reader gets %v", err)
			}
			read := s.Stats()
			if read.Damaged == 0 || len(read.DamagedFiles) != 1 || filepath.Dir(read.DamagedFiles[0].Path) != dir ||
				filepath.Ext(read.DamagedFiles[0].Path) != ".sst" {
				t.Errorf("a reader met %d, in %+v", read.Damaged, read.DamagedFiles)
			}
			if err := s.Check(t.Context(), func(int64) time.Duration { return 0 }); !errors.Is(err, ErrDamaged) {
				t.Errorf("the check says %v", err)
			}
			if got := s.Stats(); got.Damaged <= read.Damaged || len(got.DamagedFiles) != 1 || got.DamagedFiles[0].Times != got.Damaged ||
				got.DamagedFiles[0].Healed {
				t.Errorf("with the check %d, in %+v, and %d before", got.Damaged, got.DamagedFiles, read.Damaged)
			}
			_ = s.Close() // it may report the damage, which is not tested here
		})
	}
}
