package raft

import (
	"bytes"
	"cmp"
	"crypto/ed25519"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/raft/peertest"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// startWithKeys opens three nodes and writes their keys into the log. want holds the log's items.
func startWithKeys(t *testing.T, c *cluster) (_ *cluster, want []string) {
	c.withKeys, c.newKeys, c.size = true, map[int]ed25519.PrivateKey{}, cmp.Or(c.size, 3)
	startWith(t, c.size, c)
	for i := range c.nodes {
		want = append(want, c.logKey(i))
	}
	c.waitApplied(want)
	return c, want
}

// waitApplied waits until the running nodes have applied these items.
func (c *cluster) waitApplied(want []string) {
	c.t.Helper()
	for i, n := range c.nodes {
		c.wait("the log to be applied", func() bool { return n.ctx.Err() != nil || slices.Equal(c.sms[i].items(), want) })
	}
}

// restartEmptyWithNewKey starts a stopped node on an empty home, which has a new key.
func (c *cluster) restartEmptyWithNewKey(i int) {
	c.t.Helper()
	c.newKeys[i] = identityOf(i + 100)
	c.restartEmpty(i)
}

// forger returns a node that knows the secret and claims a member's id.
func (c *cluster) forger(i int, key ed25519.PrivateKey, stateless bool) *peertest.Peer {
	p := peertest.NewPeer(transport.Options{NodeID: uint32(i + 1), Advertise: c.addrs[i], Secret: "secret", Identity: key,
		Log:  slog.New(slog.DiscardHandler),
		Dial: Seams{}.WithDefaults().Dial}, wire.RaftHello{ClusterID: "cluster", HasState: !stateless, Stateless: stateless})
	c.t.Cleanup(p.Close)
	return p
}

// purposes lists the purposes of all connections.
var purposes = []string{transport.ForHeartbeat, transport.ForAppend, transport.ForSnapshot, transport.ForForward, transport.ForAsk}

// requireRejected fails the test unless a node rejects a forger for every purpose.
func (c *cluster) requireRejected(forger *peertest.Peer, at int, wants ...string) {
	c.t.Helper()
	for _, purpose := range purposes {
		err := forger.Hello(c.t.Context(), c.addrs[at], purpose)
		for _, want := range wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				c.t.Errorf("node %d, for %s: %v, want it to say %q", at+1, purpose, err, want)
			}
		}
	}
}

// TestAMemberIsKnownByItsKey: a peer that knows the secret claims a living member's id. With another key, or without
// one, every member rejects it for every purpose, and nothing changes. When the member's home is emptied, the leader
// accepts its new key, the others take it from the log, and the old key is invalid.
func TestAMemberIsKnownByItsKey(t *testing.T) {
	t.Parallel()
	c, want := startWithKeys(t, &cluster{})
	victim := int(c.leader().cfg.NodeID % 3)
	members := c.nodes[victim].servers()
	stolen := identityOf(victim + 50)
	logged, shown := fingerprint(transport.PublicText(identityOf(victim))), fingerprint(transport.PublicText(stolen))
	for _, f := range []struct {
		shown  string
		forger *peertest.Peer
	}{{shown, c.forger(victim, stolen, false)}, {shown, c.forger(victim, stolen, true)}, {"none", c.forger(victim, nil, true)}} {
		for i, n := range c.nodes {
			c.requireRejected(f.forger, i, logged, f.shown, "cairn cluster remove")
			far := n.Term() + 1000
			if r, err := f.forger.Append(t.Context(), c.addrs[i], wire.RaftAppend{Term: far}); err == nil {
				t.Errorf("node %d follows a forger: %+v", i+1, r)
			}
			if r, err := f.forger.Vote(t.Context(), c.addrs[i], wire.RaftVote{Term: far, LastTerm: far, LastIndex: far}); err == nil {
				t.Errorf("node %d answers a forger that asks for its vote: %+v", i+1, r)
			}
			if n.Term() >= far {
				t.Errorf("a forger moved node %d to term %d", i+1, n.Term())
			}
		}
	}
	for i, n := range c.nodes {
		if !n.HasState() || !slices.Equal(n.servers(), members) || n.Disputed() != 0 {
			t.Errorf("node %d after a forger: state %v, members %v, %d disputes", i+1, n.HasState(), n.servers(), n.Disputed())
		}
	}
	if err := c.forger(victim, c.identity(victim), false).Hello(t.Context(), c.addrs[(victim+1)%3], transport.ForAsk); err != nil {
		t.Errorf("the member itself: %v", err)
	}
	want = append(want, c.propose(0, 3)...)
	c.nodes[victim].Close()
	c.restartEmptyWithNewKey(victim)
	c.waitApplied(want)
	if c.nodes[victim].HasState() {
		t.Error("it has state before the log has its key")
	}
	want = append(want, c.logKey(victim))
	c.wait("it to have state", c.nodes[victim].HasState)
	c.waitApplied(want)
	old := c.forger(victim, identityOf(victim), false)
	for i := range c.nodes {
		c.requireRejected(old, i, logged, fingerprint(transport.PublicText(c.identity(victim))))
		if i != victim {
			if _, err := c.nodes[i].probe(c.addrs[victim], suite.Patience); err != nil {
				t.Errorf("node %d and the new key: %v", i+1, err)
			}
		}
	}
}

// TestAListenerPassesNoProofOn: a listener at the address of a stopped member relays handshakes to another member.
// The members that dial it prove nothing to that one, which would otherwise admit the listener as one of them.
func TestAListenerPassesNoProofOn(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c, _ := startWithKeys(t, &cluster{})
	l := c.leader()
	down := int(l.cfg.NodeID % 3)
	other := (down + 1) % 3
	c.nodes[down].Close()
	ln, err := net.Listen("tcp", c.addrs[down])
	if err != nil {
		t.Fatal(err)
	}
	heard := make(chan []byte, 1)
	go func() {
		from, err := ln.Accept()
		if err != nil {
			return
		}
		ln.Close() // later connections are refused
		defer from.Close()
		to, err := net.Dial("tcp", c.addrs[other])
		if err != nil {
			return
		}
		defer to.Close()
		go func() {
			defer from.Close()
			_, _ = io.Copy(from, to)
		}()
		var all bytes.Buffer
		_, _ = io.Copy(to, io.TeeReader(from, &all))
		heard <- all.Bytes()
	}()
	var b []byte
	c.wait("a member to dial it", func() bool {
		_, _ = l.probe(c.addrs[down], suite.Patience)
		select {
		case b = <-heard:
			return true
		default:
			return false
		}
	})
	r := wire.NewReader(bytes.NewReader(b), wire.MaxLength)
	for i := 0; ; i++ {
		f, err := r.Next()
		if err != nil {
			if i != 1 {
				t.Errorf("it heard %d frames, %d bytes", i, len(b))
			}
			return
		}
		var h wire.ClusterHello
		if err := wire.Unpack(f, &h, wire.MaxPlainEarly); err != nil || len(h.Raft.MAC) > 0 || len(h.Raft.Proof) > 0 {
			t.Errorf("it heard a proof: %v, %+v", err, h.Raft)
		}
	}
}

// TestOnlyALeaderTakesAKey: while there is a leader, the others reject an emptied member until the log has its key.
// The leader also rejects a node that claims the member's address without being there.
func TestOnlyALeaderTakesAKey(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c, want := startWithKeys(t, &cluster{})
	l := c.leader()
	victim := int(l.cfg.NodeID % 3)
	other := (victim + 1) % 3
	c.nodes[victim].Close()
	forger := c.forger(victim, identityOf(victim+50), true)
	c.wait("the leader to hear the member no more", func() bool {
		err := forger.Hello(t.Context(), l.cfg.Advertise, transport.ForAsk)
		return err != nil && strings.Contains(err.Error(), "does not prove itself at "+c.addrs[victim]) || c.leader() != l
	})
	c.restartEmptyWithNewKey(victim)
	c.waitApplied(want)
	if c.leader() != l {
		t.Fatal("another node leads on a machine that stood still")
	}
	c.requireRejected(c.forger(victim, c.identity(victim), true), other, "the leader decides")
	if _, err := c.nodes[other].probe(c.addrs[victim], suite.Patience); err == nil || !strings.Contains(err.Error(), "the leader decides") {
		t.Errorf("a follower dials it: %v", err)
	}
	want = append(want, c.logKey(victim))
	c.waitApplied(want)
	c.wait("it to have state", c.nodes[victim].HasState)
	if _, err := c.nodes[other].probe(c.addrs[victim], suite.Patience); err != nil {
		t.Errorf("a follower dials it when the log has its key: %v", err)
	}
}

// TestAMemberThatWasAwayTakesANewKey: while a member was away, another one got a new key, and now leads. The member
// follows it.
func TestAMemberThatWasAwayTakesANewKey(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c, want := startWithKeys(t, &cluster{size: 4})
	victim := int(c.leader().cfg.NodeID % 4)
	away := (victim + 1) % 4
	c.nodes[victim].Close()
	c.restartEmptyWithNewKey(victim)
	c.waitApplied(want)
	c.nodes[away].Close() // before the log has the new key
	want = append(want, c.logKey(victim))
	c.waitVoter(victim)
	want = append(want, c.propose(0, 3)...)
	c.waitApplied(want)
	c.makeLeader(c.nodes[victim])
	c.reopen(away, "secret", c.peers(away))
	want = append(want, c.propose(3, 5)...)
	c.waitApplied(want)
}

// TestAnOperatorAdmitsAnEmptiedMember: with fixed keys an emptied member waits until an operator removes it.
func TestAnOperatorAdmitsAnEmptiedMember(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c, want := startWithKeys(t, &cluster{fixedKeys: true})
	victim := int(c.leader().cfg.NodeID % 3)
	c.nodes[victim].Close()
	c.restartEmptyWithNewKey(victim)
	c.wait("the leader to refuse it", func() bool {
		_, err := c.leader().probe(c.addrs[victim], suite.Patience)
		return err != nil && strings.Contains(err.Error(), "to the operator")
	})
	if _, err := c.leader().Change(t.Context(), wire.Membership{Action: "remove", NodeID: uint32(victim + 1)}); err != nil {
		t.Fatal(err)
	}
	c.waitApplied(want)
	want = append(want, c.logKey(victim))
	c.wait("it to have state", c.nodes[victim].HasState)
	c.waitApplied(want)
}

// TestAKeyThatTheLogBringsLater: a leader that has not applied its log yet knows no key of a member, and admits a
// node with another key. Once it has the key, that node must prove itself again and is accepted.
func TestAKeyThatTheLogBringsLater(t *testing.T) {
	t.Parallel()
	c, want := startWithKeys(t, &cluster{})
	l := c.leader()
	victim := int(l.cfg.NodeID % 3)
	c.nodes[victim].Close()
	c.lacksKeys.Store(l.cfg.NodeID)
	c.restartEmptyWithNewKey(victim)
	c.waitApplied(want)
	if c.nodes[victim].HasState() || c.leader() != l {
		t.Fatal("it has state before the log has its key, or another node leads on a machine that stood still")
	}
	c.lacksKeys.Store(0)
	c.wait("the leader to take the key", func() bool {
		_, err := l.probe(c.addrs[victim], suite.Patience)
		return err == nil || c.leader() != l
	})
	want = append(want, c.logKey(victim))
	c.wait("it to have state", c.nodes[victim].HasState)
	c.waitApplied(want)
}

// TestAFollowerLearnsItsLeadersKeyLate: a starting follower admits its leader before it has applied any key of the
// leader, and then applies an older one. It follows the leader on new connections too.
func TestAFollowerLearnsItsLeadersKeyLate(t *testing.T) {
	t.Parallel()
	c, want := startWithKeys(t, &cluster{})
	l := int(c.leader().cfg.NodeID % 3)
	f := (l + 1) % 3
	c.nodes[l].Close()
	c.restartEmptyWithNewKey(l)
	c.waitApplied(want)
	want = append(want, c.logKey(l))
	c.waitVoter(l)
	c.waitApplied(want)
	c.makeLeader(c.nodes[l])
	c.nodes[f].Close()
	c.lacksKeys.Store(uint32(f + 1))
	c.reopen(f, "secret", c.peers(f))
	c.wait("it to follow", func() bool { id, _, led := c.nodes[f].Leader(); return led && id == uint32(l+1) })
	c.hasFirstKeysOnly.Store(uint32(f + 1))
	c.lacksKeys.Store(0)
	c.wait("it to let its leader in again", func() bool {
		_, err := c.nodes[l].probe(c.addrs[f], suite.Patience)
		return err == nil
	})
	want = append(want, c.propose(0, 2)...)
	c.waitApplied(want)
}
