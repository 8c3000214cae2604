package boltfile_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/oplog/boltfile"
)

// hollow is a file with more free pages than a u16 counts.
func hollow(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	o := options()
	o.PageSize = 1024
	db, err := bolt.Open(path, 0o600, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*bolt.Bucket) error{
		func(b *bolt.Bucket) error { return b.Put([]byte("large"), make([]byte, 70<<20)) },
		func(b *bolt.Bucket) error { return b.Delete([]byte("large")) },
		func(b *bolt.Bucket) error { return b.Put([]byte("small"), nil) },
	} {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("bucket"))
			if err != nil {
				return err
			}
			return change(b)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestBboltTakesTheList opens a file as it was and prepared: bbolt finds the same free pages, and goes on
// with them.
func TestBboltTakesTheList(t *testing.T) {
	for name, path := range map[string]string{"empty": grown(t, 0), "small": grown(t, 1), "grown": grown(t, 300), "hollow": hollow(t)} {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := goOn(t, path)
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := boltfile.Prepare(path); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		size := int(binary.NativeEndian.Uint32(raw[16+8:])) // of a page
		list := 2 * size                                    // behind the metas
		for list < len(raw) && now[list] == raw[list] {
			list++
		}
		list -= list % size
		clear(now[list : list+size])
		broken := filepath.Join(t.TempDir(), "broken")
		for _, p := range []string{broken, path} {
			if err := os.WriteFile(p, now, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if !panics(func() { _, _ = bolt.Open(broken, 0o600, options()) }) {
			t.Errorf("%s: bbolt does not read the list", name)
		}
		if err := boltfile.Prepare(path); err != nil { // whatever became of a list, another is made
			t.Fatal(err)
		}
		if got := goOn(t, path); got != want {
			t.Errorf("%s: %d free pages in the list, %d without one", name, got, want)
		}
		if err := boltfile.Verify(path); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStartsDoNotLetAFileGrow opens a file again and again that has room for the list.
func TestStartsDoNotLetAFileGrow(t *testing.T) {
	path := grown(t, 300)
	goOn(t, path)
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := boltfile.Prepare(path); err != nil {
			t.Fatal(err)
		}
		db, err := bolt.Open(path, 0o600, options())
		if err == nil {
			err = errors.Join(db.Update(func(*bolt.Tx) error { return nil }), db.Close()) // as every start does
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if now, err := os.Stat(path); err != nil || now.Size() != was.Size() {
		t.Errorf("%d bytes became %d (%v)", was.Size(), now.Size(), err)
	}
	goOn(t, path)
}

func options() *bolt.Options {
	return &bolt.Options{NoFreelistSync: true, NoSync: true, FreelistType: bolt.FreelistMapType}
}

func panics(f func()) (yes bool) {
	defer func() { yes = recover() != nil }()
	f()
	return false
}

// goOn opens a file, writes to it and lets bbolt check all of it. It returns how many pages were free.
func goOn(t *testing.T, path string) (free int) {
	t.Helper()
	db, err := bolt.Open(path, 0o600, options())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	free = db.Stats().FreePageN
	for round := range 3 {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("more"))
			if err != nil {
				return err
			}
			for i := range 1000 {
				if err := b.Put(fmt.Append(nil, i), make([]byte, 100*(round+i%5))); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err = db.View(func(tx *bolt.Tx) error {
		for err := range tx.Check() {
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return free
}
