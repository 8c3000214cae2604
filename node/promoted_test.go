package node_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestAPromotedReplicaIsAVoterEverywhere checks that every node, also the member itself, reports correctly whether a
// member votes, and that a promoted one can take leadership.
func TestAPromotedReplicaIsAVoterEverywhere(t *testing.T) {
	t.Parallel()
	c := startWith(t, 2, func(i int, cfg *node.Config) {
		if i == 1 {
			cfg.Member.Role = raft.RoleReadReplica
			return
		}
		cfg.Member.Peers = nil // the replica knows the voter
	})
	says := func(i int) (all string) {
		for _, m := range c.web(i).ok("GET", "/v1/cluster/topology", nil)["nodes"].([]any) {
			m := m.(obj)
			all += fmt.Sprint(m["node_id"], " ", m["role"], " ", m["voter"], "; ")
		}
		var s api.ClusterStatus
		if err := json.Unmarshal([]byte(c.web(i).raw("GET", "/v1/cluster", "")), &s); err != nil {
			t.Fatal(err)
		}
		for _, m := range s.Members() {
			if want := fmt.Sprint(m.NodeID, " ", operate.RoleOf(m.Voter), " "); !strings.Contains(all, want) {
				all += "and not " + want
			}
		}
		return all
	}
	agreed := func(want string) {
		t.Helper()
		for i := range c.nodes {
			suite.Eventually(t, fmt.Sprintf("node %d knows that %s", i+1, want), func() bool { return says(i) == want })
		}
	}
	agreed("1 voter true; 2 readreplica false; ")
	join := func(role string) (int, any) {
		return c.web(0).send("POST", "/v1/cluster/join", obj{"node_id": 2, "addr": c.cfgs[1].Addresses.Cluster, "role": role})
	}
	for role, want := range map[string]int{"readreplica": 200, "read_replica": 200, "observer": 400} { // as answers and as configurations write it
		if status, got := join(role); status != want {
			t.Errorf("join as %s: %d, %v", role, status, got)
		}
		if suite.Within(time.Second, func() bool { return says(0) != "1 voter true; 2 readreplica false; " }) { // the leader looks twice a second
			t.Errorf("a node that joined as %s: %s", role, says(0))
		}
	}
	suite.Eventually(t, "the replica is promoted", func() bool {
		return c.change(0, api.ChangeMembersRequest{Verb: "promote", NodeID: 2}) == nil && says(0) == "1 voter true; 2 voter true; "
	})
	agreed("1 voter true; 2 voter true; ")
	if got := c.web(1).ok("POST", "/v1/cluster/promote", obj{}); got["status"] != "election_started" {
		t.Errorf("the promoted replica takes the lead: %v", got)
	}
	suite.Eventually(t, "node 2 leads", func() bool { return c.nodes[1].Service().RaftStatus().State == "Leader" })
}

// TestAChangeOfMembersWithoutAMajority checks that a change that the leader has begun but no majority has stored is
// not reported as rejected, because it may still happen.
func TestAChangeOfMembersWithoutAMajority(t *testing.T) {
	t.Parallel()
	join := api.ChangeMembersRequest{Verb: "join", NodeID: 4, Addr: rafttest.Addr(t), Role: raft.RoleReadReplica, Force: true}
	for name, asks := range map[string]func(leader int) int{
		"asked of the leader":  func(leader int) int { return leader },
		"asked of the replica": func(int) int { return 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startWith(t, 3, func(i int, cfg *node.Config) {
				shortElections(i, cfg)
				if i == 2 {
					cfg.Member.Role = raft.RoleReadReplica
					return
				}
				cfg.Member.Peers = cfg.Member.Peers[:1] // the voters know each other; the replica knows them
			})
			l := c.leader()
			c.stop(1 - l)
			if err := c.change(asks(l), join); !errors.Is(err, &oplog.Error{Kind: oplog.UnknownOutcome}) {
				t.Errorf("got %v", err)
			}
		})
	}
}
