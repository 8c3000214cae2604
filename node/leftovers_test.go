package node_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// TestWhatAKilledNodeLeftIsRemoved checks that incomplete snapshots and backups that no client downloaded are removed
// at the start.
func TestWhatAKilledNodeLeftIsRemoved(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	s, caller := c.service(0)
	if _, err := api.MakeBackup.Do(t.Context(), s, caller, &api.MakeBackupRequest{}); err != nil {
		t.Fatal(err)
	}
	c.stop(0)
	home := c.cfgs[0].Home
	unfinished := filepath.Join(home, "raft", "snapshots", "2-100-1700000000000.snap.tmp")
	if err := os.WriteFile(unfinished, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(home, "backup-spool", "*"))
	if err != nil || len(left) != 1 {
		t.Fatal(left, err)
	}
	c.open(0)
	c.ready(0)
	for _, path := range []string{unfinished, left[0]} {
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("%s stays: %v", path, err)
		}
	}
	s, caller = c.service(0)
	if _, err := api.MakeBackup.Do(t.Context(), s, caller, &api.MakeBackupRequest{}); err != nil {
		t.Error(err)
	}
}
