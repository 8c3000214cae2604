package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/store/storetest"
)

func at(t *testing.T, s *Store, key, value string) {
	t.Helper()
	b := s.Batch()
	defer b.Close()
	do := func() error { return b.Set([]byte(key), []byte(value)) }
	if value == "" {
		do = func() error { return b.Delete([]byte(key)) }
	}
	if err := errors.Join(do(), b.Commit()); err != nil {
		t.Fatal(err)
	}
}

// TestCompactLeavesNoDeletedRow: when Compact has returned, no file contains deleted or replaced rows, and all other
// rows are present.
func TestCompactLeavesNoDeletedRow(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	s, err := Open(dir, Options{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	flush := func() {
		t.Helper()
		if err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2000 {
		text := fmt.Sprint("kept", i)
		if i%500 == 7 {
			text = fmt.Sprint("quixotelyn", i)
		}
		at(t, s, fmt.Sprint("row", i), text)
	}
	flush()
	it, err := s.Snapshot() // keeps the first tables on the disk, even if pebble merges them earlier
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2000 {
		switch {
		case i == 7:
			at(t, s, "row7", "kept")
		case i%500 == 7:
			at(t, s, fmt.Sprint("row", i), "")
		case i%2 == 0:
			at(t, s, fmt.Sprint("row", i), fmt.Sprint("kept again", i))
		}
	}
	flush()
	holding := func() (found []string) {
		storetest.Files(t, dir, func(path string, held []byte) {
			if bytes.Contains(held, []byte("quixotelyn")) {
				found = append(found, path)
			}
		})
		return found
	}
	if len(holding()) == 0 {
		t.Fatal("no file has what was deleted before it is merged: nothing is shown")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Compact(ctx, []Span{{}}, func(int64) time.Duration { return 0 }) }()
	select {
	case err := <-done:
		t.Errorf("it returned with files open that hold what was deleted: %v", err)
	case <-time.After(10 * removalPoll): // Compact still waits
	}
	it.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
	cancel()
	if found := holding(); len(found) != 0 {
		t.Errorf("afterwards it is in %v", found)
	}
	if v, ok, err := s.Get([]byte("row7")); string(v) != "kept" || !ok || err != nil {
		t.Errorf("row7: %q, %v, %v", v, ok, err)
	}
}
