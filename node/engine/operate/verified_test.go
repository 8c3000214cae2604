package operate

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/oplog/state/statetest"
)

// TestBackupsThatDoNotRestoreStayUnverified checks that after a failed verification a restarted node reports no
// earlier success, and verifies again.
func TestBackupsThatDoNotRestoreStayUnverified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	st, err := statetest.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true}, statetest.NewLog())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	open := func() *Backups {
		t.Helper()
		b, err := NewBackups(slog.New(slog.DiscardHandler), st.State, nil, filepath.Join(t.TempDir(), "spool"),
			BackupPlan{Dir: dir, Every: 1})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	at := oplog.Index(0)
	next := func(b *Backups) {
		t.Helper()
		at++
		body, err := (&oplog.Entry{Ops: []oplog.Op{&oplog.Init{Cluster: "c", At: oplog.Time(at)}}}).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := st.Apply([]oplog.Record{{Index: at, Term: 1,
			Data: oplog.EncodeRecord(oplog.MakeHLC(uint64(at), 0, 1), body)}}); err != nil {
			t.Fatal(err)
		}
		b.Next(t.Context())
	}
	b := open()
	next(b)
	if b.Planned().Verified.Load() == 0 || open().Planned().Verified.Load() == 0 {
		t.Fatal("the first backup is not verified")
	}
	whole := filepath.Join(dir, archive.Name(0, 1))
	raw, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(whole, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	next(b)
	if b.Planned().Unverifiable.Load() != 1 {
		t.Fatal("a damaged backup restores")
	}
	if at := open().Planned().Verified.Load(); at != 0 {
		t.Errorf("after a restart they are verified at %d", at)
	}
}

// TestABackupWithoutAClientDoesNotWait checks that a backup is removed if its client leaves while it is made.
func TestABackupWithoutAClientDoesNotWait(t *testing.T) {
	t.Parallel()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	spool := filepath.Join(t.TempDir(), "spool")
	b, err := NewBackups(slog.New(slog.DiscardHandler), st, nil, spool, BackupPlan{})
	if err != nil {
		t.Fatal(err)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range maxSpooled {
		if _, err := b.Make(gone, api.Caller{}, &api.MakeBackupRequest{}); err == nil {
			t.Error("made for a client that has gone")
		}
	}
	if _, err := b.Make(t.Context(), api.Caller{}, &api.MakeBackupRequest{}); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir(spool); err != nil || len(files) != 1 {
		t.Errorf("%d wait, %v", len(files), err)
	}
}

// TestABackupIsDroppedOnce checks that of several concurrent requests to delete a backup one succeeds, and the others
// do not find it.
func TestABackupIsDroppedOnce(t *testing.T) {
	t.Parallel()
	st, err := state.Open(filepath.Join(t.TempDir(), "state"), state.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	b, err := NewBackups(slog.New(slog.DiscardHandler), st, nil, filepath.Join(t.TempDir(), "spool"), BackupPlan{})
	if err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		made, err := b.Make(t.Context(), api.Caller{}, &api.MakeBackupRequest{})
		if err != nil {
			t.Fatal(err)
		}
		var both sync.WaitGroup
		var dropped atomic.Int64
		for range 16 {
			both.Go(func() {
				_, err := b.Drop(t.Context(), api.Caller{}, &api.DropBackupRequest{ID: made.ID})
				if err == nil {
					dropped.Add(1)
				} else if kindOf(err) != oplog.NotFound {
					t.Errorf("dropped with another: %v", err)
				}
			})
		}
		if both.Wait(); dropped.Load() != 1 {
			t.Fatalf("dropped %d times", dropped.Load())
		}
	}
}
