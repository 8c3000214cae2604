package boltfile

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestAPageThatCannotBeReadIsNamed takes pages away from under a file that is mapped, as a disk does that cannot read them.
func TestAPageThatCannotBeReadIsNamed(t *testing.T) {
	b := openBook(t, filepath.Join(t.TempDir(), "a.db"), 1)
	for range 30 {
		b.write()
	}
	if err := errors.Join(b.c.End(), b.db.Close()); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(b.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	w := walk{f: f, size: i.Size()}
	if w.whole, err = syscall.Mmap(int(f.Fd()), 0, int(w.size), syscall.PROT_READ, syscall.MAP_SHARED); err != nil {
		t.Fatal(err)
	}
	defer syscall.Munmap(w.whole)
	if err := w.verify(2); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(2 * w.pageSize); err != nil {
		t.Fatal(err)
	}
	if err := w.verify(2); !errors.Is(err, ErrDamaged) {
		t.Errorf("got %v", err)
	}
}

// TestACrashWhileAListIsLeft keeps, of what Prepare writes, any pages of the list, and with all of them any beginning of the
// metas: the file holds what it did.
func TestACrashWhileAListIsLeft(t *testing.T) {
	b := openBook(t, filepath.Join(t.TempDir(), "a.db"), 1)
	for range 40 {
		b.write()
	}
	if err := errors.Join(b.c.End(), b.db.Close()); err != nil {
		t.Fatal(err)
	}
	before := b.bytes()
	if err := Prepare(b.path); err != nil {
		t.Fatal(err)
	}
	after := b.bytes()
	const metas = 2 * 4096
	for i := range 40 {
		now := torn(b.rng, append(bytes.Clone(before), make([]byte, max(0, len(after)-len(before)))...), after)
		copy(now, before[:metas])
		if i%2 == 1 {
			copy(now[metas:], after[metas:])
			copy(now, after[:b.rng.IntN(metas)])
		}
		if err := os.WriteFile(b.path, now, 0o600); err != nil {
			t.Fatal(err)
		}
		b.reopen()
		b.holds(b.model)
		if err := errors.Join(b.c.End(), b.db.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
