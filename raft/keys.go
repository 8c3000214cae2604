package raft

import (
	"cmp"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// The cluster secret admits a node to the peer port, and its key says which node it is. The log has each member's key
// (Config.KeyOf). A hello under a member's id with another key, or with none, is rejected, whatever the connection is
// for.
//
// A member whose home was emptied comes back with a new key. The leader alone takes it, when it has dialed the
// member's address, the node there says that it has no state, and nobody has shown the key in the log for quiet. That
// node then puts its key into the log, and the others let it in. A member that follows no leader may lack the record
// of a new key, and only the node with that key may have it: such a member takes any key after quiet.

// quiet is the time, in elections, for which the node with a member's key must be silent before another key is
// accepted.
const quiet = 3

// takenKey is a key that this node takes for a member's, until the log has another one for it.
type takenKey struct{ key, logged string }

// checkKey rejects a node that says a member's id and does not have that member's key. Dialed is the address at which
// it answered; empty when it has dialed this node.
func (n *Node) checkKey(id uint32, dialed string, h *wire.RaftHello) (wire.Code, error) {
	s, member := n.find(id)
	logged := n.cfg.KeyOf(id)
	if id == n.cfg.NodeID {
		logged = transport.PublicText(n.cfg.Identity)
	}
	taken := takenKey{h.Key, logged}
	if logged == "" || n.knowsKey(id, taken) {
		return 0, nil
	}
	if !member {
		if n.IsLeader() && h.Key != "" { // it may be about to join
			n.takeKey(id, taken)
		}
		return 0, nil
	}
	if why := cmp.Or(n.holdsKey(id), n.newKey(string(s.Address), dialed, h)); why != "" {
		n.transport.HangUp(id, n.keysOf(id, logged)...)
		return n.otherKey(&s, taken, h, why)
	}
	n.takeKey(id, taken)
	n.log.Warn("a node with a new key takes a member's place: the node with the key in the log is silent", "peer", id,
		"addr", cmp.Or(dialed, h.Addr),
		"logged", fingerprint(logged), "key", fingerprint(h.Key))
	return 0, nil
}

// knowsKey reports whether a key is the one that the log has for a member, or the one taken for it.
func (n *Node) knowsKey(id uint32, k takenKey) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peer(id)
	if k.key == k.logged {
		p.proved, p.taken = time.Now(), takenKey{}
	}
	return k.key == k.logged || p.taken == k
}

// keysOf returns the key in the log, and the one that is taken in its place. A node with another key may be connected:
// a member that starts admits any node until it has applied its log. What that node says would count as the member's.
func (n *Node) keysOf(id uint32, logged string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.peer(id); p.taken.logged == logged && p.taken.key != "" {
		return []string{logged, p.taken.key}
	}
	return []string{logged}
}

func (n *Node) takeKey(id uint32, k takenKey) { n.withPeer(id, func(p *peerState) { p.taken = k }) }

// holdsKey says that the node with a member's key is there, or may be; empty when it has been silent for quiet.
func (n *Node) holdsKey(id uint32) string {
	if id == n.cfg.NodeID {
		return "that is this node"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peer(id)
	heard := p.proved
	for _, at := range []time.Time{p.lastSeen, n.opened, n.led} {
		if at.After(heard) {
			heard = at
		}
	}
	if ago := time.Since(heard); ago <= quiet*n.cfg.Election {
		return fmt.Sprintf("that one was heard, or might have been, %s ago", ago.Round(time.Millisecond))
	}
	return ""
}

// newKey says why this node does not take another key for a member than the log has; empty when it takes it.
func (n *Node) newKey(addr, dialed string, h *wire.RaftHello) string {
	leads := n.raft.State() == hraft.Leader
	switch {
	case h.Key == "":
		return "the other node shows none"
	case leads && !n.IsLeader(), !leads && time.Since(n.raft.LastContact()) <= quiet*n.cfg.Election:
		return "the leader decides whether another node takes its place"
	case !leads:
		return ""
	case n.cfg.FixedKeys:
		return "[cluster] admit leaves that to the operator"
	case !h.Stateless:
		return "the other node has state of its own"
	case dialed != addr:
		return "the other node does not prove itself at " + addr
	}
	return ""
}

// otherKey is the rejection of a node with another key. It is final for one that is at another address than the
// member.
func (n *Node) otherKey(s *hraft.Server, taken takenKey, h *wire.RaftHello, why string) (wire.Code, error) {
	code := wire.CodeInvalidPayload
	if id := transport.NodeID(s.ID); (id == n.cfg.NodeID || n.IsLeader()) && h.Addr != string(s.Address) {
		code = wire.CodeAuthInvalid
	}
	return code, fmt.Errorf("node %s has the key %s, not %s, and %s: give the other node an id of its own, or the home of node %s; when that is gone, `cairn cluster remove --node-id %d` and start the other node with an empty home",
		s.ID, fingerprint(taken.logged), fingerprint(taken.key), why, s.ID, transport.NodeID(s.ID))
}

// fingerprint is the beginning of a public key, for people to compare.
func fingerprint(key string) string {
	return cmp.Or(key[:min(len(key), 16)], "none")
}

// keyLogged reports whether the log here has this node's own key, or has none for it. Until then another leader takes
// the key only of a node that says it has no state.
func (n *Node) keyLogged() bool {
	k := n.cfg.KeyOf(n.cfg.NodeID)
	return k == "" || k == transport.PublicText(n.cfg.Identity)
}
