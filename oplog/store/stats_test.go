package store

import (
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// TestStatsCountWhatTheFilesAre: what is counted from events is what pebble has, while tables are flushed and merged and after the store is opened again.
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
	if err := s.Compact(t.Context(), func(int64) time.Duration { return 0 }); err != nil {
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
