package engine_test

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine"
	"github.com/cairndb/cairn/raft/rafttest"
)

// startSingle starts a single node, with the default background work or the given one, and returns it with a caller.
func startSingle(t testing.TB, background ...engine.Background) (*node.Node, api.Caller) {
	t.Helper()
	cfg := node.Config{Home: filepath.Join(t.TempDir(), "h"),
		Addresses: node.Addresses{Wire: "127.0.0.1:0", HTTP: "127.0.0.1:0", Cluster: "127.0.0.1:0"}, Seams: node.Seams{NoSync: true},
		Raft:   node.Raft{Heartbeat: 50 * time.Millisecond, Election: rafttest.Election(200 * time.Millisecond)},
		Limits: node.Limits{ApplyTimeout: time.Minute}}
	for _, b := range background {
		cfg.Background = b
	}
	n, err := node.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	if err := n.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := n.Access().Local("default")
	if err != nil {
		t.Fatal(err)
	}
	return n, c
}

// stored stores a memory and returns its id.
func stored(t *testing.T, n *node.Node, c api.Caller, d api.Draft) string {
	t.Helper()
	made, err := api.Remember.Do(t.Context(), n.Host(), c, &api.RememberRequest{Draft: d})
	if err != nil {
		t.Fatal(err)
	}
	return made.RID
}
