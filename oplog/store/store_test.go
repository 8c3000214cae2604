package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// Get returns the current value of a key.
func (s *Store) Get(key []byte) (value []byte, ok bool, err error) {
	snap, err := s.Snapshot()
	if err != nil {
		return nil, false, err
	}
	defer snap.Close()
	value, ok, err = snap.Peek(key)
	return bytes.Clone(value), ok, err
}

// rowsOfABatch is large enough that a batch does not fit one block.
const rowsOfABatch = 40

func rowKey(n, i int) []byte { return fmt.Appendf(nil, "row/%06d/%03d", i, n) } // neighbouring rows belong to different batches

var placeKey = []byte("place")

// commitBatch commits batch n: its number and its rows.
func commitBatch(s *Store, n int) error {
	b := s.Batch()
	defer b.Close()
	if err := b.Set(placeKey, binary.BigEndian.AppendUint64(nil, uint64(n))); err != nil {
		return err
	}
	for i := range rowsOfABatch {
		if err := b.Set(rowKey(n, i), bytes.Repeat([]byte{byte(n)}, 100)); err != nil {
			return err
		}
	}
	return b.Commit()
}

// lastBatch returns the last batch of a store. It fails unless the store has all rows of this and the earlier
// batches, and none of later ones.
func lastBatch(s *Store) (int, error) {
	v, ok, err := s.Get(placeKey)
	if err != nil {
		return 0, err
	}
	at := 0
	if ok {
		at = int(binary.BigEndian.Uint64(v))
	}
	snap, err := s.Snapshot()
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	rows := 0
	var odd error
	err = snap.Walk([]byte("row/"), []byte("row0"), false, func(k, v []byte) bool {
		rows++
		var i, n int
		if _, odd = fmt.Sscanf(string(k), "row/%06d/%03d", &i, &n); odd == nil &&
			(n > at || !bytes.Equal(v, bytes.Repeat([]byte{byte(n)}, 100))) {
			odd = fmt.Errorf("at %d there is row %s with %x", at, k, v)
		}
		return odd == nil
	})
	if err = errors.Join(err, odd); err != nil {
		return 0, err
	}
	if rows != at*rowsOfABatch {
		return 0, fmt.Errorf("at %d there are %d rows", at, rows)
	}
	return at, nil
}

func rings() map[string]*seal.Ring {
	return map[string]*seal.Ring{"plain": nil, "sealed": seal.Ephemeral([]seal.Master{seal.NewMaster()})}
}

// TestABatchReadsItself: a batch reads its own rows and range deletions over the existing rows.
func TestABatchReadsItself(t *testing.T) {
	s, err := Open(filepath.Join(t.TempDir(), "state"), Options{NoSync: true}, nil)
	must(t, err)
	defer s.Close()
	set := func(b *Batch, keys ...string) {
		for _, k := range keys {
			must(t, b.Set([]byte(k), []byte(k)))
		}
	}
	b := s.Batch()
	set(b, "a", "c", "e")
	must(t, b.Commit())
	b.Close()
	before, err := s.Snapshot()
	must(t, err)
	defer before.Close()
	b = s.Batch()
	defer b.Close()
	set(b, "b", "x1", "x2")
	must(t, b.Delete([]byte("c")))
	must(t, b.DeleteRange([]byte("x"), []byte("y")))
	set(b, "x3")
	list := func(r Reader) (out string) {
		must(t, r.Walk(nil, nil, false, func(k, _ []byte) bool {
			out += string(k) + " "
			return true
		}))
		return out
	}
	if got := list(b); got != "a b e x3 " {
		t.Errorf("the batch reads %q", got)
	}
	must(t, b.Commit())
	after, err := s.Snapshot()
	must(t, err)
	defer after.Close()
	if got, was := list(after), list(before); got != "a b e x3 " || was != "a c e " {
		t.Errorf("after it %q, before it %q", got, was)
	}
}

// TestABuiltStoreHasItsRows: a built store holds its rows in its own tables. Rows out of order are rejected.
func TestABuiltStoreHasItsRows(t *testing.T) {
	for name, keys := range rings() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			o := Options{Keys: keys, NoSync: true}
			b, err := Build(dir, o)
			must(t, err)
			const rows = 1000
			for i := range rows {
				must(t, b.Add(fmt.Appendf(nil, "%06d", i), bytes.Repeat([]byte("v"), i%64<<10)))
			}
			must(t, b.Finish(nil))
			s, err := Open(dir, o, nil)
			must(t, err)
			defer s.Close()
			for i := range rows {
				v, ok, err := s.Get(fmt.Appendf(nil, "%06d", i))
				if err != nil || !ok || len(v) != i%64<<10 {
					t.Fatalf("row %d: %d bytes, %v, %v", i, len(v), ok, err)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.building")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			b, err = Build(filepath.Join(t.TempDir(), "state"), o)
			must(t, err)
			must(t, b.Add([]byte("b"), nil))
			if err := b.Finish(b.Add([]byte("a"), nil)); !errors.Is(err, ErrOrder) {
				t.Errorf("a row out of order: %v", err)
			}
		})
	}
}

// TestASealedStoreShowsNothing: no file and no file name contains a part of a key or a value.
func TestASealedStoreShowsNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	keys := rings()["sealed"]
	s, err := Open(dir, Options{Keys: keys, NoSync: true}, nil)
	must(t, err)
	b := s.Batch()
	must(t, b.Set([]byte("a planted key"), []byte("a planted secret")))
	must(t, b.Commit())
	b.Close()
	must(t, s.Close())
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		if bytes.Contains(raw, []byte("planted")) {
			t.Errorf("%s shows it", path)
		}
		return err
	}))
	if _, err := Open(dir, Options{NoSync: true}, nil); err == nil {
		t.Error("it opens without its keys")
	}
	other := seal.Ephemeral([]seal.Master{seal.NewMaster()})
	if _, err := Open(dir, Options{Keys: other, NoSync: true}, nil); !errors.Is(err, seal.ErrKey) {
		t.Errorf("with other keys: %v", err)
	}
}
