package raft

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/rafttest"
	"github.com/cairndb/cairn/raft/transport"
)

// startSlow opens three nodes with election timeouts so long that none would lead by itself, and makes the first one
// the leader.
func startSlow(t *testing.T, dial func(from int) func(context.Context, string) (net.Conn, error)) *cluster {
	c := &cluster{t: t, addrs: make([]string, 3), nodes: make([]*Node, 3), sms: make([]*listMachine, 3)}
	for i := range 3 {
		c.addrs[i] = rafttest.Addr(t)
	}
	for i := range 3 {
		c.sms[i] = &listMachine{}
		n, err := Open(context.Background(),
			Config{NodeID: uint32(i + 1), Dir: t.TempDir(), Addr: c.addrs[i], Credentials: Credentials{Secret: "secret"},
				Peers: slices.Concat(c.addrs[:i], c.addrs[i+1:]), Timing: Timing{Heartbeat: 250 * time.Millisecond, Election: slowElection},
				Seams: Seams{Dial: dial(i)}, Handler: noHandler{}}, c.sms[i])
		if err != nil {
			t.Fatal(err)
		}
		c.nodes[i] = n
		t.Cleanup(func() { n.Close() })
	}
	c.wait("one cluster", func() bool { return len(c.nodes[0].servers()) == 3 })
	c.makeLeader(c.nodes[0])
	return c
}

func defaultDial(int) func(context.Context, string) (net.Conn, error) { return nil }

// closeConnections closes a node's connections and its port, as the end of its process would.
func (n *Node) closeConnections() {
	_ = n.transport.Close() // it always succeeds
}

// waitLeaderKnown waits until all nodes know the leader.
func (c *cluster) waitLeaderKnown(leader *Node) {
	c.wait("all to know who leads", func() bool {
		return !slices.ContainsFunc(c.nodes, func(n *Node) bool {
			id, _, ok := n.Leader()
			return !ok || id != leader.cfg.NodeID || len(n.servers()) != len(c.nodes)
		})
	})
}

// ignoreSilence makes the silence that causes an election longer than a test waits.
func (c *cluster) ignoreSilence() {
	c.t.Helper()
	for _, n := range c.nodes {
		r := n.raft.ReloadableConfig()
		r.HeartbeatTimeout, r.ElectionTimeout = 2*suite.Patience, 2*suite.Patience
		if err := n.raft.ReloadConfig(r); err != nil {
			c.t.Fatal(err)
		}
	}
}

// TestADeadLeaderIsReplacedAtOnce: the end of the leader's process causes the election, not its silence.
func TestADeadLeaderIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	c := startSlow(t, defaultDial)
	c.propose(0, 20)
	first := c.leader()
	c.waitLeaderKnown(first)
	c.ignoreSilence()
	first.closeConnections()
	c.wait("another leader", func() bool {
		return slices.ContainsFunc(c.nodes, func(n *Node) bool { return n != first && n.IsLeader() })
	})
}

// TestAnyOfTheLeadersConnectionsTells: a follower that has come back gets records before its first heartbeat, so the
// loss of that connection must count as well.
func TestAnyOfTheLeadersConnectionsTells(t *testing.T) {
	t.Parallel()
	c := startSlow(t, defaultDial)
	c.propose(0, 5)
	l := c.leader()
	c.waitLeaderKnown(l)
	f := c.nodes[l.cfg.NodeID%3]
	records, err := l.transport.Pool.Dial(t.Context(), f.cfg.Advertise, transport.ForAppend)
	if err != nil {
		t.Fatal(err)
	}
	l.transport.CloseServer() // its port refuses connections, but heartbeats go on
	records.Close()
	c.wait("the follower to see that the leader ended", func() bool { return f.endedLeader.Load() == l.cfg.NodeID })
}

// TestWhoIsBehindIsNotWanted: a voter grants no pre-vote to a candidate with a shorter log.
func TestWhoIsBehindIsNotWanted(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := startSlow(t, defaultDial)
	c.propose(0, 5)
	l := c.leader()
	f := c.nodes[l.cfg.NodeID%3]
	c.wait("the follower to have all", func() bool { return f.raft.LastIndex() == l.raft.LastIndex() })
	index, term := f.lastRecord()
	for _, k := range []struct {
		what              string
		term, index, last uint64
		want              bool
	}{
		{"has less", f.Term() + 1, index - 1, term, false},
		{"has more of an older term", f.Term() + 1, index + 9, term - 1, false},
		{"stands in a term that is over", f.Term(), index, term, false},
		{"has as much", f.Term() + 1, index, term, true},
		{"has less of a newer term", f.Term() + 1, index - 1, term + 1, true},
	} {
		f.preVoteGranted.Store(0)
		if got := f.grantPreVote(k.term, k.index, k.last); got != k.want || (f.preVoteGranted.Load() != 0) != k.want {
			t.Errorf("one that %s: got %v, stands aside since %v", k.what, got, f.preVoteGranted.Load())
		}
	}
	for _, n := range c.nodes {
		if n != f {
			n.closeConnections()
		}
	}
	f.campaign()
	c.wait("it to stand", func() bool { return f.raft.State() == hraft.Candidate })
	if f.grantPreVote(f.Term()+9, index, term+9) {
		t.Error("one that stands itself promises another its vote")
	}
}

// TestAFollowerCutOffAloneReplacesNoLeader: if the leader's system refuses only one follower, the leader stays and
// the term does not change.
func TestAFollowerCutOffAloneReplacesNoLeader(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	var refused, asked atomic.Int32 // the refused node; the number of its attempts
	var leaderAddr atomic.Pointer[string]
	c := startSlow(t, func(from int) func(context.Context, string) (net.Conn, error) {
		return func(ctx context.Context, to string) (net.Conn, error) {
			if l := leaderAddr.Load(); l != nil && int(refused.Load()) == from+1 && to == *l {
				asked.Add(1)
				return nil, syscall.ECONNREFUSED
			}
			return new(net.Dialer).DialContext(ctx, "tcp", to)
		}
	})
	c.propose(0, 5)
	l := c.leader()
	c.waitLeaderKnown(l)
	term, at := l.Term(), l.cfg.Advertise
	leaderAddr.Store(&at)
	cut := c.nodes[l.cfg.NodeID%3]
	refused.Store(int32(cut.cfg.NodeID))
	cut.connectionLost(l.cfg.NodeID)
	c.wait("it to look again and again", func() bool { return asked.Load() > 5 })
	if !l.IsLeader() || l.Term() != term || cut.Term() != term {
		t.Errorf("term %d became %d, and %d on the node that was cut off", term, l.Term(), cut.Term())
	}
}
