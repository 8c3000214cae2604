package raft

import (
	"context"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/wire"
)

// form makes one cluster out of nodes that were configured with each other's addresses, started in any order.
//
// A node without configuration asks every peer who it is. When a peer has a configuration, a cluster exists and
// this node asks to join it. When all have answered and none has one, the node with the lowest id starts the
// cluster with all of them; the others wait to be spoken to. A node that has a configuration does nothing here,
// and one that cannot reach every configured voter starts nothing: so at most one cluster is ever formed.
//
// Who starts it stands for election at once, and so does a node that is the only voter: the timeouts are for the silence of
// others.
func (n *Node) form() {
	if n.sole() && !n.amnesiac() {
		n.stand()
	}
	const pause = 200 * time.Millisecond
	for wait := time.Duration(0); ; wait = pause {
		select {
		case <-n.ctx.Done():
			return
		case <-time.After(wait):
		}
		if n.hasState() {
			return
		}
		n.tryForm()
	}
}

func (n *Node) tryForm() {
	servers := []hraft.Server{{ID: serverID(n.cfg.NodeID), Address: hraft.ServerAddress(n.cfg.Advertise)}}
	lowest, all := n.cfg.NodeID, true
	for _, addr := range n.cfg.Peers {
		h, err := n.probe(addr)
		if err != nil {
			all = false // not there yet; another may belong to a cluster all the same
			continue
		}
		if h.Raft == nil || h.NodeID == n.cfg.NodeID {
			n.log.Error("peer is not another member", "peer", h.NodeID, "addr", addr)
			return
		}
		if h.Raft.HasState {
			all = false
			if n.askToJoin(addr) {
				return
			}
			continue // only the leader takes nodes in: it may be the next
		}
		if h.Role == "voter" {
			lowest = min(lowest, h.NodeID)
			servers = append(servers, hraft.Server{ID: serverID(h.NodeID), Address: hraft.ServerAddress(addr)})
		}
	}
	if !all || n.cfg.Role != "voter" || lowest != n.cfg.NodeID || n.amnesiac() {
		return
	}
	if err := n.await(n.raft.BootstrapCluster(hraft.Configuration{Servers: servers})); err != nil {
		n.log.Warn("cluster not formed", "err", err)
		return
	}
	n.log.Info("cluster formed", "voters", len(servers))
	n.stand()
}

// sole says whether this node is the only voter there is.
func (n *Node) sole() bool {
	voters := n.voters()
	return len(voters) == 1 && nodeID(voters[0].ID) == n.cfg.NodeID
}

func (n *Node) probe(addr string) (wire.ClusterHelloOK, error) {
	ctx, cancel := context.WithTimeout(n.ctx, helloTimeout)
	defer cancel()
	c, err := n.pool.dial(ctx, addr, forForward)
	if err != nil {
		return wire.ClusterHelloOK{}, err
	}
	n.pool.put(addr, forForward, c)
	return c.hello, nil
}

// askToJoin asks a peer that belongs to a cluster to take this node in, and says whether it did.
func (n *Node) askToJoin(addr string) bool {
	ctx, cancel := context.WithTimeout(n.ctx, rpcTimeout)
	defer cancel()
	var ok wire.MembershipOK
	m := &wire.Membership{Action: "join", NodeID: n.cfg.NodeID, Addr: n.cfg.Advertise, Role: n.cfg.Role}
	if err := n.pool.call(ctx, addr, forForward, wire.OpMembership, m, wire.OpMembershipOK, &ok); err != nil {
		return false
	}
	n.log.Info("joined", "addr", addr)
	return true
}
