package state

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// A fataler is a testing.TB or a rapid.T.
type fataler interface {
	Helper()
	Fatal(...any)
}

func must(t fataler, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustOpen(t fataler, path string) *State { return mustOpenSealed(t, path, nil) }

func mustOpenSealed(t fataler, path string, keys *seal.Ring) *State {
	t.Helper()
	s, err := Open(path, Options{NoSync: true, Keys: keys, Records: newMemoryLog()})
	must(t, err)
	return s
}

func mustApply(t fataler, s *State, records ...oplog.Record) {
	t.Helper()
	if l, ok := s.opts.Records.(*memoryLog); ok {
		l.keep(records)
	}
	_, err := s.Apply(records)
	must(t, err)
}

// snapshotOf returns a snapshot of a state as a stream.
func snapshotOf(t fataler, s *State) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	must(t, s.Read(func(v *View) error { return v.WriteSnapshot(&b) }))
	return &b
}

// TestWhatACheckpointHoldsIsFlushed: the Raft log is cut behind checkpoints, so the content of a checkpoint must
// survive a crash of the machine. Without a checkpoint, the last applied records are only in memory.
func TestWhatACheckpointHoldsIsFlushed(t *testing.T) {
	for _, made := range []bool{true, false} {
		s := mustOpen(t, filepath.Join(t.TempDir(), "a"))
		mustApply(t, s, markedHistory()...)
		want, _ := s.Applied()
		if made {
			mustCheckpoint(t, s, "one")
		} else {
			want = 0
		}
		must(t, errors.Join(s.live.Abandon(), s.lock.Close()))
		after := mustOpen(t, s.dir)
		if got, _ := after.Applied(); got != want {
			t.Errorf("checkpoint made %t: after a crash the state is at %d, want %d", made, got, want)
		}
		must(t, after.Close())
	}
}

func TestDamagedSnapshotsLeaveTheStateAlone(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "a"))
	defer s.Close()
	mustApply(t, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}), record(2, []oplog.Entry{{DB: 1,
		Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: "m", Text: "x", Namespace: "default"}}}}}))
	whole := snapshotOf(t, s).Bytes()
	_, before := s.Sum()
	for i := 0; i < len(whole); i += max(1, len(whole)/60) {
		flipped := bytes.Clone(whole)
		flipped[i] ^= 0x40
		if err := s.Restore(bytes.NewReader(whole[:i]), nil); !errors.Is(err, snapshot.ErrUnreadable) {
			t.Errorf("cut at %d of %d: %v", i, len(whole), err)
		}
		// The flipped bit may be one that the compression ignores. A restored snapshot has passed its checksum.
		if err := s.Restore(bytes.NewReader(flipped), nil); err != nil && !errors.Is(err, snapshot.ErrUnreadable) {
			t.Errorf("flipped at %d of %d: %v", i, len(whole), err)
		}
	}
	if _, after := s.Sum(); after != before {
		t.Error("the state changed")
	}
}

// TestADamagedStateIsNamed: a state with a damaged list of tables or a damaged table does not open, or returns an
// error to its readers.
func TestADamagedStateIsNamed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s := mustOpen(t, dir)
	mustApply(t, s, markedHistory()...)
	must(t, s.Close())
	for _, pattern := range []string{"MANIFEST-*", "OPTIONS-*", "*.sst"} {
		files, err := filepath.Glob(filepath.Join(dir, "1", pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, file := range files {
			whole, err := os.ReadFile(file)
			must(t, err)
			must(t, os.WriteFile(file, bytes.Repeat([]byte("not a state "), 200), 0o600))
			s, err := Open(dir, Options{NoSync: true})
			if err == nil {
				err = errors.Join(s.Verify(), s.Close())
			}
			if !IsCorrupt(err) {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
			must(t, os.WriteFile(file, whole, 0o600))
		}
	}
	s = mustOpen(t, dir)
	defer s.Close()
	if err := s.Verify(); err != nil {
		t.Errorf("as it was: %v", err)
	}
}

func TestUnknownRecordsStopTheNode(t *testing.T) {
	body, err := oplog.Entry{DB: 1, Ops: []oplog.Op{&oplog.Forget{RID: "x"}}}.Encode()
	must(t, err)
	for name, rec := range map[string][]byte{
		"version": append([]byte{9}, oplog.EncodeRecord(oplog.HLC{}, body)[1:]...),
		"kind":    oplog.EncodeRecord(oplog.HLC{}, bytes.Replace(body, []byte{byte(oplog.KindOf[oplog.Forget]())}, []byte{0x7F}, 1)),
		"short":   oplog.EncodeRecord(oplog.HLC{}, body)[:20],
	} {
		s := mustOpen(t, filepath.Join(t.TempDir(), "a"))
		if _, err := s.Apply([]oplog.Record{{Index: 1, Data: rec}}); !errors.Is(err, oplog.ErrRecord) {
			t.Errorf("%s: %v", name, err)
		}
		if i, _ := s.Applied(); i != 0 {
			t.Errorf("%s: applied %d", name, i)
		}
		s.Close()
	}
}

func BenchmarkApply(b *testing.B) {
	for _, c := range []struct {
		batch int
		keys  *seal.Ring
	}{{1, nil}, {100, nil}, {1, seal.Ephemeral([]seal.Master{seal.NewMaster()})}, {100, seal.Ephemeral([]seal.Master{seal.NewMaster()})}} {
		batch := c.batch
		b.Run(fmt.Sprint("batch=", batch, "/sealed=", c.keys != nil), func(b *testing.B) {
			s, err := Open(filepath.Join(b.TempDir(), "state"), Options{Keys: c.keys})
			must(b, err)
			defer s.Close()
			mustApply(b, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}))
			vec := oplog.MakeVector(make([]float32, 384))
			i, memories := oplog.Index(1), 0
			for b.Loop() {
				i++
				e := oplog.Entry{DB: 1}
				for range batch {
					memories++
					e.Ops = append(e.Ops, &oplog.Remember{Content: oplog.Content{RID: oplog.NewID(),
						Text: "an agent learned something worth keeping for later", Namespace: "default", Created: oplog.Time(memories)},
						Vector: vec})
				}
				mustApply(b, s, record(i, []oplog.Entry{e}))
			}
			b.ReportMetric(float64(memories)/b.Elapsed().Seconds(), "memories/s")
		})
	}
}

// BenchmarkApplyShared applies records as 64 clients make them: entries of one memory, each under its own key.
func BenchmarkApplyShared(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "state"), Options{})
	must(b, err)
	defer s.Close()
	mustApply(b, s, record(1, []oplog.Entry{{Ops: []oplog.Op{&oplog.Init{Cluster: "c"}}}}))
	text, vec := strings.Repeat("an agent learned something ", 11), oplog.MakeVector(make([]float32, 64))
	digest, at := make([]byte, 32), oplog.Index(1)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		at++
		entries := make([]oplog.Entry, 32)
		for i := range entries {
			entries[i] = oplog.Entry{Node: 1, DB: 1, Key: oplog.NewID(), Digest: digest,
				Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: text, Type: "semantic", Importance: .5,
					HalfLife: 604800, Namespace: "agents", Created: oplog.Time(at)}, Vector: vec, Entities: []oplog.Mention{{Name: "Ada"},
					{Name: fmt.Sprint("Project ", i)}}}}}
		}
		r := record(at, entries)
		b.StartTimer()
		mustApply(b, s, r)
	}
}

// TestTwoDoNotShareAState: a state that is open cannot be opened again.
func TestTwoDoNotShareAState(t *testing.T) {
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	if _, err := lockDir(s.dir, 0); !errors.Is(err, ErrLocked) || !Locked(s.dir) {
		t.Errorf("a second one: %v", err)
	}
	must(t, s.Close())
	if Locked(s.dir) {
		t.Error("a closed state is locked")
	}
}

// TestCatchUpNeverGoesBack: a snapshot that is not newer than the state is ignored, unless it is of another cluster.
func TestCatchUpNeverGoesBack(t *testing.T) {
	dir := t.TempDir()
	grow := func(s *State, from, to oplog.Index, cluster string) {
		for i := from; i <= to; i++ {
			e := oplog.Entry{Node: 1, DB: 1, Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(),
				Text: fmt.Sprint("memory ", i), Namespace: "default", Created: 1}}}}
			if i == 1 {
				e = oplog.Entry{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: cluster, At: 1}}}
			}
			mustApply(t, s, record(i, []oplog.Entry{e}))
		}
	}
	s, other := mustOpen(t, filepath.Join(dir, "own")), mustOpen(t, filepath.Join(dir, "other"))
	defer s.Close()
	defer other.Close()
	grow(s, 1, 10, "one")
	early := snapshotOf(t, s)
	grow(s, 11, 20, "one")
	late := snapshotOf(t, s)
	grow(other, 1, 5, "two")
	for _, tc := range []struct {
		name  string
		from  io.Reader
		taken bool
		at    oplog.Index
	}{{"an earlier one", early, false, 20}, {"one of another cluster", snapshotOf(t, other), true, 5}, {"a later one", late, true, 20}} {
		taken, err := s.CatchUp(tc.from, nil)
		if at, _ := s.Applied(); err != nil || taken != tc.taken || at != tc.at {
			t.Errorf("%s: taken %v, at %d, %v", tc.name, taken, at, err)
		}
		if left, err := filepath.Glob(filepath.Join(s.dir, restoring)); err != nil || left != nil {
			t.Errorf("%s: it left %v (%v)", tc.name, left, err)
		}
	}
}
