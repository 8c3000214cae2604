package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.etcd.io/bbolt"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/seal"
)

// TestAFlippedBitIsNamedAndNotServed: one bit of one encrypted value is changed on the disk. Whoever asks for it gets an
// error, the log and the doctor name the table, and writes go on.
func TestAFlippedBitIsNamedAndNotServed(t *testing.T) {
	t.Parallel()
	home, keyFile := filepath.Join(shortDir(t), "h"), filepath.Join(t.TempDir(), "key")
	writeKeys(t, keyFile, seal.NewMaster())
	p := &cairntest.Node{T: t, Args: []string{"dev", "--home", home, "--port-base", fmt.Sprint(cairntest.FreePorts(t, 6)), "--key-file", keyFile}}
	t.Cleanup(p.Kill)
	p.Launch()()
	for _, text := range []string{"the heron waits at the weir", "the otter sleeps under the bridge"} {
		if _, code := cairntest.Run(t, "remember", text, "--home", home); code != 0 {
			t.Fatal("not remembered")
		}
	}
	stop := func() (whole bool) {
		t.Helper()
		if _, err := p.Stop(); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(p.Log.String(), "index closed before it was on disk")
	}
	for !stop() { // the next start would read the value, and end
		p.Launch()()
		rest(t.Context(), 5*time.Second) // it writes by itself what it cannot write while it stops
	}
	db, err := bbolt.Open(filepath.Join(home, "state.db"), 0o600, nil)
	if err != nil {
		t.Fatal(err)
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket([]byte("db")).Bucket([]byte{0, 0, 0, 1}).Bucket([]byte("memories"))
		k, v := b.Cursor().First()
		bad := bytes.Clone(v)
		bad[len(bad)/2] ^= 1
		return b.Put(bytes.Clone(k), bad)
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	if out, code := cairntest.Run(t, "doctor", "--home", home, "--key-file", keyFile, "--deep"); code == 0 || !strings.Contains(out, "table memories of database 1") {
		t.Errorf("the doctor finds nothing: %s", out)
	}
	p.Launch()()
	if out, code := cairntest.Run(t, "recall", "heron", "--home", home); code == 0 || strings.Contains(out, "weir") {
		t.Errorf("served, exit %d: %s", code, out)
	}
	if out, code := cairntest.Run(t, "remember", "the kingfisher is blue", "--home", home); code != 0 {
		t.Errorf("a write, exit %d: %s", code, out)
	}
	if !cairntest.Eventually(func() bool { return strings.Contains(p.Log.String(), "table memories of database 1") }) {
		t.Errorf("the log does not name the table:\n%s", cairntest.TailOf(p.Log.String(), 3000))
	}
	if _, err := p.Stop(); err != nil {
		t.Error(err)
	}
}
