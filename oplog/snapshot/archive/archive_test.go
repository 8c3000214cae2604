package archive

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// testState is a state with a log, written by tests.
type testState struct {
	t  *testing.T
	st *statetest.State
	at oplog.Index
	ms uint64

	keys *seal.Ring // keys of the backups; nil for plain backups
}

func newWorld(t *testing.T, o state.Options) *testState {
	t.Helper()
	o.NoSync = true
	st, err := statetest.Open(filepath.Join(t.TempDir(), "state"), o, statetest.NewLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	w := &testState{t: t, st: st, ms: 1_700_000_000_000}
	w.apply(oplog.Entry{Node: 1, Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: 1}}})
	return w
}

func (w *testState) apply(e oplog.Entry) {
	w.t.Helper()
	b, err := e.Encode()
	if err != nil {
		w.t.Fatal(err)
	}
	w.at++
	w.ms += 1000
	r := oplog.Record{Index: w.at, Term: 3, Data: oplog.EncodeRecord(oplog.MakeHLC(w.ms, 0, 1), b)}
	if _, err := w.st.Apply([]oplog.Record{r}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testState) remember(n int) {
	for range n {
		rid := fmt.Sprint("m", w.at)
		w.apply(oplog.Entry{Node: 1, DB: 1,
			Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: rid, Text: "text " + rid, Created: oplog.Time(w.at)}}}})
	}
}

// advanceIndex advances the index without an entry, like the log's own bookkeeping.
func (w *testState) advanceIndex() {
	w.at++
	if _, err := w.st.Apply([]oplog.Record{{Index: w.at, Term: 3}}); err != nil {
		w.t.Fatal(err)
	}
}

func (w *testState) backup(dir string, since oplog.Index) error {
	_, err := Add(dir, since, w.at, func(out io.Writer) (failed error) {
		if w.keys != nil {
			s, err := w.keys.Backup(out)
			if err != nil {
				return err
			}
			defer func() { failed = errors.Join(failed, s.Close()) }()
			out = s
		}
		return w.st.Read(func(v *state.View) error {
			if since == 0 {
				return v.WriteSnapshot(out)
			}
			return v.WriteRange(out, since)
		})
	})
	return err
}

// put backs up the state, or fails the test.
func (w *testState) put(dir string, since oplog.Index) {
	w.t.Helper()
	if err := w.backup(dir, since); err != nil {
		w.t.Fatal(err)
	}
}

// backedUp returns a state of n memories and a few more, and a directory with a backup of the state and a range after
// it.
func backedUp(t *testing.T, n, more int, keys *seal.Ring) (w *testState, dir string, files []File) {
	t.Helper()
	w, dir = newWorld(t, state.Options{}), t.TempDir()
	w.keys = keys
	w.remember(n)
	first := w.at
	w.put(dir, 0)
	w.remember(more)
	w.put(dir, first)
	if rep, err := Verify(t.Context(), dir, "", keys); err != nil || rep.End != w.st.Point() {
		t.Fatalf("as it was written: %+v, %v", rep, err)
	}
	files, err := List(dir)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	return w, dir, files
}

func bytesOf(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestEveryPointIsReached: a state and two ranges can be restored to each index, with the source's hash at that
// index.
func TestEveryPointIsReached(t *testing.T) {
	w, dir := newWorld(t, state.Options{}), t.TempDir()
	sums := map[oplog.Index]state.Sum{}
	step := func() { w.remember(1); sums[w.at] = w.st.Point().Sum }
	for range 5 {
		step()
	}
	first := w.at
	w.put(dir, 0)
	for range 4 {
		step()
	}
	w.advanceIndex()
	second := w.at
	w.put(dir, first)
	for range 3 {
		step()
	}
	w.put(dir, second)
	rep, err := Verify(t.Context(), dir, "", nil)
	if err != nil || len(rep.Files) != 3 || rep.End != w.st.Point() {
		t.Fatalf("verify: %+v, %v; want %+v", rep, err, w.st.Point())
	}
	for i := first; i <= w.at; i++ {
		at, err := Restore(t.Context(), dir, filepath.Join(t.TempDir(), "s.db"), Target{Index: i}, nil)
		if want, known := sums[i]; err != nil || known && (at.Sum != want || at.Index != i) {
			t.Errorf("restore to %d: %+v, %v; want %s", i, at, err, want)
		}
	}
	if _, err := Restore(t.Context(), dir, filepath.Join(t.TempDir(), "s.db"), Target{Index: first - 1},
		nil); !errors.Is(err, ErrNoBackup) {
		t.Errorf("before the first backup: %v", err)
	}
	if _, err := Restore(t.Context(), dir, filepath.Join(t.TempDir(), "s.db"), Target{Index: w.at + 1}, nil); !errors.Is(err, ErrNoBackup) {
		t.Errorf("after the last: %v", err)
	}
	if _, err := Restore(t.Context(), dir, filepath.Join(t.TempDir(), "s.db"), Target{Time: 1}, nil); !errors.Is(err, ErrNoBackup) ||
		!strings.Contains(err.Error(), "the oldest is of ") {
		t.Errorf("a time before the first: %v", err)
	}
	cut := oplog.Time((w.ms - 1500) * 1000) // between the second and the third write from the end
	at, err := Restore(t.Context(), dir, filepath.Join(t.TempDir(), "s.db"), Target{Time: cut}, nil)
	if err != nil || at.Index != w.at-2 {
		t.Errorf("restore to a time: %+v, %v; want index %d", at, err, w.at-2)
	}
}

// TestDamageIsFound flips bits of a backup's state and of its range of the log, plain and sealed. Verify, which
// restores it, names the file; or the bit is one of the few of the compression that mean nothing. It never makes
// another state.
func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		for i, kind := range []string{"state", "range"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				w, dir := newWorld(t, state.Options{}), t.TempDir()
				w.keys = keys
				w.remember(20)
				first := w.at
				if err := w.backup(dir, 0); err != nil {
					t.Fatal(err)
				}
				w.remember(20)
				if err := w.backup(dir, first); err != nil {
					t.Fatal(err)
				}
				files, err := List(dir)
				if err != nil || len(files) != 2 {
					t.Fatal(files, err)
				}
				path, base := files[i].Path, filepath.Base(files[i].Path)
				good, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				rng := rand.New(rand.NewPCG(7, 2))
				flips, ends := rafttest.Flips(40), rafttest.Ends{}
				for range flips {
					bit := rafttest.FlipOne(t, path, rng)
					rep, err := Verify(t.Context(), dir, "", keys)
					switch {
					case err == nil && rep.End != w.st.Point():
						t.Errorf("bit %d of %s was taken for %+v", bit, base, rep.End)
					case err == nil:
						ends.Add(kind, rafttest.Dead)
					case !strings.Contains(err.Error(), base):
						t.Errorf("bit %d of %s: the file is not named: %v", bit, base, err)
					default:
						ends.Add(kind, rafttest.Caught)
					}
					if err := os.WriteFile(path, good, 0o600); err != nil {
						t.Fatal(err)
					}
				}
				ends.Report(t)
				if dead := ends[kind][rafttest.Dead]; dead > flips/5 {
					t.Errorf("%d of %d bits are not found", dead, flips)
				}
				if err := os.WriteFile(path, good[:len(good)/2], 0o600); err != nil {
					t.Fatal(err)
				}
				if _, err := Verify(t.Context(), dir, "", keys); err == nil {
					t.Errorf("half of %s was enough", base)
				}
			})
		}
	}
}

// TestAMissingFileIsFound: verification fails, and a restore does not restore less than was backed up, except to a
// requested index before the gap.
func TestAMissingFileIsFound(t *testing.T) {
	w, dir := newWorld(t, state.Options{}), t.TempDir()
	ends := []oplog.Index{}
	for since := oplog.Index(0); len(ends) < 4; since = w.at {
		w.remember(3)
		w.put(dir, since)
		ends = append(ends, w.at)
	}
	restore := func(to Target) (state.Point, error) {
		return Restore(t.Context(), dir, filepath.Join(t.TempDir(), "s.db"), to, nil)
	}
	if err := os.Remove(filepath.Join(dir, Name(ends[1], ends[2]))); err != nil {
		t.Fatal(err)
	}
	if rep, err := Verify(t.Context(), dir, "", nil); !errors.Is(err, ErrGap) {
		t.Errorf("verify without a middle file: %+v, %v", rep, err)
	}
	for name, to := range map[string]Target{"all": {}, "a time": {Time: oplog.Time(w.ms * 1000)}, "an index behind it": {Index: w.at}} {
		if at, err := restore(to); !errors.Is(err, ErrGap) {
			t.Errorf("restore to %s: %+v, %v", name, at, err)
		}
	}
	if at, err := restore(Target{Index: ends[1]}); err != nil || at.Index != ends[1] {
		t.Errorf("restore to what is before the gap: %+v, %v", at, err)
	}
	w.put(dir, ends[1]) // closes the gap
	if rep, err := Verify(t.Context(), dir, "", nil); err != nil || rep.End != w.st.Point() {
		t.Errorf("with a file that closes the gap: %+v, %v", rep, err)
	}
}

// TestAppendedBytesAreFound: bytes appended to a state or a range, plain or sealed, are an error.
func TestAppendedBytesAreFound(t *testing.T) {
	suite.Full(t)
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		_, dir, files := backedUp(t, 5, 5, keys)
		for _, f := range files {
			good := bytesOf(t, f.Path)
			for _, more := range []string{"x", "appended", string(make([]byte, 100_000)), string(good)} {
				writeFile(t, f.Path, append(good[:len(good):len(good)], more...))
				if _, err := Verify(t.Context(), dir, "", keys); err == nil {
					t.Errorf("%s %s with %d bytes more is taken", name, filepath.Base(f.Path), len(more))
				}
			}
			writeFile(t, f.Path, good)
		}
	}
}

func TestPruneKeepsWhatIsNeeded(t *testing.T) {
	w, dir := newWorld(t, state.Options{}), t.TempDir()
	for range 3 {
		w.remember(2)
		at := w.at
		w.put(dir, 0)
		w.remember(2)
		w.put(dir, at)
	}
	removed, err := Prune(dir, 2)
	if err != nil || len(removed) != 2 {
		t.Fatalf("removed %v, %v", removed, err)
	}
	if rep, err := Verify(t.Context(), dir, "", nil); err != nil || rep.End != w.st.Point() {
		t.Errorf("after pruning: %+v, %v", rep, err)
	}
}

// TestATrimmedLogSaysSo: a range is rejected if the log no longer has all of its records.
func TestATrimmedLogSaysSo(t *testing.T) {
	w := newWorld(t, state.Options{RetainOps: 10})
	w.remember(100)
	if err := w.backup(t.TempDir(), 5); !errors.Is(err, state.ErrTrimmed) {
		t.Errorf("got %v, want %v", err, state.ErrTrimmed)
	}
}

// TestARangeAroundAStateIsNoGap: a range may begin before a state and end after it, if the node that made the state
// was behind the one that made the range. The rest of the range follows the state, also after earlier states are
// pruned.
func TestARangeAroundAStateIsNoGap(t *testing.T) {
	w, dir := newWorld(t, state.Options{}), t.TempDir()
	w.remember(2)
	first := w.at
	w.put(dir, 0)
	w.remember(2)
	w.put(dir, 0) // from a node that was behind
	w.remember(2)
	w.put(dir, first)
	for _, keep := range []int{2, 1} {
		if _, err := Prune(dir, keep); err != nil {
			t.Fatal(err)
		}
		if rep, err := Verify(t.Context(), dir, "", nil); err != nil || rep.End != w.st.Point() {
			t.Errorf("%d states kept: verified %+v, %v", keep, rep, err)
		}
		if at, err := Restore(t.Context(), dir, filepath.Join(t.TempDir(), "s"), Target{}, nil); err != nil || at != w.st.Point() {
			t.Errorf("%d states kept: restored to %+v, %v", keep, at, err)
		}
	}
}

// TestAPruneThatIsCutShort: an interrupted prune leaves no range without a preceding file.
func TestAPruneThatIsCutShort(t *testing.T) {
	w, dir := newWorld(t, state.Options{}), t.TempDir()
	w.remember(2)
	first := w.at
	w.put(dir, 0)
	w.remember(2)
	w.put(dir, first)
	last := filepath.Join(dir, Name(first, w.at))
	w.remember(2)
	w.put(dir, 0)
	good := bytesOf(t, last)
	if err := errors.Join(os.Remove(last), os.MkdirAll(filepath.Join(last, "x"), 0o700)); err != nil { // a directory that cannot be removed
		t.Fatal(err)
	}
	if removed, err := Prune(dir, 1); err == nil {
		t.Fatalf("removed %v", removed)
	}
	if err := os.RemoveAll(last); err != nil {
		t.Fatal(err)
	}
	writeFile(t, last, good)
	if rep, err := Verify(t.Context(), dir, "", nil); err != nil || rep.End != w.st.Point() {
		t.Errorf("verified %+v, %v", rep, err)
	}
	if removed, err := Prune(dir, 1); err != nil || len(removed) != 2 {
		t.Errorf("the next one removes %v, %v", removed, err)
	}
}
