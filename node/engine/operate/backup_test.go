package operate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
)

func kindOf(err error) oplog.Kind {
	var e *oplog.Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return oplog.Internal
}

// TestBackupsWaitToBeDownloaded checks that a backup can be fetched until it is dropped or expires, that few can wait
// at a time, and that those of an earlier process are removed.
func TestBackupsWaitToBeDownloaded(t *testing.T) {
	t.Parallel()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	spool := filepath.Join(t.TempDir(), "spool")
	open := func() *Backups {
		t.Helper()
		b, err := NewBackups(slog.New(slog.DiscardHandler), st, nil, spool, BackupPlan{})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open()
	if b.Planned() != nil {
		t.Error("a node without a plan has one")
	}
	var last *api.Backup
	for range maxSpooled {
		if last, err = b.Make(t.Context(), api.Caller{}, &api.MakeBackupRequest{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := b.Make(t.Context(), api.Caller{}, &api.MakeBackupRequest{}); kindOf(err) != oplog.Unavailable {
		t.Errorf("one too many: %v", err)
	}
	file, err := b.Fetch(t.Context(), api.Caller{}, &api.FetchBackupRequest{ID: last.ID})
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, file.File)
	file.File.Close()
	if err != nil || n != last.Size || hex.EncodeToString(sum.Sum(nil)) != last.SHA256 || last.SHA256 != file.SHA256 {
		t.Errorf("fetched %d of %d bytes, %v", n, last.Size, err)
	}
	if _, err := b.Drop(t.Context(), api.Caller{}, &api.DropBackupRequest{ID: last.ID}); err != nil {
		t.Error(err)
	}
	if _, err := b.Fetch(t.Context(), api.Caller{}, &api.FetchBackupRequest{ID: last.ID}); kindOf(err) != oplog.NotFound {
		t.Errorf("fetched after it was dropped: %v", err)
	}
	waits := func() int {
		t.Helper()
		files, err := os.ReadDir(spool)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		return len(files)
	}
	for _, w := range b.waiting {
		w.used = w.used.Add(-spoolExpiry - time.Second)
		break
	}
	if b.Expire(); waits() != maxSpooled-2 {
		t.Errorf("%d wait after one was dropped and one expired", waits())
	}
	if open(); waits() != 0 {
		t.Errorf("%d wait after a restart", waits())
	}
}

// TestBackupsSweepTheirDirectory checks that incomplete files of a killed process are removed once no process can
// still be writing them.
func TestBackupsSweepTheirDirectory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := statetest.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true}, statetest.NewLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	for _, name := range []string{".writing-1", ".cairn-verify-2.scratch/state", ".writing-3", ".cairn-verify-4.scratch/state", "other/x"} {
		err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700),
			os.WriteFile(filepath.Join(dir, name), []byte("part"), 0o600))
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{".writing-1", ".cairn-verify-2.scratch", "other"} {
		if err := os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-25*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	b, err := NewBackups(slog.New(slog.DiscardHandler), st.State, nil, filepath.Join(t.TempDir(), "spool"), BackupPlan{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.BackUp(BackupPlan{Dir: dir}.withDefaults()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if left := api.Each(entries, os.DirEntry.Name); !slices.Equal(left, []string{".cairn-verify-4.scratch", ".writing-3", "other"}) {
		t.Errorf("left: %v", left)
	}
}

// TestBackupsOfAnotherHistory checks that no backup is written into a directory whose backups reach farther than the
// node, such as those of the cluster that it was restored from: it would be pruned first, and a restore would use the
// others. If they reach less far, a full backup begins a new chain.
func TestBackupsOfAnotherHistory(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	history := uint64(0) // by its clock
	backups := func(records int) *Backups {
		t.Helper()
		st, err := statetest.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true}, statetest.NewLog())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { st.Close() })
		for i := range records {
			e := oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: oplog.Time(i + 1)}}}
			body, err := e.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := st.Apply([]oplog.Record{{Index: oplog.Index(i + 1), Term: 1,
				Data: oplog.EncodeRecord(oplog.MakeHLC(history+uint64(i+1), 0, 1), body)}}); err != nil {
				t.Fatal(err)
			}
		}
		b, err := NewBackups(slog.New(slog.DiscardHandler), st.State, nil, filepath.Join(t.TempDir(), "spool"), BackupPlan{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	plan := BackupPlan{Dir: dir, Every: 24, Keep: 1}
	if _, at, err := backups(9).BackUp(plan); err != nil || at.Index != 9 {
		t.Fatalf("at %d, %v", at.Index, err)
	}
	path, _, err := backups(5).BackUp(plan)
	if _, gone := os.Stat(path); path != "" && gone != nil {
		t.Errorf("made and removed: %s", path)
	}
	if path != "" || err == nil {
		t.Errorf("made %q, %v", path, err)
	}
	if path, at, err := backups(12).BackUp(plan); err != nil || path == "" || at.Index != 12 {
		t.Errorf("of a node that is farther: %q at %d, %v", path, at.Index, err)
	}
	if files, err := archive.List(dir); err != nil || len(files) != 2 || files[1].Since != 9 {
		t.Errorf("a range was to lead on: %+v, %v", files, err)
	}
	history, plan.Keep = 1000, 9
	for _, records := range []int{12, 15} { // as far as the other one, and farther
		b := backups(records)
		if _, err := b.Make(t.Context(), api.Caller{},
			&api.MakeBackupRequest{Since: 12, LogTime: oplog.MakeHLC(12, 0, 1).String()}); kindOf(err) != oplog.Conflict {
			t.Errorf("it leads on from another history: %v", err)
		}
		before, err := os.ReadFile(filepath.Join(dir, "end"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := b.BackUp(plan); err != nil {
			t.Error(err)
		}
		if rep, err := archive.Verify(t.Context(), dir, "", nil); err != nil || len(rep.Files) != 1 || rep.End != b.state.Point() {
			t.Errorf("verified %+v, %v", rep, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "end"), before, 0o600); err != nil { // as it was before that one
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, archive.Name(0, oplog.Index(records)))); err != nil {
			t.Fatal(err)
		}
	}
}
