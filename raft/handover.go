package raft

import (
	"context"
	"errors"
	"fmt"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// transfer hands leadership over to the member in the request, or else to the one with the longest log.
func (n *Node) transfer(_ context.Context, m wire.Membership) (string, uint64, error) {
	to, ok := n.successor()
	if !ok {
		return "", 0, fmt.Errorf("%w: there is no other voter to hand over to", ErrRefused)
	}
	if m.NodeID != 0 {
		if to, ok = n.findMember(m.NodeID); !ok {
			return "", 0, fmt.Errorf("%w: node %d is not a member", ErrRefused, m.NodeID)
		}
		if to.Suffrage != hraft.Voter { // voters would elect it: see unlistedCandidate
			return "", 0, fmt.Errorf("%w: node %d has no vote: promote it first", ErrRefused, m.NodeID)
		}
	}
	if err := n.transferTo(context.Background(), to); err != nil {
		return "", 0, fmt.Errorf("transfer: %w", err)
	}
	return "leadership handed over", 0, nil
}

// successor returns the other voter with the longest log.
func (n *Node) successor() (hraft.Server, bool) {
	return n.longestLog(func(uint32) bool { return true })
}

// longestLog returns the other voter with the longest log that this leader knows of, among the voters that allowed
// accepts. Of several it returns the voter that answered last.
func (n *Node) longestLog(allowed func(id uint32) bool) (to hraft.Server, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var best peerState
	for _, s := range n.votersWithout(n.cfg.NodeID) {
		if !allowed(transport.NodeID(s.ID)) {
			continue
		}
		var p peerState
		if known := n.peers[transport.NodeID(s.ID)]; known != nil {
			p = *known
		}
		if !ok || p.lastLog > best.lastLog || p.lastLog == best.lastLog && p.lastSeen.After(best.lastSeen) {
			to, best, ok = s, p, true
		}
	}
	return to, ok
}

// transferTo hands leadership over and waits for the outcome. The library first sends the member the records that it
// lacks. If that takes too long, the library gives up but its waiting goroutine remains. A second hand-over to that
// member in the same term would wait for that goroutine and reject all records meanwhile, so transferTo rejects it.
func (n *Node) transferTo(ctx context.Context, s hraft.Server) error {
	id, term := transport.NodeID(s.ID), n.Term()
	waits := false
	n.withPeer(id, func(p *peerState) { waits = p.failedHandOver == term && p.lastLog < n.raft.LastIndex() })
	if waits {
		return fmt.Errorf("%w: node %d has not caught up since the last hand-over to it failed", ErrUnavailable, id)
	}
	err := n.await(ctx, n.raft.LeadershipTransferToServer(s.ID, s.Address))
	if err != nil {
		n.withPeer(id, func(p *peerState) { p.failedHandOver = term })
	}
	return err
}

// handOver hands leadership to the successor. It waits at most two seconds.
func (n *Node) handOver() error {
	to, ok := n.successor()
	if !ok {
		return errors.New("there is no other voter")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	return n.transferTo(ctx, to)
}
