package node_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
)

// TestARemovedNodeSaysSo checks that a node that was removed, also while it led or was down, reports that it is not a
// member, is not ready, and rejects writes at once with instructions. After it joins again it works like any member.
func TestARemovedNodeSaysSo(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 5, shortElections)
	leads := c.leader()
	follows, down := (leads+1)%5, (leads+2)%5
	remains := (leads + 3) % 5
	c.stop(down)
	for _, i := range []int{down, follows, leads} {
		if err := c.change(leads, api.ChangeMembersRequest{Verb: "remove", NodeID: uint32(i + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	c.open(down)
	for _, i := range []int{leads, follows, down} {
		why := "not healthy: node " + string(rune('1'+i)) + " is not a member of the cluster"
		w := c.web(i)
		suite.Eventually(t, why, func() bool {
			st := c.nodes[i].Service().Cluster().Status(t.Context())
			status, _ := w.send("GET", "/v1/health/ready", nil)
			return st.Condition == why && st.Removed && status == http.StatusServiceUnavailable
		})
		s, caller := c.service(i)
		suite.Eventually(t, "a rejected write that names the way out", func() bool {
			_, err := remember(t.Context(), s, caller, "", api.Draft{Text: "nowhere"})
			return err != nil && strings.Contains(err.Error(), "cairn cluster join")
		})
	}
	for _, i := range []int{leads, down} {
		join := api.ChangeMembersRequest{Verb: "join", NodeID: uint32(i + 1), Addr: c.cfgs[i].Addresses.Cluster, Role: raft.RoleVoter}
		suite.Eventually(t, "a node that is a member again", func() bool {
			_ = c.change(remains, join)
			st := c.nodes[i].Service().Cluster().Status(t.Context())
			return !st.Removed && st.Healthy && c.nodes[i].Service().Cluster().Ready()
		})
	}
}
