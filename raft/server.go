package raft

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// What the listener bears.
const (
	maxInbound   = 1024             // connections; more are closed unanswered
	earlyTimeout = 10 * time.Second // to say hello
)

// server is the answering side of the peer port.
type server struct {
	n  *Node
	ln net.Listener

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

func (s *server) serve() {
	for {
		nc, err := s.ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.n.log.Warn("accept", "surface", "peer", "err", err)
			}
			return
		}
		if !s.add(nc) {
			nc.Close()
			continue
		}
		s.n.tasks.Go(func() {
			defer s.remove(nc)
			nc := nc
			if s.n.cfg.ServerTLS != nil {
				if nc = s.handshake(nc); nc == nil {
					return
				}
			}
			in := &inbound{n: s.n, nc: nc, in: bufio.NewReaderSize(nc, earlyBuffer)}
			in.r = wire.NewReader(in.in, earlyFrame)
			in.run()
		})
	}
}

func (s *server) add(nc net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxInbound {
		return false
	}
	s.conns[nc] = struct{}{}
	return true
}

func (s *server) remove(nc net.Conn) {
	s.mu.Lock()
	delete(s.conns, nc)
	s.mu.Unlock()
	nc.Close()
}

func (s *server) close() {
	s.mu.Lock()
	s.closed = true
	for nc := range s.conns {
		nc.Close()
	}
	s.mu.Unlock()
	s.ln.Close()
}

// inbound is one connection of a peer: frames are answered one after the other.
type inbound struct {
	n    *Node
	nc   net.Conn
	in   *bufio.Reader
	r    *wire.Reader
	sums bool // frames have checksums
	peer wire.ClusterHello
	buf  []byte
}

func (c *inbound) run() {
	if err := c.nc.SetReadDeadline(time.Now().Add(earlyTimeout)); err != nil {
		return
	}
	f, err := c.r.Next()
	if err != nil {
		c.refuse(err)
		return
	}
	if !c.greet(f) {
		return
	}
	// A follower that has just come back is sent records before the first heartbeat.
	if c.peer.Raft != nil && (c.peer.Raft.Purpose == forHeartbeat || c.peer.Raft.Purpose == forAppend) {
		defer c.n.left(c.peer.NodeID)
	}
	c.r = wire.NewReader(bufio.NewReaderSize(c.in, bufferSize), wire.MaxLength)
	if c.sums = checksummed(c.peer.Raft); c.sums {
		c.r.Checksums()
	}
	if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	for {
		f, err := c.r.Next()
		damaged := c.n.damaged(err, c.peer.NodeID, c.nc.RemoteAddr())
		if err != nil {
			c.refuse(err)
		} else {
			err = c.answer(f)
		}
		if err != nil && !damaged { // behind a damaged frame there is a next one
			return
		}
	}
}

// refuse answers a frame that has no boundary to go on from; other ends of a connection are nobody's fault.
func (c *inbound) refuse(err error) {
	var fe *wire.FrameError
	if errors.As(err, &fe) {
		_ = c.fail(wire.Frame{}, wire.CodeInvalidPayload, "%s", fe.Text)
	}
}

func (c *inbound) reply(to wire.Frame, op wire.Op, m wire.Message) (err error) {
	if c.buf, err = wire.AppendPack(c.buf[:0], op, to.Stream, m, to.JSON()); err != nil {
		return err
	}
	return c.write(c.buf)
}

func (c *inbound) write(b []byte) error {
	if c.sums {
		b = wire.AppendChecksum(b)
	}
	if err := c.nc.SetWriteDeadline(time.Now().Add(rpcTimeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(b)
	if cap(c.buf) > 1<<20 {
		c.buf = nil
	}
	return err
}

func (c *inbound) fail(to wire.Frame, code wire.Code, format string, args ...any) error {
	return c.reply(to, wire.OpError, &wire.Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

// greet reads the hello. It changes nothing but this connection.
func (c *inbound) greet(f wire.Frame) bool {
	if f.Op != wire.OpClusterHello {
		_ = c.fail(f, wire.CodeInvalidPayload, "expected ClusterHello")
		return false
	}
	if err := wire.Unpack(f, &c.peer, wire.MaxPlainEarly); err != nil {
		_ = c.fail(f, wire.CodeInvalidPayload, "%v", err)
		return false
	}
	if checksummed(c.peer.Raft) && !c.peer.Checked() {
		c.n.damaged(wire.ErrChecksum, c.peer.NodeID, c.nc.RemoteAddr())
		_ = c.fail(f, wire.CodeInvalidPayload, "%s", wire.ErrChecksum.Text)
		return false
	}
	known := c.n.cfg.knows(c.peer.ClusterSecret)
	c.peer.ClusterSecret = ""
	if !known {
		c.n.log.Warn("peer refused: cluster secret mismatch", "peer", c.peer.NodeID, "addr", c.nc.RemoteAddr())
		_ = c.fail(f, wire.CodeSecretMismatch, "cluster secret mismatch")
		return false
	}
	if v := max(c.peer.ProtocolVersion, 1); v != wire.Version {
		_ = c.fail(f, wire.CodeInvalidPayload, "protocol version mismatch: peer=%d, ours=%d", v, wire.Version)
		return false
	}
	if err := identified(c.nc, c.peer.NodeID); err != nil {
		c.n.log.Warn("peer refused: its certificate is another's", "peer", c.peer.NodeID, "addr", c.nc.RemoteAddr(), "err", err)
		_ = c.fail(f, wire.CodeSecretMismatch, "%v", err)
		return false
	}
	if err := c.n.sameCluster(c.peer.Raft); err != nil {
		c.n.log.Warn("peer refused", "peer", c.peer.NodeID, "addr", c.nc.RemoteAddr(), "err", err)
		_ = c.fail(f, wire.CodeInvalidPayload, "%v", err)
		return false
	}
	c.n.told(c.peer.NodeID, c.peer.Raft)
	c.n.reminded(c.peer.NodeID, c.peer.Raft)
	ok := &wire.ClusterHelloOK{NodeID: c.n.cfg.NodeID, Role: c.n.cfg.Role, CurrentTerm: c.n.Term(), ProtocolVersion: wire.Version}
	if id, _, known := c.n.Leader(); known {
		ok.LeaderID = &id
	}
	if c.peer.Raft != nil {
		ok.Raft = c.n.hello(c.peer.NodeID, c.peer.Raft.Purpose).Raft
		c.n.prove(ok.Raft, c.peer.Raft.Nonce)
		if checksummed(c.peer.Raft) {
			ok.SetChecksum()
		}
	}
	return c.reply(f, wire.OpClusterHelloOK, ok) == nil
}

// knows compares a secret with all that are valid, by their hashes: neither length nor content shows in the time it takes.
// An empty secret is none, on either side.
func (c *Config) knows(secret string) bool {
	got, same := sha256.Sum256([]byte(secret)), 0
	for _, s := range append([]string{c.Secret}, c.Others...) {
		if s == "" {
			continue
		}
		want := sha256.Sum256([]byte(s))
		same |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return same == 1
}

// checksummed says whether a peer ends its frames with checksums: members do, foreign peers do not.
func checksummed(h *wire.RaftHello) bool { return h != nil && h.Checksum != 0 }

// whole refuses a member's answer to a hello that was changed on its way, and one that has no checksum.
func (n *Node) whole(h *wire.ClusterHelloOK, addr net.Addr) error {
	switch {
	case h.Checked():
		return nil
	case h.Raft.Checksum == 0:
		return fmt.Errorf("node %d (%s) does not send checksums: upgrade it", h.NodeID, h.Raft.Version)
	default:
		n.damaged(wire.ErrChecksum, h.NodeID, addr)
		return wire.ErrChecksum
	}
}

// damaged says whether a frame was changed on its way, counts it, and names whose it was.
func (n *Node) damaged(err error, peer uint32, addr net.Addr) bool {
	if !errors.Is(err, wire.ErrChecksum) {
		return false
	}
	n.damagedFrames.Add(1)
	n.log.Warn("a frame of a peer was changed on its way and is refused", "peer", peer, "addr", addr)
	return true
}

// DamagedFrames is how many frames of peers came with bytes that were not those sent.
func (n *Node) DamagedFrames() uint64 { return n.damagedFrames.Load() }

type rpc func(*inbound, context.Context, wire.Frame) error

// rpcs are the opcodes answered here; the rest is the Handler's.
var rpcs = map[wire.Op]rpc{
	wire.OpPing:          (*inbound).ping,
	wire.OpOplogPush:     (*inbound).push,
	wire.OpHeartbeat:     (*inbound).heartbeat,
	wire.OpRequestVote:   (*inbound).vote,
	wire.OpSnapshotBegin: (*inbound).snapshot,
	wire.OpTimeoutNow:    (*inbound).timeoutNow,
	wire.OpForward:       (*inbound).forward,
	wire.OpReadIndex:     (*inbound).readIndex,
	wire.OpMembership:    (*inbound).membership,
}

// answer serves one frame. An error ends the connection.
func (c *inbound) answer(f wire.Frame) error {
	h, ok := rpcs[f.Op]
	if !ok {
		return c.other(f)
	}
	err := h(c, c.n.ctx, f)
	if wire.IsPayload(err) {
		return c.fail(f, wire.CodeInvalidPayload, "%v", err)
	}
	return err
}

func (c *inbound) other(f wire.Frame) error {
	if !f.Op.Known() {
		return c.fail(f, wire.CodeInvalidPayload, "unknown opcode: 0x%02X", uint8(f.Op))
	}
	out, err := c.n.cfg.Handler.Peer(c.n.ctx, f)
	if err != nil {
		return err
	}
	return c.write(wire.AppendFrame(nil, out))
}

func (c *inbound) ping(_ context.Context, f wire.Frame) error {
	return c.write(wire.AppendFrame(nil, wire.Empty(wire.OpPong, f.Stream)))
}
