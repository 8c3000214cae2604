package raft

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// Change asks the leader, on whichever node it is, to change the membership. ErrUnknownOutcome means that the change
// may still happen; any other error means that it does not.
func (n *Node) Change(ctx context.Context, m wire.Membership) (string, error) {
	if n.IsLeader() {
		ok, err := n.change(ctx, n.cfg.NodeID, m)
		return ok.Message, err
	}
	var ok wire.MembershipOK
	err := n.askLeader(ctx, wire.OpMembership, &m, wire.OpMembershipOK, &ok)
	var said *transport.PeerError
	switch {
	case err == nil, errors.Is(err, ErrNotLeader), errors.Is(err, ErrNoLeader):
	case !errors.As(err, &said): // the leader did not answer
		err = fmt.Errorf("%w: %w", ErrUnknownOutcome, err)
	case said.Code == wire.CodeNoQuorum: // the leader does not know itself
		err = fmt.Errorf("%w%s", ErrUnknownOutcome, strings.TrimPrefix(said.Text, ErrUnknownOutcome.Error()))
	default:
		err = errors.New(said.Text) // the same text as on the leader
	}
	return ok.Message, err
}

// changes maps an action to its function, which returns the index of the record that changed the members: 0 if none was
// needed, and for a transfer.
var changes = map[string]func(*Node, context.Context, wire.Membership) (message string, index uint64, err error){
	"join":     (*Node).join,
	"rejoin":   (*Node).demoteForRejoin,
	"remove":   (*Node).remove,
	"promote":  (*Node).makeVoter,
	"transfer": (*Node).transfer,
}

// change is the leader's side of Change; from is the node that asked.
func (n *Node) change(ctx context.Context, from uint32, m wire.Membership) (wire.MembershipOK, error) {
	f, ok := changes[m.Action]
	if !ok {
		return wire.MembershipOK{}, fmt.Errorf("%w: membership action %q: want join, remove, promote or transfer", ErrRefused, m.Action)
	}
	message, index, err := f(n, ctx, m)
	if err == nil && (m.Action == "transfer" || index != 0) { // nodes repeat requests for changes that were already made
		n.cfg.Handler.Changed(ctx, from, m)
	}
	return wire.MembershipOK{Message: message, Index: index, Term: n.readyTerm.Load()}, err
}

const changeTimeout = 10 * time.Second

// awaitCommit waits until a majority has stored a change of members, and returns the change's index. The library would
// wait without limit for a majority that answers but does not store the change. So after changeTimeout the outcome is
// unknown.
func (n *Node) awaitCommit(ctx context.Context, f hraft.IndexFuture) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, changeTimeout)
	defer cancel()
	if err := n.await(ctx, f); err != nil {
		return 0, translateError(err)
	}
	return f.Index(), nil
}

func (n *Node) findMember(id uint32) (hraft.Server, bool) {
	s := n.servers()
	i := slices.IndexFunc(s, func(s hraft.Server) bool { return s.ID == transport.ServerID(id) })
	if i < 0 {
		return hraft.Server{}, false
	}
	return s[i], true
}

// idAt returns the id of the member with an address; 0 when no member has it.
func (n *Node) idAt(addr string) uint32 {
	for _, s := range n.servers() {
		if s.Address == hraft.ServerAddress(addr) {
			return transport.NodeID(s.ID)
		}
	}
	return 0
}

// join adds a node as a nonvoter. A node whose role is voter is promoted once it has caught up.
func (n *Node) join(ctx context.Context, m wire.Membership) (string, uint64, error) {
	if m.NodeID == 0 || m.Addr == "" {
		return "", 0, fmt.Errorf("%w: join needs the node's id and its peer address", ErrRefused)
	}
	for _, s := range n.servers() {
		if s.Address == hraft.ServerAddress(m.Addr) && s.ID != transport.ServerID(m.NodeID) {
			return "", 0, fmt.Errorf("%w: address %s belongs to node %s; remove it first", ErrRefused, m.Addr, s.ID)
		}
	}
	s, known := n.findMember(m.NodeID)
	if known && string(s.Address) == m.Addr {
		n.setPromotion(m.NodeID, m.Role != RoleReadReplica && s.Suffrage != hraft.Voter)
		return fmt.Sprintf("node %d is a member already", m.NodeID), 0, nil
	}
	key, err := n.identifyNewcomer(m)
	if err == nil && known {
		err = n.checkMove(s, m, key)
	}
	if err != nil {
		return "", 0, err
	}
	var f hraft.IndexFuture
	if known && s.Suffrage == hraft.Voter { // a voter that moved keeps its vote
		f = n.raft.AddVoter(transport.ServerID(m.NodeID), hraft.ServerAddress(m.Addr), 0, changeTimeout)
	} else {
		f = n.raft.AddNonvoter(transport.ServerID(m.NodeID), hraft.ServerAddress(m.Addr), 0, changeTimeout)
	}
	index, err := n.awaitCommit(ctx, f)
	if err != nil {
		return "", 0, err
	}
	n.setPromotion(m.NodeID, m.Role != RoleReadReplica)
	return fmt.Sprintf("node %d joined", m.NodeID), index, nil
}

func (n *Node) setPromotion(id uint32, voter bool) {
	n.withPeer(id, func(p *peerState) { p.promote = voter })
}

// promote is the task that gives members that joined as voters their vote once they lag at most one batch behind the
// leader's log.
func (n *Node) promote() {
	for range pause.Ticks(n.ctx.Done(), 500*time.Millisecond) {
		if !n.IsLeader() {
			continue
		}
		n.correctOwn()
		n.mu.Lock()
		var due []uint32
		for id, p := range n.peers {
			if p.promote && p.lastLog+promotionLag >= n.raft.LastIndex() && time.Since(p.lastSeen) < n.cfg.Election {
				due = append(due, id)
			}
		}
		n.mu.Unlock()
		for _, id := range due {
			if _, _, err := n.makeVoter(n.ctx, wire.Membership{NodeID: id}); err != nil {
				n.log.Warn("member not promoted", "peer", id, "err", err)
			}
		}
	}
}

// correctOwn updates the leader's own address in the configuration when it advertises another one. Other members do
// not need this: the leader dials them, and they prove their new address (see join).
func (n *Node) correctOwn() {
	self, ok := n.findMember(n.cfg.NodeID)
	if !ok || !n.listens() || string(self.Address) == n.cfg.Advertise || self.Suffrage != hraft.Voter {
		return
	}
	if _, err := n.awaitCommit(n.ctx, n.raft.AddVoter(self.ID, hraft.ServerAddress(n.cfg.Advertise), 0, changeTimeout)); err != nil {
		n.log.Warn("own address not corrected", "addr", n.cfg.Advertise, "err", err)
		return
	}
	n.log.Info("own address corrected", "was", self.Address, "addr", n.cfg.Advertise)
}

func (n *Node) makeVoter(ctx context.Context, m wire.Membership) (string, uint64, error) {
	s, ok := n.findMember(m.NodeID)
	if !ok {
		return "", 0, fmt.Errorf("%w: node %d is not a member", ErrRefused, m.NodeID)
	}
	if s.Suffrage == hraft.Voter {
		return fmt.Sprintf("node %d is a voter already", m.NodeID), 0, nil
	}
	later, err := n.checkPromotion(s, m)
	if err == nil && later {
		n.setPromotion(m.NodeID, true)
		return fmt.Sprintf("node %d becomes a voter when it has caught up", m.NodeID), 0, nil
	}
	if err == nil {
		err = n.checkMajority(append(n.voters(), s), m)
	}
	if err != nil {
		return "", 0, err
	}
	index, err := n.awaitCommit(ctx, n.raft.AddVoter(s.ID, s.Address, 0, changeTimeout))
	if err != nil {
		return "", 0, err
	}
	n.setPromotion(m.NodeID, false)
	return fmt.Sprintf("node %d is a voter", m.NodeID), index, nil
}

func (n *Node) remove(ctx context.Context, m wire.Membership) (string, uint64, error) {
	s, ok := n.findMember(m.NodeID)
	if !ok {
		return "", 0, fmt.Errorf("%w: node %d is not a member", ErrRefused, m.NodeID)
	}
	if s.Suffrage == hraft.Voter {
		if err := n.checkMajority(n.votersWithout(m.NodeID), m); err != nil {
			return "", 0, err
		}
	}
	n.setPromotion(m.NodeID, false)
	index, err := n.awaitCommit(ctx, n.raft.RemoveServer(transport.ServerID(m.NodeID), 0, changeTimeout))
	if err != nil {
		return "", 0, err
	}
	return fmt.Sprintf("node %d removed", m.NodeID), index, nil
}

// Member is a member of the cluster as this node sees it.
type Member struct {
	ID       uint32
	Addr     string
	Voter    bool
	LastLog  uint64    // on the leader: the last record that the member is known to have
	LastSeen time.Time // on the leader: its last answer; zero for never
}

func member(s hraft.Server) Member {
	return Member{ID: transport.NodeID(s.ID), Addr: dialAddress(string(s.Address)), Voter: s.Suffrage == hraft.Voter}
}

// Status reports this node's view of consensus.
type Status struct {
	State         string // Leader, Follower, Candidate
	Term          uint64
	LastIndex     uint64
	CommitIndex   uint64
	AppliedIndex  uint64
	SnapshotIndex uint64
	LastContact   time.Time // with the leader
	Amnesia       bool
	Members       []Member
}

// Status returns this node's view of consensus.
func (n *Node) Status() Status {
	s := Status{State: n.raft.State().String(), Term: n.Term(), LastIndex: n.raft.LastIndex(), CommitIndex: n.raft.CommitIndex(),
		AppliedIndex: n.raft.AppliedIndex(), LastContact: n.raft.LastContact(), Amnesia: n.stateless()}
	s.SnapshotIndex, _ = strconv.ParseUint(n.raft.Stats()["last_snapshot_index"], 10, 64) // the library reports it nowhere else
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, srv := range n.servers() {
		m := member(srv)
		if p := n.peers[m.ID]; p != nil {
			m.LastLog, m.LastSeen = p.lastLog, p.lastSeen
		}
		s.Members = append(s.Members, m)
	}
	return s
}

// Ask sends one request to another member, whose Handler answers it (Handler.Peer).
func (n *Node) Ask(ctx context.Context, addr string, op wire.Op, m wire.Message, want wire.Op, answer wire.Message) error {
	return n.transport.Pool.Call(ctx, addr, transport.ForAsk, op, m, want, answer)
}
