package raft

import (
	"cmp"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// The cluster secret admits a node to the peer port; the node's key proves its id. The log has each member's key
// (Config.KeyOf). A hello under a member's id with another key, or without a key, is rejected on every kind of
// connection.
//
// A member whose home was emptied comes back with a new key. Only the leader accepts that key, on three conditions:
// it has dialed the member's address, the node there says that it has no state, and no node has shown the logged key
// for keySilence. The node then writes its new key into the log, and the others admit it. A member that follows no
// leader may lack the record of a new key, and the node with that key may be the only one that has the record. So a
// member without a leader accepts any key after keySilence.

// keySilence is the time, in elections, for which the node with a member's key must be silent before another key is
// accepted.
const keySilence = 3

// acceptedKey is a key that this node accepts in place of a member's logged key, until the log has another one.
type acceptedKey struct{ key, logged string }

// checkKey rejects a node that claims a member's id without that member's key. dialed is the address at which the
// node answered; empty when the node dialed this one.
func (n *Node) checkKey(id uint32, dialed string, h *wire.RaftHello) (wire.Code, error) {
	s, member := n.findMember(id)
	logged := n.cfg.KeyOf(id)
	if id == n.cfg.NodeID {
		logged = transport.PublicText(n.cfg.Identity)
	}
	shown := acceptedKey{h.Key, logged}
	if logged == "" || n.keyAccepted(id, shown) {
		return 0, nil
	}
	if !member {
		if n.IsLeader() && h.Key != "" { // the node may be about to join
			n.acceptKey(id, shown)
		}
		return 0, nil
	}
	if why := cmp.Or(n.whyKeyInUse(id), n.whyNotNewKey(string(s.Address), dialed, h)); why != "" {
		n.transport.CloseImpostors(id, n.acceptedKeys(id, logged)...)
		return n.keyMismatch(&s, shown, h, why)
	}
	n.acceptKey(id, shown)
	n.log.Warn("a node with a new key takes a member's place: the node with the key in the log is silent", "peer", id,
		"addr", cmp.Or(dialed, h.Addr),
		"logged", fingerprint(logged), "key", fingerprint(h.Key))
	return 0, nil
}

// keyAccepted reports whether a key is the member's key in the log, or the key accepted in its place.
func (n *Node) keyAccepted(id uint32, k acceptedKey) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peer(id)
	if k.key == k.logged {
		p.keySeen, p.acceptedKey = time.Now(), acceptedKey{}
	}
	return k.key == k.logged || p.acceptedKey == k
}

// acceptedKeys returns the member's key in the log, and the key accepted in its place. Nodes with other keys may
// still be connected, because a member that starts admits any node until it has applied its log. Messages of such
// nodes would count as the member's.
func (n *Node) acceptedKeys(id uint32, logged string) []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.peer(id); p.acceptedKey.logged == logged && p.acceptedKey.key != "" {
		return []string{logged, p.acceptedKey.key}
	}
	return []string{logged}
}

func (n *Node) acceptKey(id uint32, k acceptedKey) {
	n.withPeer(id, func(p *peerState) { p.acceptedKey = k })
}

// whyKeyInUse returns why the node with a member's key may still be alive; empty when it has been silent for
// keySilence.
func (n *Node) whyKeyInUse(id uint32) string {
	if id == n.cfg.NodeID {
		return "that is this node"
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.peer(id)
	heard := p.keySeen
	for _, at := range []time.Time{p.lastSeen, n.opened, n.led} {
		if at.After(heard) {
			heard = at
		}
	}
	if ago := time.Since(heard); ago <= keySilence*n.cfg.Election {
		return fmt.Sprintf("that one was heard, or might have been, %s ago", ago.Round(time.Millisecond))
	}
	return ""
}

// whyNotNewKey returns why this node does not accept a new key for a member; empty when it accepts it.
func (n *Node) whyNotNewKey(addr, dialed string, h *wire.RaftHello) string {
	leads := n.raft.State() == hraft.Leader
	switch {
	case h.Key == "":
		return "the other node shows none"
	case leads && !n.IsLeader(), !leads && time.Since(n.raft.LastContact()) <= keySilence*n.cfg.Election:
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

// keyMismatch returns the error for a node with a wrong key. The rejection is final for a node at another address
// than the member's.
func (n *Node) keyMismatch(s *hraft.Server, shown acceptedKey, h *wire.RaftHello, why string) (wire.Code, error) {
	code := wire.CodeInvalidPayload
	if id := transport.NodeID(s.ID); (id == n.cfg.NodeID || n.IsLeader()) && h.Addr != string(s.Address) {
		code = wire.CodeAuthInvalid
	}
	return code, fmt.Errorf("node %s has the key %s, not %s, and %s: give the other node an id of its own, or the home of node %s; when that is gone, `cairn cluster remove --node-id %d` and start the other node with an empty home",
		s.ID, fingerprint(shown.logged), fingerprint(shown.key), why, s.ID, transport.NodeID(s.ID))
}

// fingerprint returns the beginning of a public key, for people to compare.
func fingerprint(key string) string {
	return cmp.Or(key[:min(len(key), 16)], "none")
}

// keyLogged reports whether the log here has this node's own key, or no key for this node. Until then another leader
// accepts the key only while this node says that it has no state.
func (n *Node) keyLogged() bool {
	k := n.cfg.KeyOf(n.cfg.NodeID)
	return k == "" || k == transport.PublicText(n.cfg.Identity)
}
