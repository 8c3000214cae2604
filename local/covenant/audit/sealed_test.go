package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/oplog/seal"
)

// An encrypted log works like a plain one. It cannot be read, and a change does not go unnoticed.
func TestSealedLog(t *testing.T) {
	dir, keys := t.TempDir(), seal.Ephemeral([]seal.Master{seal.NewMaster()})
	reopen := func() *Log {
		l, err := Open(dir, keys, quiet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { closeOnce(l) })
		return l
	}
	l := reopen()
	add(t, l, 30)
	l.Close()
	l = reopen()
	add(t, l, 10)
	if err := keys.Rotate(); err != nil {
		t.Fatal(err)
	}
	if n, err := l.Purge(1005); err != nil || n != 5 {
		t.Fatalf("purged %d, %v", n, err)
	}
	l.Close()
	l = reopen()
	if r := verify(t, l); !r.Valid || r.Events != 35 || r.Anchors != 35 {
		t.Errorf("%+v", r)
	}
	r, err := l.Reader()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	places, err := r.Last(3, 0, func(*Event) bool { return true })
	if err != nil || len(places) != 3 {
		t.Fatalf("%v, %v", places, err)
	}
	if line, err := r.At(places[2]); err != nil || !bytes.Contains(line, []byte("id-39")) {
		t.Errorf("%s, %v", line, err)
	}
	l.Close()
	for _, name := range []string{eventsFile, chainFile} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || bytes.Contains(raw, []byte("id-")) || bytes.Contains(raw, []byte("hash")) {
			t.Errorf("%s is readable, %v", name, err)
		}
	}
	path := filepath.Join(dir, eventsFile)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	raw[40] ^= 1
	if err := errors.Join(os.WriteFile(path, raw, 0o600)); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, reopen()); r.Valid {
		t.Error("a changed line passes")
	}
}
