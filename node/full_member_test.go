package node_test

import (
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestEveryMemberNamesAFullDisk: the status of each member names the one whose disk is full.
func TestEveryMemberNamesAFullDisk(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		small(i, cfg)
		if i == 2 {
			cfg.Storage.MinFree = 1 << 60
		}
	})
	for i := range c.nodes {
		suite.Eventually(t, "the full disk of node 3", func() bool {
			st := c.nodes[i].Service().Cluster().Status(t.Context())
			return st.Condition == "degraded: disk of node 3 full, it refuses writes" && st.Healthy
		})
	}
}
