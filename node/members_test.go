package node_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/home"
	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/raft/rafttest"
)

// change requests a change of the membership from a node.
func (c *cluster) change(i int, m api.ChangeMembersRequest) error {
	c.t.Helper()
	s, caller := c.service(i)
	_, err := api.ChangeMembers.Do(c.t.Context(), s, caller, &m)
	return err
}

// members returns the id, address and vote of each member, as the leader knows them.
func (c *cluster) members() string {
	var all []string
	for _, m := range c.nodes[c.leader()].Service().RaftStatus().Members {
		all = append(all, fmt.Sprint(m.ID, " ", m.Addr, " ", m.Voter))
	}
	return strings.Join(all, ", ")
}

// shortElections configures short elections, so that a silent member is detected soon.
func shortElections(_ int, cfg *node.Config) { cfg.Raft.Election = rafttest.Election(2 * time.Second) }

// TestAChangeThatLosesTheMajorityIsRefused checks that a change that would leave fewer reachable voters than a quorum
// is rejected unless it is forced.
func TestAChangeThatLosesTheMajorityIsRefused(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, shortElections)
	l := c.leader()
	dead, other := (l+1)%3, (l+2)%3
	c.stop(dead)
	before := c.members()
	for _, i := range []int{l, other} { // leader and follower give the same reason
		if err := c.change(i, api.ChangeMembersRequest{Verb: "remove", NodeID: 9}); err == nil ||
			!strings.HasPrefix(err.Error(), "node 9 is not a member") {
			t.Errorf("removing a node that is not a member, on node %d: %v", i+1, err)
		}
	}
	for name, m := range map[string]api.ChangeMembersRequest{
		"removing the other that answers": {Verb: "remove", NodeID: uint32(other + 1)},
		"the leader leaving":              {Verb: "leave"},
	} {
		if err := c.change(l, m); err == nil || !strings.Contains(err.Error(), "--force") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := c.members(); now != before {
		t.Errorf("the members were %s and are %s", before, now)
	}
	if err := c.change(l, api.ChangeMembersRequest{Verb: "remove", NodeID: uint32(dead + 1)}); err != nil {
		t.Errorf("removing the dead one: %v", err)
	}
}

// TestAMemberNeverHeardGetsNoVote checks that an unreachable node cannot join, and gets no vote if forced in, and
// that a request to leave removes only the node that receives it.
func TestAMemberNeverHeardGetsNoVote(t *testing.T) {
	t.Parallel()
	c := startWith(t, 1, shortElections)
	nowhere := rafttest.Addr(t)
	if err := c.change(0, api.ChangeMembersRequest{Verb: "join", NodeID: 2, Addr: nowhere, Role: raft.RoleVoter}); err == nil ||
		!strings.Contains(err.Error(), "start it first") {
		t.Errorf("a node that is nowhere: %v", err)
	}
	if err := c.change(0, api.ChangeMembersRequest{Verb: "join", NodeID: 2, Addr: nowhere, Role: raft.RoleVoter, Force: true}); err != nil {
		t.Fatal(err)
	}
	if err := c.change(0, api.ChangeMembersRequest{Verb: "promote", NodeID: 2}); err == nil ||
		!strings.Contains(err.Error(), "does not answer") {
		t.Errorf("promoted: %v", err)
	}
	if err := c.change(0, api.ChangeMembersRequest{Verb: "leave", NodeID: 2}); err == nil ||
		!strings.Contains(err.Error(), "node 1: send it to node 2") {
		t.Errorf("node 2 leaves, by a request to node 1: %v", err)
	}
	if now, want := c.members(), fmt.Sprintf("1 %s true, 2 %s false", c.cfgs[0].Addresses.Cluster, nowhere); now != want {
		t.Errorf("the members are %s, want %s", now, want)
	}
}

// TestAJoinSaysWhatIsWrong checks that a node with another secret, a wrong id or of another cluster does not join,
// and that the reason is logged.
func TestAJoinSaysWhatIsWrong(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 1, shortElections)
	other := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Member.Secret, cfg.Member.NodeID = home.NewSecret(), 2 })
	namesake := startWith(t, 1, func(_ int, cfg *node.Config) { cfg.Member.NodeID = 3 })
	waiting := c.cfgs[0]
	waiting.Member.NodeID, waiting.Home, waiting.Addresses.Wire, waiting.Addresses.HTTP, waiting.Addresses.Cluster = 5, filepath.Join(t.TempDir(), "h"), rafttest.Addr(t), rafttest.Addr(t), rafttest.Addr(t)
	waiting.Member.Peers = []string{rafttest.Addr(t)} // the seed is down, so the node belongs to no cluster yet
	n, err := node.Open(t.Context(), waiting)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() })
	before := c.members()
	for want, m := range map[string]api.ChangeMembersRequest{
		"node 5 answers at":       {Verb: "join", NodeID: 4, Addr: waiting.Addresses.Cluster},
		"cluster secret mismatch": {Verb: "join", NodeID: 2, Addr: other.cfgs[0].Addresses.Cluster},
		"the peer to":             {Verb: "join", NodeID: 3, Addr: namesake.cfgs[0].Addresses.Cluster},
	} {
		if err := c.change(0, m); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want it to say %q", err, want)
		}
	}
	if now := c.members(); now != before {
		t.Errorf("the members were %s and are %s", before, now)
	}
}

// TestALiveMemberKeepsItsAddress checks that an empty node with a member's id is rejected and stops, and the member
// keeps its place. An operator's join is also rejected while the member answers, and later if the other node cannot
// prove that it is the member. The member itself may move.
func TestALiveMemberKeepsItsAddress(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startWith(t, 3, shortElections)
	l := c.leader()
	victim := (l + 1) % 3
	before := c.members()
	impostor := c.cfgs[victim]
	impostor.Home, impostor.Addresses.Wire, impostor.Addresses.HTTP, impostor.Addresses.Cluster = filepath.Join(t.TempDir(), "h"), rafttest.Addr(t), rafttest.Addr(t), rafttest.Addr(t)
	for name, peers := range map[string][]string{
		"that knows the member":         {c.cfgs[victim].Addresses.Cluster, c.cfgs[l].Addresses.Cluster},
		"that does not know the member": {c.cfgs[l].Addresses.Cluster},
	} {
		impostor.Member.Peers = peers
		n, err := node.Open(t.Context(), impostor)
		if err != nil {
			t.Fatal(err)
		}
		suite.Receive(t, "the end of a namesake "+name, n.Done())
		if err := n.Err(); err == nil || !strings.Contains(err.Error(), "an id of its own") {
			t.Errorf("a namesake %s ended with %v", name, err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	if now := c.members(); now != before {
		t.Fatalf("the members were %s and are %s", before, now)
	}
	// The member moves: its home is the same.
	c.stop(victim)
	was := c.cfgs[victim].Addresses.Cluster
	c.cfgs[victim].Addresses.Cluster = rafttest.Addr(t)
	c.open(victim)
	move := api.ChangeMembersRequest{Verb: "join", NodeID: uint32(victim + 1), Addr: c.cfgs[victim].Addresses.Cluster, Role: raft.RoleVoter}
	suite.Eventually(t, "the member at its new address", func() bool { return c.change(l, move) == nil })
	c.ready(victim)
	if now := c.members(); now != strings.Replace(before, was, c.cfgs[victim].Addresses.Cluster, 1) {
		t.Errorf("the members were %s and are %s", before, now)
	}
	// Its home is gone: only the operator can let the other node replace it.
	c.stop(victim)
	if err := errors.Join(os.RemoveAll(c.cfgs[victim].Home), os.MkdirAll(c.cfgs[victim].Home, 0o700)); err != nil {
		t.Fatal(err)
	}
	c.cfgs[victim].Addresses.Cluster = rafttest.Addr(t)
	moved := c.members()
	n, err := node.Open(t.Context(), c.cfgs[victim])
	if err != nil {
		t.Fatal(err)
	}
	<-n.Done()
	if err := n.Err(); err == nil || !strings.Contains(err.Error(), "refused at") {
		t.Errorf("an empty home: %v", err)
	}
	if err := n.Close(); err != nil {
		t.Error(err)
	}
	if now := c.members(); now != moved {
		t.Errorf("the members were %s and are %s", moved, now)
	}
	move.Addr, move.Force = c.cfgs[victim].Addresses.Cluster, true
	suite.Eventually(t, "the operator's word", func() bool { return c.change(c.leader(), move) == nil })
	c.open(victim)
	c.ready(victim)
	c.agree()
}
