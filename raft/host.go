package raft

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	hraft "github.com/hashicorp/raft"

	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// host implements transport.Host for a Node.
type host struct{ n *Node }

// Hello implements transport.Host. It rejects an answer from another node than the member with this address: that
// node could otherwise relay the handshake between two members.
func (h host) Hello(answers uint32, addr, purpose string) (*wire.ClusterHello, error) {
	id := h.n.idAt(addr)
	if id != 0 && id != answers {
		return nil, fmt.Errorf("node %d answers, want node %d", answers, id)
	}
	return h.n.hello(id, purpose), nil
}

// HelloOK implements transport.Host.
func (h host) HelloOK(peer *wire.ClusterHello) *wire.ClusterHelloOK {
	ok := &wire.ClusterHelloOK{NodeID: h.n.cfg.NodeID, Role: h.n.cfg.Role, CurrentTerm: h.n.Term(), ProtocolVersion: wire.Version}
	if id, _, known := h.n.Leader(); known {
		ok.LeaderID = &id
	}
	if peer.Raft != nil {
		ok.Raft = h.n.hello(peer.NodeID, peer.Raft.Purpose).Raft
	}
	return ok
}

// CheckPeer implements transport.Host.
func (h host) CheckPeer(peer uint32, dialed string, hello *wire.RaftHello) (wire.Code, error) {
	if err := h.n.checkCompatible(hello); err != nil {
		return wire.CodeInvalidPayload, err
	}
	if code, err := h.n.checkKey(peer, dialed, hello); err != nil {
		return code, err
	}
	h.n.noteHello(peer, hello)
	h.n.checkRolledBack(peer, hello)
	h.n.compareCommitted(peer, hello)
	return 0, nil
}

// ConnectionLost implements transport.Host.
func (h host) ConnectionLost(peer uint32) { h.n.connectionLost(peer) }

// Serve implements transport.Host.
func (h host) Serve(ctx context.Context, c *transport.Inbound, f wire.Frame) error {
	in := &inbound{Inbound: c, n: h.n}
	if serve, ok := rpcs[f.Op]; ok {
		return serve(in, ctx, f)
	}
	return in.other(ctx, f)
}

// LeaderFields implements transport.Host.
func (h host) LeaderFields(id uint32, a *hraft.AppendEntriesRequest) *wire.RaftAppend {
	r := &wire.RaftAppend{Commit: h.n.logs.CapSynced(a.LeaderCommitIndex), Acknowledged: h.n.acknowledged()}
	h.n.withPeer(id, func(p *peerState) { r.Heard = p.uptimeMicros })
	if transport.IsHeartbeat(a) {
		r.Clock, r.Last = transport.Micros(h.n.Clock().Time), h.n.acknowledgedPositions()
	}
	return r
}

// Clocks implements transport.Host.
func (h host) Clocks(id uint32, r *wire.RaftAppendReply, took time.Duration) {
	h.n.clocks.notePeer(id, transport.FromMicros(r.Clock), took)
	h.n.withPeer(id, func(p *peerState) { p.uptimeMicros = r.Mark })
}

// Answered implements transport.Host.
func (h host) Answered(id uint32, r *wire.RaftAppendReply) {
	h.n.notePeerAnswer(id, r.LastLog)
	if p := r.Acked; p != nil {
		h.n.acks.Note(id, toPosition(p))
	}
}

// WaitAnswer implements transport.Host.
func (h host) WaitAnswer(ctx context.Context, id uint32) { h.n.waitPeerAnswer(ctx, id) }

// MayAskVotes implements transport.Host. A member without state may already have voted in this term, so it must not
// vote for itself.
func (h host) MayAskVotes() error {
	if h.n.stateless() {
		return errors.New("this node has no state and asks for no votes")
	}
	return nil
}

type rpc func(*inbound, context.Context, wire.Frame) error

// decoded wraps a handler of decoded messages as a handler of frames.
func decoded[M any, P interface {
	*M
	wire.Message
}](answer func(*inbound, context.Context, wire.Frame, P) error) rpc {
	return func(c *inbound, ctx context.Context, f wire.Frame) error {
		m := P(new(M))
		if err := c.unpack(ctx, f, m); err != nil {
			return err
		}
		return answer(c, ctx, f, m)
	}
}

// rpcs maps the opcodes that this package answers; the Handler answers the others.
var rpcs = map[wire.Op]rpc{
	wire.OpPing:          (*inbound).ping,
	wire.OpOplogPush:     decoded((*inbound).push),
	wire.OpHeartbeat:     decoded((*inbound).heartbeat),
	wire.OpRequestVote:   decoded((*inbound).vote),
	wire.OpSnapshotBegin: decoded((*inbound).snapshot),
	wire.OpTimeoutNow:    decoded((*inbound).timeoutNow),
	wire.OpForward:       decoded((*inbound).forward),
	wire.OpReadIndex:     (*inbound).readIndex,
	wire.OpMembership:    decoded((*inbound).membership),
	wire.OpCompare:       decoded((*inbound).compare),
}

// inbound answers the frames of one peer's connection.
type inbound struct {
	*transport.Inbound
	n *Node
}

func (c *inbound) other(ctx context.Context, f wire.Frame) error {
	if !f.Op.Known() {
		return c.Fail(f, wire.CodeInvalidPayload, "unknown opcode: 0x%02X", uint8(f.Op))
	}
	out, err := c.n.cfg.Handler.Peer(ctx, f)
	if err != nil {
		return err
	}
	return c.Write(wire.AppendFrame(nil, out))
}

func (c *inbound) ping(_ context.Context, f wire.Frame) error {
	return c.Write(wire.AppendFrame(nil, wire.Empty(wire.OpPong, f.Stream)))
}

// DamagedFrames counts the frames of peers that arrived damaged.
func (n *Node) DamagedFrames() uint64 { return n.transport.DamagedFrames() }

// newTransport returns the member's transport; ln is its peer port, or nil.
func (n *Node) newTransport(ln net.Listener) *transport.Transport {
	return transport.New(transport.Options{NodeID: n.cfg.NodeID, Advertise: n.cfg.Advertise, Secret: n.cfg.Secret, Others: n.cfg.Others,
		Identity: n.cfg.Identity, Election: n.cfg.Election, Dial: n.cfg.Dial, ClientTLS: n.cfg.ClientTLS,
		ServerTLS: n.cfg.ServerTLS, Log: n.log}, host{n}, ln)
}
