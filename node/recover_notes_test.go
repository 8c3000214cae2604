package node_test

import (
	"errors"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestARecoveredNodeKeepsItsFiles checks that a node that is made the only member of its cluster starts with its state
// and its log, although an earlier run left word to get both from the other members.
func TestARecoveredNodeKeepsItsFiles(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(int, *node.Config) {})
	c.web(c.leader()).ok("POST", "/v1/remember", obj{"text": "the quay is closed in March"})
	c.agree()
	for i := range c.nodes {
		c.stop(i)
	}
	files := c.cfgs[0].Files()
	if err := home.WriteNote(files, home.DamageFile, errors.New("a majority has another record")); err != nil {
		t.Fatal(err)
	}
	if _, err := home.Recover(files); err != nil {
		t.Fatal(err)
	}
	c.open(0)
	c.ready(0)
	if got := c.web(0).ok("GET", "/v1/stats", nil); got["active_memories"] != 1.0 {
		t.Errorf("the node has %v, its home %v", got, home.SetAsideNames(files.Dir))
	}
}
