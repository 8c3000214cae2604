package index_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog/damage"
)

// summed are the files of which every bit counts.
var summed = regexp.MustCompile(`^(checkpoint|rows-.*|vectors-.*|.*\.zap)$`)

// TestFlippedBits flips single bits of each file that an index leaves, one at a time: it opens, names what it cannot use, and
// answers words, vectors and filters as before.
func TestFlippedBits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	l, qs := history(t, 400), questions()[:12]
	r := openReplica(t)
	r.apply(l.records, len(l.records)) // in one batch, so that every segment is in use and a flipped bit matters
	want := r.answers(qs)
	r.settle()
	r.index.Close()
	kept := filepath.Join(t.TempDir(), "index")
	copyAll(t, r.dir(), kept)
	kinds, named, dead := map[string]bool{}, map[string]int{}, map[string]int{}
	err := filepath.WalkDir(kept, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		whole, err := os.ReadFile(path)
		if err != nil || len(whole) == 0 {
			return err
		}
		name, err := filepath.Rel(kept, path)
		if err != nil {
			return err
		}
		kind, _, _ := strings.Cut(strings.TrimLeft(filepath.Base(name), "0123456789"), "-")
		kinds[kind] = true
		rng := rand.New(rand.NewPCG(1, uint64(len(whole))))
		for range flips {
			at, bit := rng.IntN(len(whole)), rng.IntN(8)
			for whole[at] == 0 && kind == "root.bolt" { // most of it is empty
				at = rng.IntN(len(whole))
			}
			what := fmt.Sprintf("bit %d of byte %d of %s", bit, at, name)
			if err := os.RemoveAll(r.dir()); err != nil {
				return err
			}
			copyAll(t, kept, r.dir())
			whole[at] ^= 1 << bit
			err := os.WriteFile(filepath.Join(r.dir(), name), whole, 0o600)
			whole[at] ^= 1 << bit
			if err != nil {
				return err
			}
			said := &strings.Builder{}
			log := slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelWarn}))
			if r.index, _, err = index.Open(t.Context(), index.Config{Dir: r.dir(), State: r.state.State, Logger: log}); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			sameAnswers(t, what, qs, r.answers(qs), want)
			r.index.Close()
			if said.Len() > 0 {
				named[kind]++
			} else {
				dead[kind]++
			}
			if summed.MatchString(filepath.Base(name)) && !strings.Contains(said.String(), filepath.Dir(name)) {
				t.Errorf("%s: it says %q", what, said)
			}
			found := r.index.Damaged().List()
			if len(found) != 0 && (len(found) != 1 || found[0].Path != filepath.Join(r.dir(), name) && kind != "root.bolt" || !found[0].Healed) || len(found) == 0 && summed.MatchString(filepath.Base(name)) {
				t.Errorf("%s: it names %+v", what, found)
			}
		}
		return nil
	})
	must(t, err)
	t.Logf("bits that were named and healed: %v; bits that changed nothing: %v", named, dead)
	for _, kind := range []string{"checkpoint", "identity.json", "rows", "vectors", ".zap", "root.bolt", "cairn.format"} {
		if !kinds[kind] {
			t.Errorf("no %s among the files %v", kind, kinds)
		}
	}
}

// TestDamageUnderAnOpenIndexIsHealed: bits of the segments change while they are searched. Verify names the database and makes its files anew, and it answers as before.
func TestDamageUnderAnOpenIndexIsHealed(t *testing.T) {
	t.Parallel()
	l, qs := history(t, 400), questions()[:12]
	r := openReplica(t)
	said := &strings.Builder{}
	r.index.Close()
	var err error
	if r.index, _, err = index.Open(t.Context(), index.Config{Dir: r.dir(), State: r.state.State, Logger: slog.New(slog.NewTextHandler(said, &slog.HandlerOptions{Level: slog.LevelError}))}); err != nil {
		t.Fatal(err)
	}
	r.apply(l.records, 100)
	want := r.answers(qs)
	r.settle()
	verify := func(want int64) {
		t.Helper()
		before := r.index.Damaged().Times(damage.Index)
		if err := r.index.Verify(t.Context(), 0); err != nil || r.index.Damaged().Times(damage.Index)-before != want {
			t.Fatalf("%d databases are damaged, %v; want %d", r.index.Damaged().Times(damage.Index)-before, err, want)
		}
	}
	verify(0)
	rng, files := rand.New(rand.NewPCG(1, 3)), 0
	err = filepath.WalkDir(r.dir(), func(path string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".zap" {
			return err
		}
		files++
		whole, err := os.ReadFile(path)
		must(t, err)
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		must(t, err)
		at := rng.Int64N(int64(len(whole)))
		_, err = f.WriteAt([]byte{whole[at] ^ 1<<rng.IntN(8)}, at) // in place: the index goes on reading this file
		return errors.Join(err, f.Close())
	})
	if err != nil || files == 0 {
		t.Fatalf("%d segments: %v", files, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.index.Verify(gone, 0); !errors.Is(err, context.Canceled) || !r.index.Damaged().Healed() {
		t.Errorf("cancelled: %v", err)
	}
	verify(1)
	found := r.index.Damaged().List()
	if len(found) != 1 || found[0].Database != "default" || found[0].Times != 1 || !found[0].Healed || filepath.Ext(found[0].Path) != ".zap" || filepath.Dir(filepath.Dir(filepath.Dir(found[0].Path))) != r.dir() {
		t.Errorf("it names %+v", found)
	}
	if !strings.Contains(said.String(), "database=1") || !strings.Contains(said.String(), ".zap") {
		t.Errorf("it says %q", said)
	}
	sameAnswers(t, "healed", qs, r.answers(qs), want)
	verify(0)
	r.reopen()
	sameAnswers(t, "healed, and a restart", qs, r.answers(qs), want)
}
