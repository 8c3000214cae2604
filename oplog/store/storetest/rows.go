// Package storetest reads the files of a store as a thief of the disk would, for tests.
package storetest

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Files visits the files below a directory with what can be read in them: the bytes of each, and of a store's table,
// whose blocks are compressed, keys and values as well, those that later ones hide and no reader is given included.
func Files(t testing.TB, dir string, visit func(path string, held []byte)) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // removed meanwhile
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		held, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil && filepath.Ext(path) == ".sst" {
			held, err = appendRows(held, path)
		}
		if err == nil {
			visit(path, held)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// appendRows appends the rows of a table. One that is not a table, for it is sealed, has none.
func appendRows(to []byte, path string) (_ []byte, err error) {
	f, err := vfs.Default.Open(path)
	if err != nil {
		return to, err
	}
	in, err := sstable.NewSimpleReadable(f)
	if err != nil {
		return to, err
	}
	var o pebble.Options
	o.EnsureDefaults()
	r, err := sstable.NewReader(context.Background(), in, o.MakeReaderOptions())
	if pebble.IsCorruptionError(err) {
		return to, in.Close()
	}
	if err != nil {
		return to, err
	}
	defer func() {
		if e := r.Close(); err == nil {
			err = e
		}
	}()
	it, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return to, err
	}
	defer it.Close()
	for kv := it.First(); kv != nil; kv = it.Next() {
		v, _, err := kv.Value(nil)
		if err != nil {
			return to, err
		}
		to = append(append(to, kv.K.UserKey...), v...)
	}
	return to, it.Error()
}
