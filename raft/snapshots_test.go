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

// described makes a directory with one snapshot in it.
func described(t *testing.T) (s *snapshots, path string) {
	t.Helper()
	return describedWith(t, nil, []byte("a state"))
}

// describedWith is described with a state, under keys.
func describedWith(t *testing.T, keys *seal.Ring, body []byte) (s *snapshots, path string) {
	t.Helper()
	cfg := Config{Dir: t.TempDir(), Keys: keys, Seams: Seams{NoSync: true}}.withDefaults()
	s = newSnapshots(&cfg, new(damage.Files), &list{dir: savedDir(cfg.Dir)})
	if err := os.Mkdir(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	members := hraft.Configuration{Servers: []hraft.Server{{ID: "1", Address: "10.0.0.1:7440"}, {ID: "2", Address: "10.0.0.2:7440"},
		{ID: "3", Address: "10.0.0.3:7440", Suffrage: hraft.Nonvoter}}}
	return s, s.path(take(t, s, 4321, members, body))
}

// take makes a snapshot.
func take(t *testing.T, s *snapshots, index uint64, members hraft.Configuration, body []byte) (id string) {
	t.Helper()
	sink, err := s.Create(hraft.SnapshotVersionMax, index, 7, members, 1234, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = sink.Write(body)
	if err := errors.Join(err, sink.Close(), sink.Close(), sink.Cancel()); err != nil { // the library does so
		t.Fatal(err)
	}
	return sink.ID()
}

// TestEveryBitOfASnapshot flips each bit of a snapshot: it is moved aside, when it is listed if it lies in the
// description and when it is opened if it lies in the state. So is a file that lost its end.
func TestEveryBitOfASnapshot(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	s, path := described(t)
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

// idOf is the id of a snapshot in a file.
func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), snapshotSuffix) }

// TestASnapshotUnderAnotherName is none, and is moved aside.
func TestASnapshotUnderAnotherName(t *testing.T) {
	t.Parallel()
	s, path := described(t)
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

// TestReapingDamagesNoSnapshot takes snapshots while another goroutine lists them: none that is being removed counts
// as damaged, and the newest are kept.
func TestReapingDamagesNoSnapshot(t *testing.T) {
	t.Parallel()
	s, _ := described(t)
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
		take(t, s, 5000+i, hraft.Configuration{}, []byte("a state"))
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

// unrestorable is a state machine whose state is in no snapshot.
type unrestorable struct{ list }

func (*unrestorable) Restore(io.Reader) error {
	return oplog.Errorf(oplog.Corrupt, "the rows are not what their sender summed")
}

// TestASnapshotThatCannotBeRestoredMakesWay: a member rejects what a leader sent it. The next leader's snapshot ends
// before that one, and is there when it was received all the same.
func TestASnapshotThatCannotBeRestoredMakesWay(t *testing.T) {
	t.Parallel()
	s, path := described(t)
	f := &fsm{sm: &unrestorable{}, node: &Node{storage: storage{snaps: s}}}
	_, in, err := s.Open(strings.TrimSuffix(filepath.Base(path), snapshotSuffix))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Restore(in); err == nil {
		t.Fatal("it was restored")
	}
	if _, in, err = s.Open(take(t, s, 4000, hraft.Configuration{}, []byte("another state"))); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if list, err := s.List(); err != nil || len(list) != 1 || list[0].Index != 4000 {
		t.Errorf("there are %v, %v", list, err)
	}
}
