package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft/recovery"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// forming holds the answers of the configured peers while this node belongs to no cluster.
type forming struct {
	peerRejected atomic.Bool // a peer has rejected this node since form last checked
	rejectedAt   sync.Map    // the reason that was logged last, by address
}

// form makes one cluster out of nodes that were configured with each other's addresses, started in any order.
//
// A node without configuration asks every peer for its id and role. If a peer has state, a cluster exists and this
// node asks to join it. If all have answered and none has state, the node with the lowest id is the founder: it makes
// each of the others store the founding configuration, and stores it itself last. A member that stores it may vote
// from then on; a member whose home is empty for any other reason may not (see amnesia.go). A founder that stops in
// between begins again after its restart, or the members that it has founded admit it. A node that cannot reach every
// configured peer founds nothing, so at most one cluster is ever formed.
//
// The founder stands for election at once, and so does a node that is the only voter: an election timeout detects a
// silent leader, and here there is no leader yet.
func (n *Node) form() {
	if n.isOnlyVoter() && !n.stateless() && n.raft.State() != hraft.Leader { // on a slow machine the timeout may have fired first
		n.campaign()
	}
	for wait := time.Duration(0); ; {
		if pause.For(n.ctx, wait) != nil {
			return
		}
		if n.hasConfiguration() || n.rejected.Load() {
			return
		}
		wait = 200 * time.Millisecond
		if n.tryForm() || n.peerRejected.Swap(false) { // a leader has taken this node in and will send what it lacks, or an operator has to act
			wait = 5 * time.Second
		}
	}
}

// isEmpty reports whether this node has no data that a cluster could need: no record, no snapshot, no state, and no
// vote other than that of its founding.
func (n *Node) isEmpty() bool {
	if n.raft == nil {
		return false
	}
	applied, _ := n.sm.Applied()
	return applied == 0 && n.raft.LastIndex() <= 1 && n.Term() <= 1
}

// foundingVoters returns this node, if its role is voter, and the configured peers with that role. all reports
// whether every configured peer has answered and neither they nor this node have data. states holds the addresses of
// peers that have state.
func (n *Node) foundingVoters() (servers []hraft.Server, states []string, all bool) {
	if n.cfg.Role == RoleVoter {
		servers = append(servers, hraft.Server{ID: transport.ServerID(n.cfg.NodeID), Address: hraft.ServerAddress(n.cfg.Advertise)})
	}
	all = n.isEmpty()
	for _, addr := range n.cfg.Peers {
		h, err := n.probe(addr, transport.HelloTimeout)
		if n.stopOnIDConflict(addr, err) {
			return nil, nil, false
		}
		if pe, ok := errors.AsType[*transport.PeerError](err); ok {
			n.peerRejected.Store(true)
			n.logRejected(addr, err, pe.Text)
		}
		if err != nil {
			all = false // this peer is not up yet, but another may belong to a cluster
			continue
		}
		n.rejectedAt.Delete(addr)
		if h.Raft == nil || h.NodeID == n.cfg.NodeID {
			n.stopRejected(fmt.Errorf("node %d answers at its peer's address %s: cluster.peers lists the others, and each has an id of its own",
				h.NodeID, addr))
			return nil, nil, false
		}
		if h.Raft.HasState {
			all = false
			states = append(states, addr)
		} else if h.Role == RoleVoter {
			servers = append(servers, hraft.Server{ID: transport.ServerID(h.NodeID), Address: hraft.ServerAddress(addr)})
		}
	}
	return servers, states, all
}

// logRejected logs that a peer rejects this node, and the reason, unless it is the same reason as last time.
func (n *Node) logRejected(addr string, err error, why string) {
	if errors.Is(err, transport.ErrSecret) {
		why = "cluster secret differs"
	}
	if was, _ := n.rejectedAt.Swap(addr, why); was != why {
		n.log.Warn("refused: "+why, "addr", addr)
	}
}

// tryForm founds a cluster if this node is the founder, or asks an existing cluster to admit this node. joined
// reports whether the cluster admitted it.
func (n *Node) tryForm() (joined bool) {
	servers, states, all := n.foundingVoters()
	if slices.ContainsFunc(states, n.askToJoin) { // a peer that knows no leader rejects the request, and the next one may know it
		return true
	}
	lost := n.stateless() && len(n.cfg.Peers) == 0 // members that are not in its configuration may have the data that it lost
	if !all || lost || n.cfg.Role != RoleVoter || lowestID(servers) != n.cfg.NodeID {
		return false
	}
	if err := n.foundCluster(hraft.Configuration{Servers: servers}); err != nil {
		n.log.Warn("cluster not formed", "err", err)
		return false
	}
	n.log.Info("cluster formed", "voters", len(servers))
	n.campaign()
	return false
}

// foundCluster makes each other founding member store the configuration, and stores it here last: until then this
// node has no state, and begins again after a crash.
func (n *Node) foundCluster(c hraft.Configuration) error {
	for _, s := range c.Servers {
		if s.ID == transport.ServerID(n.cfg.NodeID) {
			continue
		}
		m := wire.Membership{Action: "form", NodeID: transport.NodeID(s.ID), Configuration: hraft.EncodeConfiguration(c)}
		if _, err := n.askPeer(s.Address, m); err != nil {
			return fmt.Errorf("founding member %s: %w", s.ID, err)
		}
	}
	return n.storeFounding(c)
}

// storeFounding stores the founding configuration. It removes the mark of a node without state first: a crash in
// between leaves a node without configuration, which is marked again at its next start. The founder may repeat its
// request while this runs: the first call stores the configuration.
func (n *Node) storeFounding(c hraft.Configuration) error {
	n.markTurn <- struct{}{}
	defer func() { <-n.markTurn }()
	if n.hasConfiguration() {
		return fmt.Errorf("%w: node %d has been founded meanwhile", ErrUnavailable, n.cfg.NodeID)
	}
	if err := n.removeMark(); err != nil {
		return err
	}
	if err := n.await(context.Background(), n.raft.BootstrapCluster(c)); err != nil {
		if n.stateless() {
			err = errors.Join(err, n.writeMark(emptyMark))
		}
		return err
	}
	n.amnesia.Store(false)
	return nil
}

// acceptFounding stores the configuration that a founder sends. It requires that this node's own configuration names
// the founder, and no voter that the founder omits, and that neither this node nor any configured peer has state.
func (n *Node) acceptFounding(founder uint32, m wire.Membership) (err error) {
	defer recovery.RecoverPanic(&err) // the library panics on a configuration that it cannot read
	c := hraft.DecodeConfiguration(m.Configuration)
	in := func(s hraft.Server) bool {
		return slices.ContainsFunc(c.Servers, func(f hraft.Server) bool { return f.ID == s.ID })
	}
	self := hraft.Server{ID: transport.ServerID(n.cfg.NodeID)}
	if m.NodeID != n.cfg.NodeID || !in(self) || lowestID(c.Servers) != founder {
		return fmt.Errorf("%w: this node does not accept node %d as its founder", ErrRefused, founder)
	}
	if have := n.servers(); len(have) > 0 {
		if n.isEmpty() && slices.Equal(have, c.Servers) {
			return nil // the founder repeats its request
		}
		return fmt.Errorf("%w: node %d belongs to a cluster already", ErrRefused, n.cfg.NodeID)
	}
	servers, _, all := n.foundingVoters()
	named := slices.ContainsFunc(servers, func(s hraft.Server) bool { return s.ID == transport.ServerID(founder) })
	if !all || !named || n.cfg.Role != RoleVoter || slices.ContainsFunc(servers, func(s hraft.Server) bool { return !in(s) }) {
		return fmt.Errorf("%w: node %d sees other peers, or has not reached all of them", ErrUnavailable, n.cfg.NodeID)
	}
	if err := n.storeFounding(c); err != nil {
		return err
	}
	n.log.Info("founded", "peer", founder, "voters", len(c.Servers))
	return nil
}

func lowestID(servers []hraft.Server) uint32 {
	id := ^uint32(0)
	for _, s := range servers {
		id = min(id, transport.NodeID(s.ID))
	}
	return id
}

// isOnlyVoter reports whether this node is the only voter.
func (n *Node) isOnlyVoter() bool {
	voters := n.voters()
	return len(voters) == 1 && transport.NodeID(voters[0].ID) == n.cfg.NodeID
}

// probe dials an address and returns the hello of the node that answers.
func (n *Node) probe(addr string, within time.Duration) (wire.ClusterHelloOK, error) {
	ctx, cancel := context.WithTimeout(n.ctx, within)
	defer cancel()
	c, err := n.transport.Pool.Dial(ctx, addr, transport.ForAsk)
	if err != nil {
		return wire.ClusterHelloOK{}, err
	}
	n.transport.Pool.Drop(c)
	return c.Hello, nil
}

// stopRejected stops a node that cannot become a member with its configuration. A retry would get the same answer.
func (n *Node) stopRejected(err error) {
	if n.rejected.Swap(true) {
		return
	}
	n.log.Error("this node cannot be a member", "err", err)
	if n.cfg.Failed != nil {
		n.cfg.Failed(err)
	}
}

// request returns a membership request about this node itself.
func (n *Node) request(action string) wire.Membership {
	return wire.Membership{Action: action, NodeID: n.cfg.NodeID, Addr: n.cfg.Advertise, Role: n.cfg.Role}
}

// askPeer sends a membership request to the node at an address, which need not be the leader that this node knows.
func (n *Node) askPeer(addr hraft.ServerAddress, m wire.Membership) (ok wire.MembershipOK, err error) {
	ctx, cancel := context.WithTimeout(n.ctx, transport.RPCTimeout)
	defer cancel()
	err = n.transport.Pool.Call(ctx, string(addr), transport.ForAsk, wire.OpMembership, &m, wire.OpMembershipOK, &ok)
	return ok, err
}

// askToJoin asks a peer that belongs to a cluster to admit this node, and reports whether it did.
func (n *Node) askToJoin(addr string) bool {
	if _, err := n.askPeer(hraft.ServerAddress(addr), n.request("join")); err != nil {
		n.stopOnIDConflict(addr, err)
		return false
	}
	n.log.Info("joined", "addr", addr)
	return true
}

// stopOnIDConflict stops this node if a peer's error says that another node has its id, and reports whether it did.
func (n *Node) stopOnIDConflict(addr string, err error) bool {
	pe := (*transport.PeerError)(nil)
	if !errors.As(err, &pe) || pe.Code != wire.CodeAuthInvalid {
		return false
	}
	n.stopRejected(fmt.Errorf("refused at %s: %s", addr, pe.Text))
	return true
}
