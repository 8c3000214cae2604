package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/raft"
)

// TestLostRecordsWaitForALeader checks that without a leader no lost records are imported and the command fails, and
// that the records are reported until the command succeeds.
func TestLostRecordsWaitForALeader(t *testing.T) {
	t.Parallel()
	c := start(t, 3)
	leader := c.leader()
	var at uint64
	if _, err := fmt.Sscan(fmt.Sprint(c.web(leader).ok("POST", "/v1/remember", obj{"text": "the sky is blue"})["log_index"]),
		&at); err != nil {
		t.Fatal(err)
	}
	c.agree()
	keeps := (leader + 1) % 3
	c.stop(keeps)
	c.stop(leader)
	cfg := c.cfgs[keeps]
	aside := filepath.Join(cfg.Home, "raft.corrupt-1")
	if err := os.Rename(filepath.Join(cfg.Home, "raft"), aside); err != nil {
		t.Fatal(err)
	}
	if err := home.NoteLost(cfg.Files(), raft.Lost{First: at, Last: at}); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(cfg.Home, "lost-records"), filepath.Join(aside, "lost-records")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
	defer cancel()
	done, err := node.ImportLost(ctx, cfg, home.Lost(cfg.Home)[0])
	if err == nil || len(done.Refused) > 0 {
		t.Errorf("imported: %+v, %v", done, err)
	}
	if left := home.Lost(cfg.Home); len(left) != 1 {
		t.Errorf("left: %+v", left)
	}
}
