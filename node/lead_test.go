package node_test

import (
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestANodeDoesNotWaitForItself checks that a node can become leader while it writes its own new addresses.
func TestANodeDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	home := filepath.Join(t.TempDir(), "h")
	for range 6 {
		n, err := node.Open(t.Context(),
			node.Config{Home: home,
				Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: node.Seams{NoSync: true},
				Raft:   node.Raft{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(200 * time.Millisecond)},
				Limits: node.Limits{ApplyTimeout: time.Hour},
				Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
		if err != nil {
			t.Fatal(err)
		}
		if err := n.Ready(suite.Context(t)); err != nil {
			t.Errorf("not ready: %v", err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
}
