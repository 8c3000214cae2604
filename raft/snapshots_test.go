package raft

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/seal"
)

// newSnapshotDir returns a directory with one snapshot, and the path of its file.
func newSnapshotDir(t *testing.T) (s *snapshots, path string) {
	t.Helper()
	return newSnapshotDirWith(t, nil, []byte("a state"))
}

// newSnapshotDirWith returns a directory with one snapshot of body, encrypted with keys.
func newSnapshotDirWith(t *testing.T, keys *seal.Ring, body []byte) (s *snapshots, path string) {
	t.Helper()
	cfg := Config{Dir: t.TempDir(), Keys: keys, Seams: Seams{NoSync: true}}.withDefaults()
	s = newSnapshots(&cfg, new(damage.Files), &listMachine{dir: savedDir(cfg.Dir)})
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	members := hraft.Configuration{Servers: []hraft.Server{{ID: "1", Address: "10.0.0.1:7440"}, {ID: "2", Address: "10.0.0.2:7440"},
		{ID: "3", Address: "10.0.0.3:7440", Suffrage: hraft.Nonvoter}}}
	return s, s.path(makeSnapshot(t, s, 4321, members, body))
}

// makeSnapshot makes a snapshot and returns its id.
func makeSnapshot(t *testing.T, s *snapshots, index uint64, members hraft.Configuration, body []byte) (id string) {
	t.Helper()
	sink, err := s.Create(hraft.SnapshotVersionMax, index, 7, members, 1234, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sink.Write(body)
	if err := errors.Join(err, sink.Close(), sink.Close(), sink.Cancel()); err != nil { // the library also closes twice
		t.Fatal(err)
	}
	return sink.ID()
}

// TestEveryBitOfASnapshot flips each bit of a snapshot. The snapshot is moved aside: when it is listed, if the bit
// lies in the description, and when it is opened, if it lies in the state. A truncated file is moved aside as well.
func TestEveryBitOfASnapshot(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	s, path := newSnapshotDir(t)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, in, err := s.Open(idOf(path))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(in); err != nil || string(b) != "a state" || want.Index != 4321 || want.Term != 7 ||
		len(want.Configuration.Servers) != 3 || want.Size != 7 {
		t.Fatalf("%q, %+v, %v", b, want, err)
	}
	in.Close()
	refused := func(what string, b []byte) {
		t.Helper()
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		list, err := s.List()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if len(list) == 1 {
			if got := *list[0]; !reflect.DeepEqual(got, *want) {
				t.Errorf("%s passes for %+v", what, got)
			}
			if _, _, err := s.Open(want.ID); err == nil {
				t.Errorf("%s: it is opened", what)
			}
		}
		aside, err := filepath.Glob(filepath.Join(s.aside, "snapshot-*.corrupt-*"))
		if err != nil || len(aside) != 1 {
			t.Fatalf("%s: moved aside are %v, %v", what, aside, err)
		}
		if err := os.Remove(aside[0]); err != nil {
			t.Fatal(err)
		}
	}
	for bit := range len(raw) * 8 {
		b := bytes.Clone(raw)
		b[bit/8] ^= 1 << (bit % 8)
		refused(fmt.Sprint("bit ", bit), b)
	}
	for size := range raw {
		refused(fmt.Sprint("the first ", size, " bytes"), raw[:size])
	}
}

// idOf returns the id of the snapshot in a file.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), snapshotSuffix) }

// TestASnapshotUnderAnotherName: a snapshot under another file name is rejected and moved aside.
func TestASnapshotUnderAnotherName(t *testing.T) {
	t.Parallel()
	s, path := newSnapshotDir(t)
	if end, err := s.usable(0); err != nil || end != 4321 {
		t.Fatalf("it ends at %d, %v", end, err)
	}
	if err := os.Rename(path, s.path("8-4321-1")); err != nil {
		t.Fatal(err)
	}
	if list, err := s.List(); err != nil || len(list) != 0 {
		t.Errorf("it passes: %v, %v", list, err)
	}
	if aside, err := filepath.Glob(filepath.Join(s.aside, "snapshot-*.corrupt-*")); err != nil || len(aside) != 1 {
		t.Errorf("moved aside: %v, %v", aside, err)
	}
}

// TestReapingDamagesNoSnapshot takes snapshots while another goroutine lists them. A snapshot that is being removed
// never counts as damaged, and the newest remain.
func TestReapingDamagesNoSnapshot(t *testing.T) {
	t.Parallel()
	s, _ := newSnapshotDir(t)
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
			if _, err := s.List(); err != nil {
				t.Error(err)
			}
			times++
		}
	}()
	const last = 100
	for i := range uint64(last) {
		makeSnapshot(t, s, 5000+i, hraft.Configuration{}, []byte("a state"))
	}
	close(stop)
	t.Logf("listed %d times", <-listed)
	if aside, err := filepath.Glob(filepath.Join(s.aside, "snapshot-*.corrupt-*")); err != nil || len(aside) != 0 {
		t.Errorf("set aside: %v, %v", aside, err)
	}
	files, err := os.ReadDir(s.dir)
	if err != nil || len(files) != retainedSnapshots {
		t.Errorf("%v, %v, want the newest %d alone", files, err, retainedSnapshots)
	}
}

// unrestorable is a state machine that rejects every snapshot.
type unrestorable struct{ listMachine }

func (*unrestorable) Restore(io.Reader) error {
	return oplog.Errorf(oplog.Corrupt, "the rows are not what their sender summed")
}

// TestASnapshotThatCannotBeRestoredMakesWay: a member cannot restore a leader's snapshot. The next leader's snapshot
// ends earlier, and is accepted nevertheless.
func TestASnapshotThatCannotBeRestoredMakesWay(t *testing.T) {
	t.Parallel()
	s, path := newSnapshotDir(t)
	f := &fsm{sm: &unrestorable{}, node: &Node{storage: storage{snaps: s}}}
	_, in, err := s.Open(strings.TrimSuffix(filepath.Base(path), snapshotSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Restore(in); err == nil {
		t.Fatal("it was restored")
	}
	if _, in, err = s.Open(makeSnapshot(t, s, 4000, hraft.Configuration{}, []byte("another state"))); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].Index != 4000 {
		t.Errorf("there are %v, %v", list, err)
	}
}
