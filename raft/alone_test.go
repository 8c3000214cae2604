package raft

import (
	"os"
	"slices"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
)

// TestALostMemberIsNotAlone: the first member of a cluster may have no peers configured. If its state is lost, it
// does not consider itself the only member, whatever remains of its log. It waits for a leader that admits it again.
func TestALostMemberIsNotAlone(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *cluster, int){
		"state and log moved aside": func(t *testing.T, c *cluster, i int) {
			if _, err := Discard(c.dirs[i]); err != nil {
				t.Fatal(err)
			}
		},
		"the log damaged behind its beginning": func(t *testing.T, c *cluster, i int) { rafttest.Flip(t, segments(t, c.dirs[i])[0], "entry-9") },
		"the log damaged behind a snapshot": func(t *testing.T, c *cluster, i int) {
			loseLog["scribbled over"](t, c.dirs[i])
		},
		"a second start": func(t *testing.T, c *cluster, i int) {
			if _, err := Discard(c.dirs[i]); err != nil {
				t.Fatal(err)
			}
			c.reopen(i, "secret", nil)
			c.nodes[i].Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := startFastRejoin(t, 3)
			want := c.propose(0, 20)
			l := int(c.leader().cfg.NodeID - 1)
			lost := (l + 1) % 3
			c.wait("all records", func() bool { return slices.Equal(c.sms[lost].items(), want) })
			if name == "the log damaged behind a snapshot" {
				if err := c.nodes[lost].Snapshot(); err != nil {
					t.Fatal(err)
				}
			}
			for _, n := range c.nodes { // no leader may come before the test has looked
				n.Close()
			}
			c.sms[lost] = &listMachine{}
			lose(t, c, lost)
			c.reopen(lost, "secret", nil)
			if c.nodes[lost].HasState() || c.nodes[lost].isOnlyVoter() {
				t.Fatalf("a member without state has a vote; members %v", c.nodes[lost].servers())
			}
			for i := range 3 {
				if i != lost {
					c.reopen(i, "secret", c.peers(i))
				}
			}
			c.electLongestLog()
			want = append(want, c.propose(20, 25)...)
			c.wait("all records, and a vote", func() bool { return slices.Equal(c.sms[lost].items(), want) && c.nodes[lost].HasState() })
		})
	}
}

// TestAnEmptyHomeMayBecomeAlone: a node was first started with peers that it never reached, and is now configured
// without them.
func TestAnEmptyHomeMayBecomeAlone(t *testing.T) {
	t.Parallel()
	c := &cluster{t: t, addrs: []string{rafttest.Addr(t)}, nodes: make([]*Node, 1), sms: make([]*listMachine, 1)}
	c.open(0, "secret", []string{rafttest.Addr(t)})
	if c.nodes[0].HasState() {
		t.Fatal("an empty home among peers has a vote")
	}
	for range 2 {
		c.nodes[0].Close()
		c.reopen(0, "secret", nil)
		c.propose(0, 1)
	}
	if _, err := os.Stat(c.nodes[0].amnesiaFile()); err == nil {
		t.Error("it is still marked")
	}
}
