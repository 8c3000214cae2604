package boltfile

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"
)

var things = []byte("things")

// book is a file under checkpoints, beside a model of what it holds.
type book struct {
	t     *testing.T
	path  string
	db    *bolt.DB
	c     *Checkpoint
	model map[string]string
	rng   *rand.Rand
}

func openBook(t *testing.T, path string, seed uint64) *book {
	b := &book{t: t, path: path, model: map[string]string{}, rng: rand.New(rand.NewPCG(seed, 1))}
	b.reopen()
	return b
}

func (b *book) reopen() {
	b.t.Helper()
	if err := errors.Join(Rewind(b.path), Prepare(b.path)); err != nil {
		b.t.Fatal(err)
	}
	var err error
	if b.db, _, err = Open(b.path, bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType}); err != nil {
		b.t.Fatal(err)
	}
	err = b.db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucketIfNotExists(things); return err })
	if err != nil {
		b.t.Fatal(err)
	}
	if b.c, err = Begin(b.db, Syncing{Not: true}); err != nil {
		b.t.Fatal(err)
	}
}

// write commits some changes.
func (b *book) write() {
	b.t.Helper()
	err := b.db.Update(func(tx *bolt.Tx) error {
		k := tx.Bucket(things)
		for range 1 + b.rng.IntN(20) {
			key := fmt.Sprint(b.rng.IntN(400))
			if b.rng.IntN(4) == 0 {
				delete(b.model, key)
				if err := k.Delete([]byte(key)); err != nil {
					return err
				}
				continue
			}
			b.model[key] = fmt.Sprint(b.rng.Uint64(), string(bytes.Repeat([]byte("x"), b.rng.IntN(900))))
			if err := k.Put([]byte(key), []byte(b.model[key])); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *book) holds(want map[string]string) {
	b.t.Helper()
	got := map[string]string{}
	err := b.db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		return tx.Bucket(things).ForEach(func(k, v []byte) error { got[string(k)] = string(v); return nil })
	})
	if err != nil {
		b.t.Fatal(err)
	}
	if !maps.Equal(got, want) {
		b.t.Fatalf("it holds %d things, %d expected, or others", len(got), len(want))
	}
}

func (b *book) bytes() []byte {
	b.t.Helper()
	raw, err := os.ReadFile(b.path)
	if err != nil {
		b.t.Fatal(err)
	}
	return raw
}

func (b *book) let() { // go, as a killed process does
	if err := errors.Join(b.c.Abandon(), b.db.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// torn is what a crash of the machine leaves: of every page either what was synced or what was written since.
func torn(rng *rand.Rand, synced, written []byte) []byte {
	const page = 4096
	out := bytes.Clone(written)
	for at := 0; at < len(out); at += page {
		if rng.IntN(2) == 0 {
			end := min(at+page, len(out))
			clear(out[at:end])
			if at < len(synced) {
				copy(out[at:end], synced[at:])
			}
		}
	}
	return out
}

// TestACrashFallsBackToTheCheckpoint loses any of the pages that were written after a checkpoint.
func TestACrashFallsBackToTheCheckpoint(t *testing.T) {
	for seed := range uint64(8) {
		b := openBook(t, filepath.Join(t.TempDir(), "a.db"), seed)
		for range 5 {
			for range b.rng.IntN(30) {
				b.write()
			}
			if err := b.c.Take(); err != nil {
				t.Fatal(err)
			}
			synced, then := b.bytes(), maps.Clone(b.model)
			for range b.rng.IntN(30) {
				b.write()
			}
			written := b.bytes()
			b.let()
			if err := os.WriteFile(b.path, torn(b.rng, synced, written), 0o600); err != nil {
				t.Fatal(err)
			}
			b.model = then
			b.reopen()
			b.holds(then)
		}
		b.let()
	}
}

// TestATornNoteLeavesTheOneBefore crashes while a checkpoint is noted.
func TestATornNoteLeavesTheOneBefore(t *testing.T) {
	b := openBook(t, filepath.Join(t.TempDir(), "a.db"), 1)
	for range 20 {
		b.write()
		if err := b.c.Take(); err != nil {
			t.Fatal(err)
		}
		synced, then := b.bytes(), maps.Clone(b.model)
		for range 10 {
			b.write()
		}
		written := b.bytes()
		if err := b.c.Take(); err != nil {
			t.Fatal(err)
		}
		note, err := os.ReadFile(notePath(b.path))
		if err != nil {
			t.Fatal(err)
		}
		note[int(b.c.n%2)*noteEvery+20] ^= 1
		b.let()
		if err := errors.Join(os.WriteFile(notePath(b.path), note, 0o600), os.WriteFile(b.path, torn(b.rng, synced, written), 0o600)); err != nil {
			t.Fatal(err)
		}
		b.model = then
		b.reopen()
		b.holds(then)
	}
	b.let()
}

func TestAClosedFileIsWhole(t *testing.T) {
	b := openBook(t, filepath.Join(t.TempDir(), "a.db"), 1)
	for range 10 {
		b.write()
	}
	if err := errors.Join(b.c.End(), b.db.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(notePath(b.path)); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("the note: %v", err)
	}
	b.reopen()
	b.holds(b.model)
	b.let()
}

// TestAForeignNoteIsRefused puts another file under a note.
func TestAForeignNoteIsRefused(t *testing.T) {
	dir := t.TempDir()
	a, b := openBook(t, filepath.Join(dir, "a.db"), 1), openBook(t, filepath.Join(dir, "b.db"), 2)
	a.write()
	b.write()
	if err := errors.Join(a.c.Take(), b.c.Take()); err != nil {
		t.Fatal(err)
	}
	a.let()
	b.let()
	before := b.bytes()
	if err := os.Rename(notePath(a.path), notePath(b.path)); err != nil {
		t.Fatal(err)
	}
	if err := Rewind(b.path); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
	if !bytes.Equal(before, b.bytes()) {
		t.Error("the file was changed")
	}
	if err := os.WriteFile(notePath(b.path), []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Rewind(b.path); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// TestANoteGoesWithItsFile sets a file aside and makes a new one of its name.
func TestANoteGoesWithItsFile(t *testing.T) {
	b := openBook(t, filepath.Join(t.TempDir(), "a.db"), 1)
	b.write()
	if err := b.c.Take(); err != nil {
		t.Fatal(err)
	}
	old := b.model
	b.let()
	aside := b.path + ".aside"
	if err := SetAside(b.path, aside); err != nil {
		t.Fatal(err)
	}
	b.model = map[string]string{}
	b.reopen()
	b.holds(b.model)
	b.let()
	b.path = aside
	b.reopen()
	b.holds(old)
	b.let()
	if err := os.Remove(aside); err != nil {
		t.Fatal(err)
	}
	if err := Rewind(aside); err != nil { // the note of a file that is gone says nothing
		t.Fatal(err)
	}
	if _, err := os.Stat(notePath(aside)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the note: %v", err)
	}
}
