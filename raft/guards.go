package raft

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A change of members is rejected if the cluster could not make progress after it, or if the node is not the one that
// the request names. The operator may force a change that was rejected for the first reason, and a change for a node
// that cannot prove its identity because its home is gone.

// errIdentity rejects a node that uses another node's id. The rejection is final, and that node stops.
var errIdentity = errors.New("its id belongs to another node")

// checkMajority rejects a set of voters if no majority of it follows this leader now.
func (n *Node) checkMajority(after []hraft.Server, m wire.Membership) error {
	if len(after) == 0 {
		return fmt.Errorf("%w: node %d is the last voter", ErrRefused, m.NodeID)
	}
	if m.Force || n.checkQuorum(after, n.readyTerm.Load()) == nil {
		return nil
	}
	ids := make([]string, len(after))
	for i, s := range after {
		ids[i] = string(s.ID)
	}
	return fmt.Errorf("%w: the voters would be nodes %s, and too few of them answer: start the others first. With --force the cluster may take no write, and no other change of members, until %d of them are back",
		ErrRefused, strings.Join(ids, ", "), len(after)/2+1)
}

// votersWithout returns the voters except one.
func (n *Node) votersWithout(id uint32) []hraft.Server {
	return slices.DeleteFunc(n.voters(), func(s hraft.Server) bool { return s.ID == transport.ServerID(id) })
}

// identifyTimeout bounds identify.
const identifyTimeout = 3 * time.Second

// identify returns the id of the node that answers at an address, and the key by which the node proves that the
// address is its own; the key is empty if the node proves nothing.
func (n *Node) identify(addr string) (id uint32, key string, err error) {
	h, err := n.probe(addr, identifyTimeout)
	if r := h.Raft; r != nil && r.Addr == addr {
		key = r.Key
	}
	return h.NodeID, key, err
}

// identifyNewcomer returns the key of a new node. It returns an error if no node answers at the address, if another
// node answers, or if the node lacks the cluster's secret.
func (n *Node) identifyNewcomer(m wire.Membership) (key string, err error) {
	id, key, err := n.identify(m.Addr)
	switch {
	case err != nil && m.Force:
		return "", nil
	case err != nil:
		return "", fmt.Errorf("%w: node %d: %w: start it first, with the cluster's secret", ErrRefused, m.NodeID, err)
	case id != m.NodeID:
		return "", fmt.Errorf("%w: node %d answers at %s, not node %d", ErrRefused, id, m.Addr, m.NodeID)
	}
	return key, nil
}

// checkMove rejects a new address for a member while a node answers with the member's id at the old one. The node at
// the new address must show the member's key; without it the member must have been silent and the operator must use
// --force because its home is gone.
func (n *Node) checkMove(s hraft.Server, m wire.Membership, key string) error {
	idConflict := func(format string, args ...any) error {
		return fmt.Errorf("%w: %w: node %d belongs to %s, and %s", ErrRefused, errIdentity, m.NodeID, s.Address,
			fmt.Sprintf(format, args...))
	}
	if m.NodeID == n.cfg.NodeID {
		return idConflict("leads there: give the other node an id of its own")
	}
	known := n.cfg.KeyOf(m.NodeID)
	if id, there, err := n.identify(string(s.Address)); err == nil && id == m.NodeID && (there == "" || there != key) {
		return idConflict("answers there: give the other node an id of its own, or stop that one first")
	}
	var silent time.Duration
	n.withPeer(m.NodeID, func(p *peerState) { silent = time.Since(p.lastSeen) })
	switch {
	case known != "" && known == key, known == "" && silent > n.cfg.Election:
		return nil
	case silent <= n.cfg.Election:
		return idConflict("was heard %s ago: give the other node an id of its own, or stop that one first", silent.Round(time.Millisecond))
	case m.Force:
		return nil
	}
	return idConflict("the node at %s does not show its key: give it an id of its own, or, when the home of node %d is gone for good, `cairn cluster join --node-id %d --peer-addr %s --force`",
		m.Addr, m.NodeID, m.NodeID, m.Addr)
}

// promotionLag is the number of records that a member may lack when it gets a vote: one batch.
const promotionLag = 512

// checkPromotion rejects the promotion of a member that does not answer this leader. later reports that the member
// must first catch up with the log, or regain its state.
func (n *Node) checkPromotion(s hraft.Server, m wire.Membership) (later bool, err error) {
	if m.Force {
		return false, nil
	}
	last, ok := n.probeFollower(s, n.readyTerm.Load(), 0, 0)
	if !ok {
		return false, fmt.Errorf("%w: node %s does not answer at %s: start it first", ErrRefused, s.ID, s.Address)
	}
	whole, err := n.hasLog(s, last)
	if err != nil || !whole {
		return true, err
	}
	h, err := n.probe(string(s.Address), identifyTimeout)
	if err != nil {
		return false, fmt.Errorf("%w: node %s: %w", ErrRefused, s.ID, err)
	}
	return h.Raft == nil || h.Raft.Stateless, nil
}

// hasLog reports whether a member's log, which ends at last, matches this leader's log up to there, lacks at most one
// batch, and includes the record that made it a member. A vote for a member without these records could leave the
// leader without a majority: in a cluster of two no leader could be elected again.
func (n *Node) hasLog(s hraft.Server, last uint64) (bool, error) {
	end := n.raft.LastIndex()
	if last+promotionLag < end {
		return false, nil
	}
	var l hraft.Log
	for i := end; i > last; i-- { // the library does not tell at which index the members last changed
		if err := n.logs.GetLog(i, &l); err != nil || l.Type == hraft.LogConfiguration {
			return false, err
		}
	}
	if n.logs.GetLog(last, &l) != nil { // this leader has no such record: its log's last record is never compacted
		return false, nil
	}
	_, ok := n.probeFollower(s, n.readyTerm.Load(), last, l.Term)
	return ok, nil
}
