package simulation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/raft/rafttest"
)

// Nodes lose their homes, or get older copies of them, under the rule for operators: one voter at a time, until it is
// whole again, and only while a majority is up without it.

// mayLoseHome reports whether a node may lose its home now. A node with an old copy of its home learns that only from
// the others, so it counts as whole only once it has applied all that they had when it lost its home.
func (c *cluster) mayLoseHome(i int) bool {
	for other, lacked := range c.recovering {
		n := c.node(other)
		if n == nil || n.Err() != nil {
			return other == i
		}
		if st := n.Service().RaftStatus(); st.Amnesia || st.AppliedIndex < lacked || len(st.Members) == 0 ||
			other != spare && !slices.ContainsFunc(st.Members, func(m raft.Member) bool { return m.ID == uint32(other+1) && m.Voter }) {
			return other == i
		}
		delete(c.recovering, other)
	}
	return c.majorityWithout(i)
}

// majorityWithout reports whether a majority of all voters runs and has state, without counting node i.
func (c *cluster) majorityWithout(i int) bool {
	voters, up := 0, 0
	for _, m := range c.members() {
		if !m.Voter {
			continue
		}
		voters++
		at := int(m.ID - 1)
		if n := c.node(at); at != i && n != nil && n.Err() == nil && !n.Service().RaftStatus().Amnesia {
			up++
		}
	}
	return up > voters/2
}

// loseHome gives a node an empty home, and notes the last index of the running nodes, which it must apply to be whole
// again.
func (c *cluster) loseHome(i int) {
	c.recovering[i], c.everLost[i] = 0, true
	for at := range c.nodes {
		if n := c.node(at); n != nil && n.Err() == nil {
			c.recovering[i] = max(c.recovering[i], n.Service().RaftStatus().LastIndex)
		}
	}
	c.disks[i].full, c.disks[i].copied = [2]time.Time{}, "" // the copy has an old identity key
	c.disks[i].generation++
	c.disks[i].home = fmt.Sprintf("%s.%d", c.disks[i].home, c.disks[i].generation)
}

// wipe ends a node and starts it with an empty home.
func (c *cluster) wipe(i int) {
	if !c.mayLoseHome(i) || !c.shouldRun(i) {
		return
	}
	c.kill(i)
	c.loseHome(i)
	c.open(i)
}

// rollBack copies the home of a node the first time. The next time the node continues from that copy, or from its own
// state with the log of the copy.
func (c *cluster) rollBack(i int, rng *rand.Rand) {
	old, home := c.disks[i].copied, c.disks[i].home
	if !c.shouldRun(i) || old != "" && !c.mayLoseHome(i) {
		return
	}
	if _, err := os.Stat(filepath.Join(home, "raft")); err != nil { // the node has no log yet
		return
	}
	c.kill(i)
	if old == "" {
		c.disks[i].generation++
		c.disks[i].copied = fmt.Sprintf("%s.%d", home, c.disks[i].generation)
		c.must(rafttest.CopyHome(c.disks[i].copied, home))
		c.open(i)
		return
	}
	c.loseHome(i)
	now := c.disks[i].home
	if rng.IntN(2) == 0 {
		c.must(rafttest.CopyHome(now, old))
	} else {
		c.must(rafttest.CopyHome(now, home))
		c.must(os.RemoveAll(filepath.Join(now, "raft")))
		c.must(rafttest.CopyHome(filepath.Join(now, "raft"), filepath.Join(old, "raft")))
	}
	c.disks[i].change(func() { c.must(c.disks[i].markSynced()) }) // an operator syncs the files that he restores
	c.open(i)
}

func (c *cluster) must(err error) {
	if err != nil {
		c.t.Fatal(err)
	}
}
