package node_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/wire"
)

// TestReadyMeansCaughtUp: a node that starts while nobody leads lives and is not ready, for it cannot know how far behind
// it is; with a leader it is, and it stays so when the leader goes.
func TestReadyMeansCaughtUp(t *testing.T) {
	c := startWith(t, 3, func(_ int, cfg *node.Config) { cfg.Election = 3 * time.Second })
	if _, err := c.dial(0, 1, 2).Remember(t.Context(), wire.NewRemember("before")); err != nil {
		t.Fatal(err)
	}
	c.agree()
	for i := range c.nodes {
		c.stop(i)
	}
	c.open(0)
	w := c.web(0)
	w.ok("GET", "/v1/health", nil)
	if status, out := w.send("GET", "/v1/health/ready", nil); status != http.StatusServiceUnavailable || out["ready"] != false {
		t.Errorf("alone of three: %d %v", status, out)
	}
	w.ok("POST", "/v1/recall", obj{"query": "before"}) // it reads all the same
	c.open(1)
	eventually(t, "a ready node", func() bool { status, _ := w.send("GET", "/v1/health/ready", nil); return status == http.StatusOK })
	c.stop(1)
	eventually(t, "the loss of the leader", func() bool { _, ok := c.nodes[0].Service().Leader(); return !ok })
	w.ok("GET", "/v1/health/ready", nil)
}
