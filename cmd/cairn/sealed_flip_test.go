package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestFlippedBitsOfAnEncryptedNodeAreHealed: bits of its tables are changed on the disk. The doctor finds it, the next start names it and builds the state
// anew from the log, and writes go on.
func TestFlippedBitsOfAnEncryptedNodeAreHealed(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("skipped in -short: changes or reads files of stopped nodes")
	}
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
	rafttest.FlipTables(t, filepath.Join(home, "state"))
	if out, code := cairntest.Run(t, "doctor", "--home", home, "--key-file", keyFile, "--deep"); code == 0 || !strings.Contains(out, "unreadable state") {
		t.Errorf("the doctor finds nothing: %s", out)
	}
	p.Launch()()
	if out, code := cairntest.Run(t, "recall", "heron", "--home", home); code != 0 || !strings.Contains(out, "weir") {
		t.Errorf("not healed from the log, exit %d: %s", code, out)
	}
	if out, code := cairntest.Run(t, "remember", "the kingfisher is blue", "--home", home); code != 0 {
		t.Errorf("a write, exit %d: %s", code, out)
	}
	if !strings.Contains(p.Log.String(), "state unreadable, moved aside") {
		t.Errorf("the log does not say what was damaged:\n%s", cairntest.TailOf(p.Log.String(), 3000))
	}
	if _, err := p.Stop(); err != nil {
		t.Error(err)
	}
}
