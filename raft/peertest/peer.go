// Package peertest is a member of a cluster that tests play: a hostile one, or one whose memory is wrong.
package peertest

import (
	"context"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A Peer says hello to the members of a cluster as one of them, and sends what a test gives it.
type Peer struct {
	network *transport.Transport
	id      uint32
	role    string
	secret  string
	raft    wire.RaftHello
}

// NewPeer makes a peer. Its hello carries what Raft says beside the options.
func NewPeer(o transport.Options, hello wire.RaftHello) *Peer {
	p := &Peer{id: o.NodeID, role: "voter", secret: o.Secret, raft: hello}
	p.network = transport.New(o, peerHost{Peer: p}, nil)
	return p
}

// Close ends its connections.
func (p *Peer) Close() {
	_ = p.network.Close() // nothing is written
	p.network.Wait()
}

// Append sends a request of a leader, which the peer says it is.
func (p *Peer) Append(ctx context.Context, addr string, a wire.RaftAppend) (*wire.RaftAppendReply, error) {
	a.Leader = p.id
	var ok wire.OplogPushOK
	err := p.network.Pool.Call(ctx, addr, transport.ForAppend, wire.OpOplogPush, &wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{}, Raft: &a}, wire.OpOplogPushOK, &ok)
	return ok.Raft, err
}

// Vote asks for a vote.
func (p *Peer) Vote(ctx context.Context, addr string, v wire.RaftVote) (*wire.RaftVoteReply, error) {
	v.Candidate = p.id
	var ok wire.Vote
	err := p.network.Pool.Call(ctx, addr, transport.ForHeartbeat, wire.OpRequestVote, &wire.RequestVote{Term: v.Term, CandidateID: p.id, LastLogHLC: []byte{}, Raft: &v}, wire.OpVoteDenied, &ok)
	return ok.Raft, err
}

// Compare asks a member what it holds.
func (p *Peer) Compare(ctx context.Context, id uint32, addr string, index uint64) (wire.CompareOK, error) {
	return p.network.Compare(ctx, id, addr, index)
}

// Hello says hello to a member anew, as a connection for another purpose does.
func (p *Peer) Hello(ctx context.Context, addr string) error {
	c, err := p.network.Pool.Dial(ctx, addr, transport.ForAsk)
	if err == nil {
		p.network.Pool.Drop(c)
	}
	return err
}

// peerHost is the host of a peer, which answers nobody.
type peerHost struct {
	transport.Host
	*Peer
}

func (h peerHost) Hello(_, purpose string) *wire.ClusterHello {
	raft := h.raft
	raft.Purpose = purpose
	return &wire.ClusterHello{NodeID: h.id, Role: h.role, ClusterSecret: h.secret, ProtocolVersion: wire.Version, Raft: &raft}
}

func (peerHost) CheckPeer(uint32, *wire.RaftHello) error { return nil }
