package state

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/suite"
)

func mustCheckpoint(t fataler, s *State, name string) (at oplog.Index) {
	t.Helper()
	p, err := s.Pin()
	must(t, err)
	defer p.Release()
	at, _, err = p.Checkpoint(name)
	must(t, err)
	return at
}

// restoredFrom returns the position and the Sum of a state that is restored from a checkpoint.
func restoredFrom(t fataler, dir string, s *State, name string, index oplog.Index) (oplog.Index, Sum, error) {
	t.Helper()
	in, _, err := s.ReadCheckpoint(name, index)
	if err != nil {
		return 0, Sum{}, err
	}
	to := mustOpen(t, dir)
	err = errors.Join(to.Restore(in, nil), in.Close())
	at, sum := to.Sum()
	return at, sum, errors.Join(err, to.Close())
}

// TestACheckpointIsTheState: a checkpoint links the tables and copies almost nothing. A restored checkpoint equals
// the state at that time, whatever was applied and merged since. A checkpoint that is not retained lasts while it is
// read, and is then removed.
func TestACheckpointIsTheState(t *testing.T) {
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := mustOpenSealed(t, filepath.Join(t.TempDir(), "state"), keys)
			mustApply(t, s, markedHistory()...)
			at, sum := s.Sum()
			if got := mustCheckpoint(t, s, "one"); got != at {
				t.Errorf("it ends at %d, and the state at %d", got, at)
			}
			linked := 0
			must(t, filepath.WalkDir(filepath.Join(s.dir, CheckpointDir), func(path string, e fs.DirEntry, err error) error {
				if err != nil || e.IsDir() {
					return err
				}
				is, err := os.Stat(path)
				must(t, err)
				of, err := os.Stat(filepath.Join(s.live.dir, filepath.Base(path)))
				switch {
				case strings.HasSuffix(path, ".sst") && (err != nil || !os.SameFile(is, of)):
					t.Errorf("%s is a copy", path)
				case strings.HasSuffix(path, ".sst"):
					linked++
				case is.Size() > 64<<10:
					t.Errorf("%s has %d bytes", path, is.Size())
				}
				return nil
			}))
			if linked == 0 {
				t.Error("nothing is linked")
			}
			mustApply(t, s, record(3, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Forget{RID: "plantedrid", At: 1}}}}))
			must(t, s.Compact(context.Background(), nil, true, 0))
			in, _, err := s.ReadCheckpoint("one", at)
			must(t, err)
			must(t, s.RetainCheckpoints(nil))
			to := mustOpen(t, filepath.Join(t.TempDir(), "restored"))
			must(t, errors.Join(to.Restore(in, nil), to.Verify()))
			if gotAt, got := to.Sum(); gotAt != at || got != sum {
				t.Errorf("restored is %d, want %d", gotAt, at)
			}
			must(t, errors.Join(in.Close(), to.Close()))
			if names, err := s.Checkpoints(); err != nil || len(names) != 0 {
				t.Errorf("left are %v, %v", names, err)
			}
			if _, _, err := s.ReadCheckpoint("one", at); !errors.Is(err, ErrState) {
				t.Errorf("one that is gone is read: %v", err)
			}
			must(t, errors.Join(s.Verify(), s.Close()))
		})
	}
}

// TestApplyGoesOnUnderACheckpoint: of the records that are applied while checkpoints are made, each checkpoint
// contains those up to its index.
func TestApplyGoesOnUnderACheckpoint(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	mustApply(t, s, markedHistory()...)
	first, _ := s.Applied()
	sums := map[oplog.Index]Sum{}
	_, sums[first] = s.Sum()
	pinned, err := s.Pin()
	must(t, err)
	ends := make(chan oplog.Index)
	go func() {
		defer close(ends)
		defer pinned.Release()
		for _, name := range []string{"a", "b", "c"} {
			at, _, err := pinned.Checkpoint(name)
			if err != nil {
				t.Error(err)
			}
			ends <- at
		}
	}()
	next, made := first+1, []oplog.Index{}
	for done := false; !done; {
		select {
		case at, more := <-ends:
			if done = !more; more {
				made = append(made, at)
			}
		default:
			mustApply(t, s, record(next,
				[]oplog.Entry{{DB: 1,
					Ops: []oplog.Op{&oplog.Remember{Content: oplog.Content{RID: oplog.NewID(), Text: "more", Namespace: "n", Created: 1}}}}}))
			_, sums[next] = s.Sum()
			next++
		}
	}
	for i, name := range []string{"a", "b", "c"} {
		at, sum, err := restoredFrom(t, filepath.Join(t.TempDir(), name), s, name, made[i])
		if err != nil || at != made[i] || sum != sums[at] {
			t.Errorf("%s is the state at %d, and says %d: %v", name, at, made[i], err)
		}
	}
	must(t, s.Close())
}

// TestACrashWhileACheckpointIsMade crashes the machine before each step of making a second checkpoint, and between
// the removals of the files of the first. The state and a checkpoint are always complete.
func TestACrashWhileACheckpointIsMade(t *testing.T) {
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "state")
			d := &crashes{t: t, dir: dir, synced: map[uint64]int64{}}
			s, err := Open(dir, Options{Keys: keys, Step: d.step})
			must(t, err)
			mustApply(t, s, markedHistory()...)
			was, wasSum := s.Sum()
			mustCheckpoint(t, s, "one")
			mustApply(t, s, record(3, []oplog.Entry{{DB: 1, Ops: []oplog.Op{&oplog.Forget{RID: "plantedrid", At: 1}}}}))
			now, nowSum := s.Sum()
			d.watch(true)
			mustCheckpoint(t, s, "two")
			d.watch(false)
			made := len(d.left)
			old, err := os.ReadDir(filepath.Join(dir, CheckpointDir, "one"))
			must(t, err)
			for _, e := range old { // RetainCheckpoints removes them in any order
				d.leave("before the removal of " + e.Name())
				must(t, os.Remove(filepath.Join(dir, CheckpointDir, "one", e.Name())))
			}
			must(t, s.RetainCheckpoints([]string{"two"}))
			d.leave("removed")
			must(t, s.Close())

			for i, c := range d.left {
				s, err := Open(c.dir, Options{Keys: keys, NoSync: true})
				if err != nil {
					t.Fatalf("%s: %v", c.what, err)
				}
				if at, _ := s.Applied(); at != was && at != now || s.Verify() != nil {
					t.Errorf("%s: the state is at %d: %v", c.what, at, s.Verify())
				}
				name, want, wantSum := "one", was, wasSum
				if i >= made {
					name, want, wantSum = "two", now, nowSum
				}
				at, sum, err := restoredFrom(t, filepath.Join(t.TempDir(), "restored"), s, name, want)
				if err != nil || at != want || sum != wantSum {
					t.Errorf("%s: checkpoint %s is at %d, want %d: %v", c.what, name, at, want, err)
				}
				must(t, s.RetainCheckpoints([]string{name}))
				if names, err := s.Checkpoints(); err != nil || len(names) != 1 {
					t.Errorf("%s: left are %v, %v", c.what, names, err)
				}
				must(t, s.Close())
			}
			t.Logf("%d crashes while it was made, %d while the other was removed", made, len(d.left)-made)
			if made < 20 {
				t.Error("nothing was tested")
			}
		})
	}
}

// TestFlipsOfACheckpoint: a flipped bit in any file of a checkpoint is a read error, or has no effect.
func TestFlipsOfACheckpoint(t *testing.T) {
	t.Parallel()
	for name, keys := range map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})} {
		s := mustOpenSealed(t, filepath.Join(t.TempDir(), "state"), keys)
		mustApply(t, s, markedHistory()...)
		want, wantSum := s.Sum()
		mustCheckpoint(t, s, "one")
		dir := filepath.Join(s.dir, CheckpointDir, "one")
		copied := filepath.Join(t.TempDir(), "copy")
		must(t, os.CopyFS(copied, os.DirFS(dir))) // copied, because the state shares the tables
		rng, caught, dead := rand.New(rand.NewPCG(3, 7)), 0, 0
		files, err := os.ReadDir(copied)
		must(t, err)
		files = slices.DeleteFunc(files, func(e fs.DirEntry) bool {
			info, err := e.Info()
			return err != nil || info.Size() == 0
		})
		for range suite.Count(6, 60, 1000) {
			file := files[rng.IntN(len(files))].Name()
			raw, err := os.ReadFile(filepath.Join(copied, file))
			must(t, err)
			bit := rng.IntN(8 * len(raw))
			raw[bit/8] ^= 1 << (bit % 8)
			must(t, errors.Join(os.RemoveAll(dir), os.CopyFS(dir, os.DirFS(copied)), os.WriteFile(filepath.Join(dir, file), raw, 0o600)))
			at, sum, err := restoredFrom(t, filepath.Join(t.TempDir(), "restored"), s, "one", want)
			var e *oplog.Error
			switch {
			case errors.As(err, &e) && e.Kind == oplog.Corrupt:
				caught++
			case err != nil:
				t.Errorf("%s, bit %d of %s: %v", name, bit, file, err)
			case at != want || sum != wantSum:
				t.Errorf("%s, bit %d of %s: it is restored as another state, at %d", name, bit, file, at)
			default:
				dead++
			}
		}
		t.Logf("%s: %d caught, %d changed nothing", name, caught, dead)
		must(t, s.Close())
	}
}

// TestADamagedCheckpointIsToldWhileItIsRead: the stream of a damaged checkpoint ends with an error, which is also
// reported to the state.
func TestADamagedCheckpointIsToldWhileItIsRead(t *testing.T) {
	t.Parallel()
	s := mustOpen(t, filepath.Join(t.TempDir(), "state"))
	mustApply(t, s, markedHistory()...)
	at := mustCheckpoint(t, s, "one")
	tables, err := filepath.Glob(filepath.Join(s.dir, CheckpointDir, "one", "*.sst"))
	must(t, err)
	for _, path := range tables { // the state shares the tables
		raw, err := os.ReadFile(path)
		must(t, err)
		for i := range len(raw) / 2 {
			raw[i] ^= 1
		}
		must(t, os.WriteFile(path, raw, 0o600))
	}
	in, _, err := s.ReadCheckpoint("one", at)
	if err == nil {
		_, err = io.Copy(io.Discard, in)
		err = errors.Join(err, in.Close())
	}
	if !errors.Is(err, ErrState) {
		t.Errorf("it is read: %v", err)
	}
	select {
	case <-s.Damaged():
	default:
		t.Error("the state does not hear of it")
	}
	must(t, s.Close())
}
