package raft

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft/rafttest"
)

// keepingNode is a node that is alone and whose log retains records from retain on.
type keepingNode struct {
	t      *testing.T
	cfg    Config
	sm     *listMachine
	retain uint64
	n      *Node
}

func startKept(t *testing.T, keys *seal.Ring) *keepingNode {
	k := newKept(t, keys)
	k.start()
	return k
}

func newKept(t *testing.T, keys *seal.Ring) *keepingNode {
	k := &keepingNode{t: t, sm: &listMachine{}}
	k.cfg = Config{NodeID: 1, Dir: t.TempDir(), Alone: true, Handler: noHandler{}, Keys: keys, Founds: founds,
		Hello: k.sm.hello, Retain: func() uint64 { return k.retain }, Logger: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Timing: Timing{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(100 * time.Millisecond),
			SegmentBytes: 4 << 10, TrailingLogs: 10}}
	k.sm.dir = savedDir(k.cfg.Dir)
	return k
}

func (k *keepingNode) start() {
	k.open()
	k.t.Cleanup(func() { k.n.Close() })
}

func (k *keepingNode) open() {
	k.t.Helper()
	k.cfg.Window = NewWindow()
	var err error
	if k.n, err = Open(context.Background(), k.cfg, k.sm); err != nil {
		k.t.Fatal(err)
	}
	for changed := k.n.Changed(); !k.n.IsLeader(); changed = k.n.Changed() {
		<-changed
	}
}

func (k *keepingNode) reopen() {
	k.t.Helper()
	if err := k.n.Close(); err != nil {
		k.t.Fatal(err)
	}
	k.open()
}

func (k *keepingNode) propose(from, to int) {
	k.t.Helper()
	for i := from; i < to; i++ {
		if _, _, err := k.n.Propose(k.t.Context(), fmt.Appendf(nil, "entry-%d of %0200d", i, i)).Wait(); err != nil {
			k.t.Fatal(err)
		}
	}
}

// windowItems returns every item in the window, from its first record on.
func (k *keepingNode) windowItems() (items []string) {
	k.t.Helper()
	r := k.cfg.Window.Reader()
	defer r.Close()
	at, _ := k.sm.Applied()
	for i := k.cfg.Window.First(); i <= oplog.Index(at); i++ {
		data, err := r.Read(i)
		if errors.Is(err, state.ErrTrimmed) { // the library's own
			continue
		}
		if err != nil {
			k.t.Fatalf("record %d: %v", i, err)
		}
		items = append(items, string(data))
	}
	return items
}

// wantLast fails the test unless the window has exactly the last n records.
func (k *keepingNode) wantLast(n int, when string) {
	k.t.Helper()
	want, got := k.sm.items(), k.windowItems()
	if !slices.Equal(got, want[len(want)-n:]) {
		k.t.Errorf("%s: the window has %d records, want the last %d of %d", when, len(got), n, len(want))
	}
}

// eraseItem returns the form of a record after a purge.
func eraseItem(_ uint64, data []byte) ([]byte, error) {
	if string(data) == "emptied" {
		return nil, nil
	}
	return []byte("emptied"), nil
}

// TestTheWindowOfTheLog: readers get records that snapshots cut off the log, as far back as Retain says, across
// restarts and a change of keys. A purge erases its entries there too.
func TestTheWindowOfTheLog(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "encrypted": newRing()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := startKept(t, keys)
			k.propose(0, 100)
			if err := k.n.Snapshot(); err != nil {
				t.Fatal(err)
			}
			first, err := k.n.logs.FirstIndex()
			if err != nil || first < 80 {
				t.Fatalf("the log begins at %d, %v", first, err)
			}
			k.wantLast(100, "cut")
			k.reopen()
			k.wantLast(100, "cut, after a start")
			if err := k.n.ResealLog(); err != nil {
				t.Fatal(err)
			}
			k.wantLast(100, "rewritten")
			k.retain, _ = k.sm.Applied()
			k.propose(100, 150)
			k.wantLast(150, "wanted no more, and there is no snapshot")
			if err := k.n.Snapshot(); err != nil {
				t.Fatal(err)
			}
			k.reopen()
			k.wantLast(51, "wanted no more")
			k.propose(150, 160)
			purge, _ := k.sm.Applied()
			k.propose(160, 165)
			if err := k.n.PurgeBefore(purge, eraseItem); err != nil {
				t.Fatal(err)
			}
			if left := k.windowItems(); len(left) != 66 || slices.ContainsFunc(left[:61], func(s string) bool { return s != "emptied" }) ||
				left[65] != k.sm.items()[len(k.sm.items())-1] {
				t.Errorf("purged: the window has %q", left)
			}
			if n := countText(t, logDir(k.cfg.Dir), "entry-158"); n != 0 {
				t.Errorf("a record from before the purge is in %d files", n)
			}
			k.propose(165, 170)
			k.reopen()
			if left := k.windowItems(); len(left) != 71 || left[60] != "emptied" || left[61] == "emptied" {
				t.Errorf("purged, after a start: the window has %q", left)
			}
		})
	}
}

// TestConvertKeepsTheWindow: a home that is encrypted keeps the retained records of its log.
func TestConvertKeepsTheWindow(t *testing.T) {
	t.Parallel()
	k := startKept(t, nil)
	k.propose(0, 100)
	if err := errors.Join(k.n.Snapshot(), k.n.Close()); err != nil {
		t.Fatal(err)
	}
	keys, to := newRing(), filepath.Join(t.TempDir(), "to")
	if err := Convert(k.cfg.Dir, to, keys, k.sm); err != nil {
		t.Fatal(err)
	}
	k.cfg.Dir, k.cfg.Keys = to, keys
	k.open()
	k.wantLast(100, "encrypted")
	if first, err := k.n.logs.FirstIndex(); err != nil || first < 80 {
		t.Errorf("the log begins at %d, %v", first, err)
	}
	k.propose(100, 110)
	k.wantLast(110, "and going on")
}

// TestDamageOfTheWindowStopsNothing: a segment of retained records is damaged. Readers get an error; the node starts
// and goes on.
func TestDamageOfTheWindowStopsNothing(t *testing.T) {
	t.Parallel()
	k := startKept(t, nil)
	k.propose(0, 100)
	if err := errors.Join(k.n.Snapshot(), k.n.Close()); err != nil {
		t.Fatal(err)
	}
	names := segments(t, k.cfg.Dir)
	raw, err := os.ReadFile(names[2])
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/3] ^= 4
	if err := os.WriteFile(names[2], raw, 0o600); err != nil {
		t.Fatal(err)
	}
	k.open()
	before := k.cfg.Window.First()
	r := k.cfg.Window.Reader()
	for i := before; i < before+100; i++ {
		if _, err := r.Read(i); err != nil && !errors.Is(err, state.ErrTrimmed) {
			t.Errorf("record %d: %v", i, err)
		}
	}
	r.Close()
	found := k.n.Damaged().List()
	if k.cfg.Window.First() <= before || len(found) != 1 ||
		found[0] != (damage.File{Kind: damage.Log, Path: names[2], Times: 1, Healed: true}) {
		t.Errorf("the window begins at %d, and what was found is %+v", k.cfg.Window.First(), found)
	}
	left := len(k.windowItems())
	k.propose(100, 110)
	k.wantLast(left+10, "behind the damage")
	if err := errors.Join(k.n.ResealLog(), k.n.Snapshot()); err != nil {
		t.Fatal(err)
	}
	k.reopen()
	k.wantLast(left+10, "after a start")
	if found := k.n.Damaged().List(); len(found) != 0 {
		t.Errorf("what is lost is met again: %+v", found)
	}
}

// TestASnapshotLeavesNoMoreThanItsBytes: the log keeps fewer large records than small ones, and the window keeps all.
func TestASnapshotLeavesNoMoreThanItsBytes(t *testing.T) {
	t.Parallel()
	k := startKept(t, nil)
	k.n.cfg.TrailingLogs, k.n.cfg.TrailingBytes = 1000, 9<<10
	k.n.trailing.Store(1000)
	k.propose(0, 100)
	if err := k.n.Snapshot(); err != nil {
		t.Fatal(err)
	}
	first, err := k.n.logs.FirstIndex()
	last, _ := k.sm.Applied()
	if left := last - first; err != nil || left > 60 || left < 10 {
		t.Errorf("%d records are left, %v", left, err)
	}
	k.wantLast(100, "cut")
}
