// Package peertest lets a test act as a member of a cluster: a hostile one, or one with wrong data in memory.
package peertest

import (
	"context"
	"time"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// A Peer connects to the members of a cluster under a member's id, and sends the messages that a test gives it.
type Peer struct {
	network *transport.Transport
	id      uint32
	addr    string
	role    string
	secret  string
	raft    wire.RaftHello
}

// NewPeer returns a peer. Its hello has the Raft fields in addition to the options.
func NewPeer(o transport.Options, hello wire.RaftHello) *Peer {
	p := &Peer{id: o.NodeID, addr: o.Advertise, role: "voter", secret: o.Secret, raft: hello}
	p.network = transport.New(o, peerHost{Peer: p}, nil)
	return p
}

// Close closes its connections.
func (p *Peer) Close() {
	_ = p.network.Close() // nothing was written
	p.network.Wait()
}

// Append sends a request to append records, in the role of a leader.
func (p *Peer) Append(ctx context.Context, addr string, a wire.RaftAppend) (*wire.RaftAppendReply, error) {
	a.Leader = p.id
	var ok wire.OplogPushOK
	err := p.network.Pool.Call(ctx, addr, transport.ForAppend, wire.OpOplogPush,
		&wire.OplogPush{Database: "default", Ops: []wire.OplogEntry{}, Raft: &a}, wire.OpOplogPushOK, &ok)
	return ok.Raft, err
}

// Vote requests a vote.
func (p *Peer) Vote(ctx context.Context, addr string, v wire.RaftVote) (*wire.RaftVoteReply, error) {
	v.Candidate = p.id
	ask := &wire.RequestVote{Term: v.Term, CandidateID: p.id, LastLogHLC: []byte{}, Raft: &v}
	var denied, granted wire.Vote
	if err := p.network.Pool.Call(ctx, addr, transport.ForHeartbeat, wire.OpRequestVote, ask, wire.OpVoteDenied, &denied); err == nil {
		return denied.Raft, nil
	}
	err := p.network.Pool.Call(ctx, addr, transport.ForHeartbeat, wire.OpRequestVote, ask, wire.OpVoteGranted, &granted) // asked again, it is given again
	return granted.Raft, err
}

// BreakSnapshot begins to send a snapshot, and ends the connection in the middle of it.
func (p *Peer) BreakSnapshot(ctx context.Context, addr string, begin wire.SnapshotBegin) error {
	c, err := p.network.Pool.Dial(ctx, addr, transport.ForSnapshot)
	if err != nil {
		return err
	}
	defer p.network.Pool.Drop(c)
	begin.Leader = p.id
	return c.Send(time.Now().Add(transport.RPCTimeout), wire.OpSnapshotBegin, &begin)
}

// Compare requests a member's description of its record at an index.
func (p *Peer) Compare(ctx context.Context, id uint32, addr string, index uint64) (wire.CompareOK, error) {
	return p.network.Compare(ctx, id, addr, index)
}

// Hello performs the handshake with a member on a new connection.
func (p *Peer) Hello(ctx context.Context, addr, purpose string) error {
	c, err := p.network.Pool.Dial(ctx, addr, purpose)
	if err == nil {
		p.network.Pool.Drop(c)
	}
	return err
}

// peerHost is the host of a peer. It answers no requests.
type peerHost struct {
	transport.Host
	*Peer
}

func (h peerHost) Hello(_ uint32, _, purpose string) (*wire.ClusterHello, error) {
	raft := h.raft
	raft.Purpose = purpose
	return &wire.ClusterHello{NodeID: h.id, Role: h.role, AdvertiseAddr: h.addr, ClusterSecret: h.secret,
		ProtocolVersion: wire.Version, Raft: &raft}, nil
}

func (peerHost) CheckPeer(uint32, string, *wire.RaftHello) (wire.Code, error) { return 0, nil }
