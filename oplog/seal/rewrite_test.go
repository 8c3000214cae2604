package seal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// newRotatedHome returns a home with files under an outdated data key, and a ring as a new process opens it.
func newRotatedHome(t *testing.T, masters []seal.Master, files map[string][]byte) (home string, r *seal.Ring) {
	t.Helper()
	home = t.TempDir()
	old, err := seal.Create(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	for name, plain := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, sealFile(t, plain, old.Writer), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := old.Rotate(); err != nil {
		t.Fatal(err)
	}
	r, _, err = seal.Open(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	return home, r
}

func sameFiles(t *testing.T, home string, r *seal.Ring, files map[string][]byte) {
	t.Helper()
	for name, want := range files {
		raw, err := os.ReadFile(filepath.Join(home, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := readAt(r, raw); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, want %d: %v", name, len(got), len(want), err)
		}
	}
}

// TestARewriteLeavesOneKey: after a rewrite, no file needs the old key, and the key can be removed. Open files stay
// readable.
func TestARewriteLeavesOneKey(t *testing.T) {
	t.Parallel()
	files, masters := map[string][]byte{"a": text(3), "deep/b": text(5 << 20), "deep/empty": nil}, []seal.Master{seal.NewMaster()}
	home, r := newRotatedHome(t, masters, files)
	if err := os.WriteFile(filepath.Join(home, "plain"), []byte("as it was"), 0o600); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(filepath.Join(home, "deep/b"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	info, err := open.Stat()
	if err != nil {
		t.Fatal(err)
	}
	reader, err := r.At(open, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	if left, err := r.OutdatedFiles(home); err != nil || len(left) != len(files) || !r.Rotating() {
		t.Fatalf("to rewrite: %q, %v", left, err)
	}
	pauses := 0
	if err := r.RewriteAll(t.Context(), home, func() error { pauses++; return nil }); err != nil {
		t.Fatal(err)
	}
	if left, err := r.OutdatedFiles(home); err != nil || len(left) != 0 || pauses == 0 {
		t.Errorf("left: %q, %v after %d pauses", left, err, pauses)
	}
	if err := r.Retire(); err != nil || r.Rotating() || len(r.Keys()) != 1 {
		t.Fatalf("%d keys, %v", len(r.Keys()), err)
	}
	next, _, err := seal.Open(home, masters)
	if err != nil || len(next.Keys()) != 1 {
		t.Fatalf("the next process: %v", err)
	}
	sameFiles(t, home, next, files)
	got := make([]byte, reader.Size())
	if _, err := reader.ReadAt(got, 0); err != nil || !bytes.Equal(got, files["deep/b"]) {
		t.Errorf("what was open before: %v", err)
	}
}

// TestARewriteThatEndsHalfway: the files are complete at every pause, and the next rewrite finishes the work.
func TestARewriteThatEndsHalfway(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"a": text(2 << 20), "b": text(2 << 20), "c": text(100)}
	home, r := newRotatedHome(t, []seal.Master{seal.NewMaster()}, files)
	stop := errors.New("stop")
	for n := range 6 {
		pauses := 0
		err := r.RewriteAll(t.Context(), home, func() error {
			if pauses++; pauses > n {
				return stop
			}
			return nil
		})
		if err != nil && !errors.Is(err, stop) {
			t.Fatal(err)
		}
		sameFiles(t, home, r, files)
		// the state that a killed process leaves
		if err := os.WriteFile(filepath.Join(home, fmt.Sprint(n, ".resealed")), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.RewriteAll(t.Context(), home, nil); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(home)
	if err != nil || len(entries) != len(files)+1 {
		t.Errorf("%d files, %v", len(entries), err)
	}
	sameFiles(t, home, r, files)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	home, r = newRotatedHome(t, []seal.Master{seal.NewMaster()}, files)
	if err := r.RewriteAll(ctx, home, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestARewriteMeets: a damaged file stays unchanged and is reported, and the others are rewritten. A file that is
// removed or replaced during its copy stays removed or replaced.
func TestARewriteMeets(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"damaged": text(3 * plain), "removed": text(2 << 20), "replaced": text(2 << 20), "whole": text(10)}
	home, r := newRotatedHome(t, []seal.Master{seal.NewMaster()}, files)
	bad, err := os.ReadFile(filepath.Join(home, "damaged"))
	if err != nil {
		t.Fatal(err)
	}
	bad[sector+100] ^= 1
	if err := os.WriteFile(filepath.Join(home, "damaged"), bad, 0o600); err != nil {
		t.Fatal(err)
	}
	err = r.Rewrite(filepath.Join(home, "removed"), func() error { return os.RemoveAll(filepath.Join(home, "removed")) })
	if _, serr := os.Stat(filepath.Join(home, "removed")); err != nil || !errors.Is(serr, os.ErrNotExist) {
		t.Errorf("removed while it was copied: %v, %v", err, serr)
	}
	newer := sealFile(t, []byte("newer"), r.Writer)
	err = r.Rewrite(filepath.Join(home, "replaced"), func() error {
		next := filepath.Join(home, "next")
		return errors.Join(os.WriteFile(next, newer, 0o600), os.Rename(next, filepath.Join(home, "replaced")))
	})
	if err != nil {
		t.Error(err)
	}
	err = r.RewriteAll(t.Context(), home, nil)
	if !errors.Is(err, seal.ErrDamaged) || !bytes.Contains([]byte(err.Error()), []byte("damaged: ")) {
		t.Errorf("a damaged file: %v", err)
	}
	if left, err := r.OutdatedFiles(home); err != nil || len(left) != 1 || filepath.Base(left[0]) != "damaged" {
		t.Errorf("left: %q, %v", left, err)
	}
	sameFiles(t, home, r, map[string][]byte{"whole": files["whole"], "replaced": []byte("newer")})
}

// TestAKeyringThatWasRotatedMeanwhile: a key that another process added is kept.
func TestAKeyringThatWasRotatedMeanwhile(t *testing.T) {
	t.Parallel()
	home, masters := t.TempDir(), []seal.Master{seal.NewMaster()}
	r, err := seal.Create(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	other, err := seal.Load(home, masters)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Rotate(); err != nil {
		t.Fatal(err)
	}
	if err := r.Retire(); !errors.Is(err, seal.ErrRotated) {
		t.Errorf("retired: %v", err)
	}
	if now, err := seal.Load(home, masters); err != nil || len(now.Keys()) != 2 || now.Active() != other.Active() {
		t.Errorf("the keyring: %v, %v", now.Keys(), err)
	}
}
