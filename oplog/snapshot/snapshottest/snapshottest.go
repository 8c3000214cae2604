// Package snapshottest extracts all content of a stream, so that tests can check that nothing erased is in it.
package snapshottest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
)

// Range returns all bytes of the entries and rows in a log range.
func Range(t testing.TB, in io.Reader) (held []byte) {
	t.Helper()
	r, err := snapshot.ReadRange(in)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		rec, _, err := r.Next()
		if err == io.EOF {
			break
		}
		_, bodies, derr := oplog.DecodeRecord(rec.Data)
		if err := errors.Join(err, derr); err != nil {
			t.Fatal(err)
		}
		held = append(held, bytes.Join(bodies, nil)...)
	}
	for {
		k, v, err := r.Row()
		if err == io.EOF {
			return held
		}
		if err != nil {
			t.Fatal(err)
		}
		held = append(append(held, k...), v...)
	}
}
