package boltfile_test

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/cairndb/cairn/index/text/boltfile"
	"github.com/cairndb/cairn/oplog/suite"
)

// grownFile returns the path of a file with nested buckets, large values, overwritten values and a list of free
// pages.
func grownFile(t testing.TB, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "db")
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	for round := range 4 {
		err := db.Update(func(tx *bolt.Tx) error {
			for b := range 3 {
				outer, err := tx.CreateBucketIfNotExists(fmt.Append(nil, "bucket", b))
				if err != nil {
					return err
				}
				inner, err := outer.CreateBucketIfNotExists([]byte("inner"))
				if err != nil {
					return err
				}
				for i := range n {
					if err := inner.Put(fmt.Append(nil, (i*7919+round*31)%(2*n)), make([]byte, (i%20)*(i%20)*8)); err != nil {
						return err
					}
				}
				if round == 2 {
					if err := outer.DeleteBucket([]byte("inner")); err != nil {
						return err
					}
				}
			}
			return nil
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

func TestWholeFilesPass(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	for _, n := range []int{0, 1, 300, 3000} {
		if err := boltfile.Check(grownFile(t, n)); err != nil {
			t.Errorf("%d keys: %v", n, err)
		}
	}
	path := grownFile(t, 10)
	db, err := bolt.Open(path, 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := os.Truncate(path, 5000); err != nil { // while another process has it open
		t.Fatal(err)
	}
	if err := boltfile.Check(path); err != nil {
		t.Errorf("a file that another holds: %v", err)
	}
	if err := boltfile.Check(filepath.Join(t.TempDir(), "none")); err != nil {
		t.Errorf("a file that is not there: %v", err)
	}
}

// TestDamagedFilesAreNamed: a file that passes the check can be opened and written without a panic of bbolt. A file
// that does not pass is reported with the reason.
func TestDamagedFilesAreNamed(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: opens files again and again, one after the other")
	}
	whole, err := os.ReadFile(grownFile(t, 300))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	found := 0
	for range 200 {
		b := append([]byte(nil), whole...)
		page := rng.IntN(len(b)/4096) * 4096
		switch rng.IntN(3) {
		case 0: // the head of a page
			b[page+rng.IntN(16)] ^= byte(1 << rng.IntN(8))
		case 1: // a torn end
			b = b[:page]
		default: // a page of something else
			for i := range 4096 {
				b[page+i] = byte(rng.Uint32())
			}
		}
		path := filepath.Join(t.TempDir(), "db")
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		err := boltfile.Check(path)
		if err != nil {
			found++
			if !errors.Is(err, boltfile.ErrDamaged) {
				t.Errorf("not called damaged: %v", err)
			}
			continue
		}
		if len(b) == 0 {
			continue
		}
		func() {
			defer func() { _ = recover() }() // here it can be recovered; in a goroutine of bbolt's it ends the test
			if db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, FreelistType: bolt.FreelistMapType}); err == nil {
				db.Close()
			}
		}()
	}
	if found < 60 {
		t.Errorf("only %d of 200 damaged files were found", found)
	}
}

// TestDamagedListsAreNamed flips bits of the list of free pages: a file that passes the check can be written to, and
// loses no page by that.
func TestDamagedListsAreNamed(t *testing.T) {
	suite.Full(t)
	if testing.Short() {
		t.Skip("skipped in -short: one goroutine, in which there is no race")
	}
	path := grownFile(t, 30)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	size := int(binary.NativeEndian.Uint32(whole[16+8:])) // of a page
	newest := max(binary.NativeEndian.Uint64(whole[16+48:]), binary.NativeEndian.Uint64(whole[size+16+48:]))
	list := int(binary.NativeEndian.Uint64(whole[int(newest%2)*size+16+32:])) * size
	count := int(binary.NativeEndian.Uint16(whole[list+10:]))
	if count < 3 {
		t.Fatalf("a list of %d pages tells nothing", count)
	}
	found := 0
	rng := rand.New(rand.NewPCG(5, 6))
	for bit := range 300 {
		if bit >= 8*16 { // all bits of the head, and some of the list
			bit = 8*16 + rng.IntN(64*count)
		}
		b := slices.Clone(whole)
		b[list+bit/8] ^= 1 << (bit % 8)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := boltfile.Check(path); err != nil {
			found++
		} else if err := goOn(path); err != nil {
			t.Errorf("bit %d of the list: %v", bit, err)
		}
	}
	if found < 100 {
		t.Errorf("only %d flipped bits of the list were found", found)
	}
}

// goOn opens a file, writes to it and lets bbolt check all of it.
func goOn(path string) (err error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoSync: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	for round := range 3 {
		err := db.Update(func(tx *bolt.Tx) error {
			b, err := tx.CreateBucketIfNotExists([]byte("more"))
			for i := 0; i < 20 && err == nil; i++ {
				err = b.Put(fmt.Append(nil, i), make([]byte, 1000*(round+i%5)))
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return db.View(func(tx *bolt.Tx) error {
		for lost := range tx.Check() {
			if !strings.Contains(lost.Error(), "unreachable unfreed") { // room that nothing uses any more
				err = errors.Join(err, lost)
			}
		}
		return err
	})
}

// TestSmallBucketsAreLookedInto: a small bucket lies inside an element of its parent. If it passes the check, reading
// it does not leave the element.
func TestSmallBucketsAreLookedInto(t *testing.T) {
	suite.Full(t)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	whole, err := os.ReadFile(grownFile(t, 5))
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	path := filepath.Join(t.TempDir(), "db")
	found := 0
	for range 800 {
		at := rng.IntN(len(whole))
		for whole[at] == 0 {
			at = rng.IntN(len(whole))
		}
		at = at&^3 | rng.IntN(4) // numbers begin with zeros
		b, bit := slices.Clone(whole), rng.IntN(8)
		b[at] ^= 1 << bit
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		if boltfile.Check(path) != nil {
			found++
		} else if err := readAll(path, len(whole)); err != nil {
			t.Errorf("bit %d of byte %d: %v", bit, at, err)
		}
	}
	if found < 40 {
		t.Errorf("%d of 800 flipped bits were found", found)
	}
}

// readAll reads all keys and values of a file. bbolt may panic, but must not read outside of the file.
func readAll(path string, size int) (err error) {
	defer func() {
		if fault, ok := recover().(interface{ Addr() uintptr }); ok {
			err = fmt.Errorf("%v", fault)
		}
	}()
	db, err := bolt.Open(path, 0o600, &bolt.Options{NoFreelistSync: true, ReadOnly: true})
	if err != nil {
		return nil
	}
	defer db.Close()
	var each func(b *bolt.Bucket) error
	each = func(b *bolt.Bucket) error {
		return b.ForEach(func(k, v []byte) error {
			if len(k)+len(v) > size {
				return fmt.Errorf("a key and a value of %d bytes", len(k)+len(v))
			}
			_, _ = sha256.Sum256(k), sha256.Sum256(v)
			if v == nil {
				return each(b.Bucket(k))
			}
			return nil
		})
	}
	return db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(_ []byte, b *bolt.Bucket) error { return each(b) })
	})
}

func FuzzCheck(f *testing.F) {
	b, err := os.ReadFile(grownFile(f, 5))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b[:8192])
	f.Fuzz(func(t *testing.T, in []byte) {
		path := filepath.Join(t.TempDir(), "db")
		if err := os.WriteFile(path, in, 0o600); err != nil {
			t.Fatal(err)
		}
		_ = boltfile.Check(path) // must return, with or without an error
	})
}

func BenchmarkCheck(b *testing.B) {
	path := grownFile(b, 20_000)
	i, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(i.Size())
	for b.Loop() {
		if err := boltfile.Check(path); err != nil {
			b.Fatal(err)
		}
	}
}
