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

// spare is a node that is not a member at first: it joins as a replica or as a voter, is promoted, and is removed
// again.
const spare = 3

// runs reports whether a node is to be running when all is mended.
func (c *cluster) runs(i int) bool { return i != spare || c.joined }

// anyone is a node that runs and stands still in nothing, but not one of those named.
func (c *cluster) anyone(but ...int) *node.Node {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() == nil && !c.net.stands(i+1) && !slices.Contains(but, i) {
			return n
		}
	}
	return nil
}

// change asks for a change of members through a node, and reports whether it was made.
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

// grow has the spare node join, or promotes it, or removes it.
func (c *cluster) grow(rng *rand.Rand) {
	switch {
	case !c.joined:
		c.joined, c.role = true, []string{raft.RoleVoter, raft.RoleReadReplica}[rng.IntN(2)]
		c.disks[spare].full = [2]time.Time{} // a node that has no log yet does not start on a full disk
		c.open(spare)
	case rng.IntN(2) == 0:
		c.change(c.anyone(), api.ChangeMembersRequest{Verb: "promote", NodeID: spare + 1})
	case c.change(c.anyone(spare), api.ChangeMembersRequest{Verb: "remove", NodeID: spare + 1}):
		c.kill(spare)
		c.empty(spare)
		c.joined = false
		delete(c.hurt, spare)
	}
}

// replace removes a voter that does not run and has it join again with an empty home.
func (c *cluster) replace(i int) {
	if !c.mayEmpty(i) || !c.runs(i) {
		return
	}
	c.kill(i)
	if c.change(c.anyone(i), api.ChangeMembersRequest{Verb: "remove", NodeID: uint32(i + 1)}) {
		c.empty(i)
	}
	c.open(i)
}

// members returns the members that the leader knows; nil without a leader.
func (c *cluster) members() []raft.Member {
	for i := range c.nodes {
		if n := c.node(i); n != nil && n.Err() == nil && n.Service().Cluster().Status(context.Background()).AcceptsWrites {
			return n.Service().RaftStatus().Members
		}
	}
	return nil
}

// readmit empties the home of a node that was removed without an answer to the request, so that it joins again.
func (c *cluster) readmit() {
	members := c.members()
	if members == nil {
		return
	}
	for i := range c.nodes {
		if !c.runs(i) || slices.ContainsFunc(members, func(m raft.Member) bool { return m.ID == uint32(i+1) }) {
			continue
		}
		if n := c.node(i); n != nil && len(n.Service().RaftStatus().Members) == 0 {
			continue // it is joining
		}
		c.kill(i)
		c.empty(i)
		c.open(i)
	}
}
