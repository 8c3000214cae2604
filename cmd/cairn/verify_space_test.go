package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairndb/cairn/cmd/cairn/cairntest"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestNoSpaceIsNotADamagedBackup checks that a verification and a download on a full disk report the lack of space
// and the remedy, and not damaged backups.
func TestNoSpaceIsNotADamagedBackup(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	_, home := cairntest.StartDev(t)
	backups, small := filepath.Join(t.TempDir(), "backups"), t.TempDir()
	if _, code := cairntest.Run(t, "remember", "the lamp is in the attic", "--home", home); code != 0 {
		t.Fatal("not remembered")
	}
	if _, code := cairntest.Run(t, "backup", "--to", backups, "--home", home); code != 0 {
		t.Fatal("no backup")
	}
	rafttest.SmallDisk(t, small, 1)
	release := rafttest.Fill(t, small)
	for want, args := range map[string][]string{
		"the backups may be whole: free space there": {"backup", "verify", backups},
		"free space there, then run":                 {"backup", "--to", filepath.Join(small), "--home", home},
	} {
		c := cairntest.Command(t.Context(), args...)
		c.Env = append(c.Env, "TMPDIR="+small)
		var output bytes.Buffer
		c.Stderr = &output
		if err := c.Run(); err == nil || !strings.Contains(output.String(), want) || strings.Contains(output.String(), "--full") {
			t.Errorf("%s: %v, %s", args, err, output.String())
		}
	}
	release()
	if _, code := cairntest.Run(t, "backup", "verify", backups); code != 0 {
		t.Error("the backups do not restore")
	}
}
