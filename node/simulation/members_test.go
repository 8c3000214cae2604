package simulation

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cairndb/cairn/node"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/raft"
)

// spare is a node that is not a member at first. It joins as a replica or as a voter, is promoted, is removed, and
// joins again.
const spare = 3

// shouldRun reports whether a node must run once all faults are repaired.
func (c *cluster) shouldRun(i int) bool { return i != spare || c.joined }

// anyNode returns a running node that is not paused and not excluded, or nil.
func (c *cluster) anyNode(but ...int) *node.Node {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() == nil && !c.net.isPaused(i+1) && !slices.Contains(but, i) {
			return n
		}
	}
	return nil
}

// change requests a change of members from a node, and reports whether it was made.
func (c *cluster) change(n *node.Node, m api.ChangeMembersRequest) bool {
	if n == nil {
		return false
	}
	caller, err := n.Access().Local("default")
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_, err = api.ChangeMembers.Do(ctx, n.Service(), caller, &m)
	return err == nil
}

// changeSpare lets the spare node join, or promotes or removes it.
func (c *cluster) changeSpare(rng *rand.Rand) {
	switch {
	case !c.joined:
		c.joined, c.role = true, []string{raft.RoleVoter, raft.RoleReadReplica}[rng.IntN(2)]
		c.disks[spare].full = [2]time.Time{} // a node without a log does not start on a full disk
		c.open(spare)
	case rng.IntN(2) == 0:
		c.change(c.anyNode(), api.ChangeMembersRequest{Verb: "promote", NodeID: spare + 1})
	case c.change(c.anyNode(spare), api.ChangeMembersRequest{Verb: "remove", NodeID: spare + 1}):
		c.kill(spare)
		c.loseHome(spare)
		c.joined = false
		delete(c.recovering, spare)
	}
}

// replace kills a voter, removes it, and lets it join again with an empty home.
func (c *cluster) replace(i int) {
	if !c.mayLoseHome(i) || !c.shouldRun(i) {
		return
	}
	c.kill(i)
	if c.change(c.anyNode(i), api.ChangeMembersRequest{Verb: "remove", NodeID: uint32(i + 1)}) {
		c.loseHome(i)
	}
	c.open(i)
}

// members returns the members known to the leader, or nil without a leader.
func (c *cluster) members() []raft.Member {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() == nil && n.Service().Cluster().Status(context.Background()).AcceptsWrites {
			return n.Service().RaftStatus().Members
		}
	}
	return nil
}

// readmit lets nodes join again with an empty home that were removed although the request for it got no answer.
func (c *cluster) readmit() {
	members := c.members()
	if members == nil {
		return
	}
	for i := range c.nodes {
		if !c.shouldRun(i) || slices.ContainsFunc(members, func(m raft.Member) bool { return m.ID == uint32(i+1) }) {
			continue
		}
		if n := c.node(i); n != nil && len(n.Service().RaftStatus().Members) == 0 {
			continue // the node is joining
		}
		c.kill(i)
		c.loseHome(i)
		c.open(i)
	}
}
