package node_test

import (
	"strings"
	"testing"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
)

// TestEveryMemberNamesAFullDisk checks that each member's status names the member whose disk is full, and that
// leadership is not transferred there.
func TestEveryMemberNamesAFullDisk(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, func(i int, cfg *node.Config) {
		shortElections(i, cfg)
		if i == 2 {
			cfg.Storage.MinFree = 1 << 60
		}
	})
	for i := range c.nodes {
		suite.Eventually(t, "the full disk of node 3", func() bool {
			st := c.nodes[i].Service().Cluster().Status(t.Context())
			return st.Condition == "degraded: disk of node 3 full, it refuses writes" && st.Healthy
		})
		for _, q := range []api.ChangeMembersRequest{{Verb: "transfer", NodeID: 3}, {Verb: "promote"}} {
			if q.Verb == "promote" && i != 2 { // promote makes the queried node request leadership
				continue
			}
			_, err := c.nodes[i].Service().Cluster().ChangeMembers(t.Context(), api.Caller{}, &q)
			if err == nil || !strings.Contains(err.Error(), "disk of node 3 is full") {
				t.Errorf("node %d, %s to node 3: %v", i+1, q.Verb, err)
			}
		}
	}
}
