package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestANodeKilledOnAFullDiskStarts checks that a node on a full disk answers reads and rejects writes with the
// reason, that the doctor names files that can be removed, and that the node accepts writes without a restart once
// there is space.
func TestANodeKilledOnAFullDiskStarts(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	suite.NotShort(t, "changes or reads files of stopped nodes")
	disk := t.TempDir()
	rafttest.SmallDisk(t, disk, 192)
	home := filepath.Join(disk, "home")
	p := cairntest.StartDevIn(t, home)
	if _, code := cairntest.Run(t, "remember", "the lamp is in the attic", "--home", home); code != 0 {
		t.Fatal("not remembered")
	}
	suite.Eventually(t, "room to be kept", func() bool { _, err := os.Stat(filepath.Join(home, "reserve")); return err == nil })
	aside := filepath.Join(home, "state.corrupt-1")
	if err := os.WriteFile(aside, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	release := rafttest.Fill(t, disk)
	p.Kill()
	more := rafttest.Fill(t, home) // the space that the end of the process freed
	p.Launch()()
	if out, code := cairntest.Run(t, "recall", "lamp", "--home", home); code != 0 || !strings.Contains(out, "attic") {
		t.Errorf("recall on a full disk: exit %d, %s", code, out)
	}
	if _, code := cairntest.Run(t, "remember", "too much", "--home", home); code == 0 {
		t.Error("a write is taken on a full disk")
	}
	if !p.WaitForLog("disk full, writes are refused") || !p.WaitForLog(aside+" (3 MiB)") {
		t.Errorf("it does not say what to remove:\n%s", p.Log)
	}
	if out, _ := cairntest.Run(t, "doctor", "--home", home); !strings.Contains(out, aside+" (3 MiB)") {
		t.Errorf("the doctor does not say what to remove:\n%s", out)
	}
	suite.Eventually(t, "status to call the disk full", func() bool {
		out, _ := cairntest.Run(t, "status", "--home", home)
		return strings.Contains(out, "degraded: disk of node 1 full")
	})
	more()
	release()
	if !suite.Within(suite.Patience, func() bool {
		_, code := cairntest.Run(t, "remember", "there is room", "--home", home)
		return code == 0
	}) {
		t.Errorf("no write is taken when there is room:\n%s", p.Log)
	}
	if !suite.Within(suite.Patience, func() bool { _, err := os.Stat(filepath.Join(home, "reserve")); return err == nil }) {
		t.Error("no room is kept for the next time")
	}
}
