package raft

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	hraft "github.com/hashicorp/raft"
)

// described makes a directory with one snapshot in it.
func described(t *testing.T) (n *Node, snaps hraft.SnapshotStore, dir string) {
	t.Helper()
	n = &Node{cfg: Config{Dir: t.TempDir(), Seams: Seams{NoSync: true}}, log: slog.New(slog.DiscardHandler), consensus: consensus{sm: &list{}}}
	n.transport = n.newTransport(nil)
	snaps, err := n.openSnapshots()
	if err != nil {
		t.Fatal(err)
	}
	members := hraft.Configuration{Servers: []hraft.Server{{ID: "1", Address: "10.0.0.1:7440"}, {ID: "2", Address: "10.0.0.2:7440"},
		{ID: "3", Address: "10.0.0.3:7440", Suffrage: hraft.Nonvoter}}}
	sink, err := snaps.Create(hraft.SnapshotVersionMax, 4321, 7, members, 1234, n.transport)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.WriteString(sink, "a state")
	if err := errors.Join(err, sink.Close()); err != nil {
		t.Fatal(err)
	}
	return n, snaps, filepath.Join(n.cfg.Dir, "snapshots", sink.ID())
}

// TestEveryBitOfADescription flips each bit of what lies beside a snapshot: it says what it said, or is set aside.
func TestEveryBitOfADescription(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	n, snaps, dir := described(t)
	plain := func(m *hraft.SnapshotMeta) hraft.SnapshotMeta {
		c := *m
		c.Peers = nil // no code reads it
		return c
	}
	list, err := snaps.List()
	if err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	want := plain(list[0])
	for _, name := range []string{"meta.json", sumFile, "state.bin"} {
		path := filepath.Join(dir, name)
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for bit := range len(raw) * 8 {
			b := bytes.Clone(raw)
			b[bit/8] ^= 1 << (bit % 8)
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			list, err := snaps.List()
			if err != nil {
				t.Fatalf("%s, bit %d: %v", name, bit, err)
			}
			if len(list) == 1 {
				if got := plain(list[0]); !reflect.DeepEqual(got, want) {
					t.Fatalf("%s, bit %d of %q passes for %+v", name, bit, b, got)
				}
				if _, in, err := snaps.Open(want.ID); err == nil {
					in.Close()
				}
			}
			aside, err := filepath.Glob(filepath.Join(n.cfg.Dir, "snapshot-*.corrupt-*"))
			if err != nil || len(aside) > 1 {
				t.Fatal(aside, err)
			}
			for _, old := range aside {
				found++
				if err := os.Rename(old, dir); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, raw, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("%s: %d of %d flipped bits are found", name, found, len(raw)*8)
		if found == 0 || name != "meta.json" && found != len(raw)*8 {
			t.Errorf("%s: %d of %d flipped bits are found", name, found, len(raw)*8)
		}
	}
}

// TestASnapshotWithoutItsSum is none, and is set aside.
func TestASnapshotWithoutItsSum(t *testing.T) {
	t.Parallel()
	n, snaps, dir := described(t)
	if end, err := n.usableSnapshot(snaps); err != nil || end != 4321 {
		t.Fatalf("it ends at %d, %v", end, err)
	}
	if err := os.Remove(filepath.Join(dir, sumFile)); err != nil {
		t.Fatal(err)
	}
	if list, err := snaps.List(); err != nil || len(list) != 0 {
		t.Errorf("it passes: %v, %v", list, err)
	}
	if aside, err := filepath.Glob(filepath.Join(n.cfg.Dir, "snapshot-*.corrupt-*")); err != nil || len(aside) != 1 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
}

// TestReapingDamagesNoSnapshot takes snapshots while another goroutine lists them: none that is being removed counts as damaged, and
// the newest are kept.
func TestReapingDamagesNoSnapshot(t *testing.T) {
	t.Parallel()
	n, snaps, _ := described(t)
	stop, listed := make(chan struct{}), make(chan int)
	go func() {
		times := 0
		defer func() { listed <- times }()
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := snaps.List(); err != nil {
				t.Error(err)
			}
			times++
		}
	}()
	const last = 100
	for i := range uint64(last) {
		sink, err := snaps.Create(hraft.SnapshotVersionMax, 5000+i, 7, hraft.Configuration{}, 1, n.transport)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.WriteString(sink, "a state")
		if err := errors.Join(err, sink.Close()); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	t.Logf("listed %d times", <-listed)
	if aside, err := filepath.Glob(filepath.Join(n.cfg.Dir, "snapshot-*.corrupt-*")); err != nil || len(aside) != 0 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	dirs, err := os.ReadDir(filepath.Join(n.cfg.Dir, "snapshots"))
	if err != nil || len(dirs) != retainedSnapshots {
		t.Errorf("%v, %v, want the newest %d alone", dirs, err, retainedSnapshots)
	}
}
