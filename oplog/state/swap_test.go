package state

import (
	"bytes"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/cairndb/cairn/oplog"
)

// TestARestoreThatFailsAtItsEnd: if the restored store cannot be opened in its place, the old state stays, also after
// a restart, and the next restore succeeds.
func TestARestoreThatFailsAtItsEnd(t *testing.T) {
	t.Parallel()
	source := mustOpen(t, filepath.Join(t.TempDir(), "source"))
	mustApply(t, source, markedHistory()...)
	stream := snapshotOf(t, source).Bytes()
	next, nextSum := source.Sum()
	must(t, source.Close())

	dir := filepath.Join(t.TempDir(), "state")
	var full atomic.Bool
	o := Options{NoSync: true, Step: func(op, path string, do func() error) error {
		if full.Load() && op == "create" && strings.HasPrefix(path, filepath.Join(dir, "2")) {
			return syscall.ENOSPC
		}
		return do()
	}}
	s, err := Open(dir, o)
	must(t, err)
	mustApply(t, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}))
	was, wasSum := s.Sum()
	full.Store(true)
	for range 2 {
		if err := s.Restore(bytes.NewReader(stream), nil); err == nil || !strings.Contains(err.Error(), "no space") {
			t.Fatalf("on a full disk: %v", err)
		}
	}
	must(t, s.Close())
	full.Store(false)
	s, err = Open(dir, o)
	must(t, err)
	if at, sum := s.Sum(); at != was || sum != wasSum {
		t.Errorf("after a restart it is at %d, was at %d", at, was)
	}
	full.Store(true)
	if err := s.Restore(bytes.NewReader(stream), nil); err == nil {
		t.Fatal("on a full disk it succeeds")
	}
	full.Store(false)
	must(t, s.Restore(bytes.NewReader(stream), nil))
	if at, sum := s.Sum(); at != next || sum != nextSum {
		t.Errorf("restored to %d, want %d", at, next)
	}
	must(t, s.Close())
}
