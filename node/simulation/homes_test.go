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

// A home is emptied, and put back to an older copy of it, under the rule that operators have: of one voter at a time,
// until it is whole again, and only while a majority is up without it.

// mayEmpty reports whether the home of a node may be lost now. One whose home was put back to an old copy does not
// know that before another node says so: it is whole when it has what the others had.
func (c *cluster) mayEmpty(i int) bool {
	for other, lacked := range c.hurt {
		n := c.node(other)
		if n == nil || n.Err() != nil {
			return other == i
		}
		if st := n.Service().RaftStatus(); st.Amnesia || st.AppliedIndex < lacked || len(st.Members) == 0 ||
			other != spare && !slices.ContainsFunc(st.Members, func(m raft.Member) bool { return m.ID == uint32(other+1) && m.Voter }) {
			return other == i
		}
		delete(c.hurt, other)
	}
	return c.majorityWithout(i)
}

// majorityWithout reports whether a majority of all voters is up besides one node, and has state.
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

// empty takes a home away.
func (c *cluster) empty(i int) {
	c.hurt[i], c.hurts[i] = 0, true
	for at := range c.nodes {
		if n := c.node(at); n != nil && n.Err() == nil {
			c.hurt[i] = max(c.hurt[i], n.Service().RaftStatus().LastIndex)
		}
	}
	c.disks[i].full, c.disks[i].copied = [2]time.Time{}, "" // an older copy has another key: its member would be refused
	c.disks[i].lives++
	c.disks[i].home = fmt.Sprintf("%s.%d", c.disks[i].home, c.disks[i].lives)
}

// wipe ends a node and starts it with an empty home.
func (c *cluster) wipe(i int) {
	if !c.mayEmpty(i) || !c.runs(i) {
		return
	}
	c.kill(i)
	c.empty(i)
	c.open(i)
}

// rollBack copies the home of a node; the next time the node goes on from that copy, or from its own state and the log
// of the copy.
func (c *cluster) rollBack(i int, rng *rand.Rand) {
	old, home := c.disks[i].copied, c.disks[i].home
	if !c.runs(i) || old != "" && !c.mayEmpty(i) {
		return
	}
	if _, err := os.Stat(filepath.Join(home, "raft")); err != nil { // it has no log yet
		return
	}
	c.kill(i)
	if old == "" {
		c.disks[i].lives++
		c.disks[i].copied = fmt.Sprintf("%s.%d", home, c.disks[i].lives)
		c.must(rafttest.CopyHome(c.disks[i].copied, home))
		c.open(i)
		return
	}
	c.empty(i)
	now := c.disks[i].home
	if rng.IntN(2) == 0 {
		c.must(rafttest.CopyHome(now, old))
	} else {
		c.must(rafttest.CopyHome(now, home))
		c.must(os.RemoveAll(filepath.Join(now, "raft")))
		c.must(rafttest.CopyHome(filepath.Join(now, "raft"), filepath.Join(old, "raft")))
	}
	c.disks[i].change(func() { c.must(c.disks[i].opens()) }) // an operator syncs what is put back
	c.open(i)
}

func (c *cluster) must(err error) {
	if err != nil {
		c.t.Fatal(err)
	}
}
