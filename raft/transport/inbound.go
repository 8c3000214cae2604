package transport

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/cairndb/cairn/wire"
)

// Inbound is one accepted connection. It answers frames in order, except requests of members with their own stream,
// which it answers concurrently.
type Inbound struct {
	Peer wire.ClusterHello // the peer's hello
	t    *Transport
	nc   net.Conn
	in   *bufio.Reader
	r    *wire.Reader
	sums bool // frames have checksums

	admit func(as peerIdentity) bool // counts the connection as a peer's; false if the limit is reached

	exchanges sync.WaitGroup // requests that run concurrently
	slots     chan struct{}  // holds a token for each of them

	writing sync.Mutex // held while a frame is written
	buf     []byte
}

// maxExchanges bounds the requests of one connection that run concurrently. The next request waits in the socket.
const maxExchanges = 256

// concurrent reports whether a request may run alongside others. A snapshot may not: its chunks are in the frames
// after it.
func (c *Inbound) concurrent(f wire.Frame) bool {
	return f.Stream != 0 && c.Peer.Raft != nil && f.Op != wire.OpSnapshotBegin
}

// answer passes a frame to the host. An error ends the connection.
func (c *Inbound) answer(f wire.Frame) error {
	err := c.t.host.Serve(c.t.ctx, c, f)
	if wire.IsPayload(err) {
		err = c.Fail(f, wire.CodeInvalidPayload, "%v", err)
	}
	return err
}

// answerConcurrently answers a request in its own goroutine, once fewer than maxExchanges are running.
func (c *Inbound) answerConcurrently(f wire.Frame) {
	c.slots <- struct{}{}
	c.exchanges.Go(func() {
		defer func() { <-c.slots }()
		if err := c.answer(f); err != nil {
			c.nc.Close() // ends the reader too
		}
	})
}

func (c *Inbound) run() {
	f, err := c.r.Next() // the server has set a deadline
	if err != nil {
		c.rejectFrame(err)
		return
	}
	if !c.handleHello(f) {
		return
	}
	// A follower that has just come back may get records before the first heartbeat.
	if c.Peer.Raft != nil && (c.Peer.Raft.Purpose == ForHeartbeat || c.Peer.Raft.Purpose == ForAppend) {
		defer c.t.host.ConnectionLost(c.Peer.NodeID)
	}
	c.r = wire.NewReader(bufio.NewReaderSize(c.in, bufferSize), wire.MaxLength)
	if c.sums = checksummed(c.Peer.Raft); c.sums {
		c.r.Checksums()
	}
	if err := c.nc.SetReadDeadline(time.Time{}); err != nil {
		return
	}
	defer func() {
		c.nc.Close() // the peer gets no more answers
		c.exchanges.Wait()
	}()
	for {
		f, err := c.r.Next()
		damaged := c.t.damaged(err, c.Peer.NodeID, c.nc.RemoteAddr())
		switch {
		case err != nil:
			c.rejectFrame(err)
		case c.concurrent(f):
			c.answerConcurrently(f)
		default:
			err = c.answer(f)
		}
		if err != nil && !damaged { // after a damaged frame the next one can still be read
			return
		}
	}
}

// rejectFrame answers a frame that cannot be read; the connection ends after it. It sends nothing if the connection
// has ended already.
func (c *Inbound) rejectFrame(err error) {
	if fe, ok := errors.AsType[*wire.FrameError](err); ok {
		_ = c.Fail(wire.Frame{}, wire.CodeInvalidPayload, "%s", fe.Text)
	}
}

func (c *Inbound) Reply(to wire.Frame, op wire.Op, m wire.Message) (err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if c.buf, err = wire.AppendPack(c.buf[:0], op, to.Stream, m, to.JSON()); err != nil {
		return err
	}
	return c.write(c.buf)
}

// Write sends an encoded frame.
func (c *Inbound) Write(b []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.write(b)
}

// write sends bytes. The caller holds writing.
func (c *Inbound) write(b []byte) error {
	if c.sums {
		b = wire.AppendChecksum(b)
	}
	if err := c.nc.SetWriteDeadline(time.Now().Add(RPCTimeout)); err != nil {
		return err
	}
	_, err := c.nc.Write(b)
	if cap(c.buf) > 1<<20 {
		c.buf = nil
	}
	return err
}

func (c *Inbound) Fail(to wire.Frame, code wire.Code, format string, args ...any) error {
	return c.Reply(to, wire.OpError, &wire.Error{Code: code, Message: fmt.Sprintf(format, args...)})
}

// checksummed reports whether a peer's frames end with checksums: members' frames do, foreign peers' do not.
func checksummed(h *wire.RaftHello) bool { return h != nil && h.Checksum != 0 }

// checkAnswer rejects a member's answer to a hello if it has no checksum, or a wrong one.
func (t *Transport) checkAnswer(h *wire.ClusterHelloOK, addr net.Addr) error {
	switch {
	case h.Checked():
		return nil
	case h.Raft.Checksum == 0:
		return fmt.Errorf("node %d (%s) does not send checksums: upgrade it", h.NodeID, h.Raft.Version)
	default:
		t.damaged(wire.ErrChecksum, h.NodeID, addr)
		return wire.ErrChecksum
	}
}

// damaged reports whether err means that a frame was changed in transit. If so, it counts and logs the frame.
func (t *Transport) damaged(err error, peer uint32, addr net.Addr) bool {
	if !errors.Is(err, wire.ErrChecksum) {
		return false
	}
	t.damagedFrames.Add(1)
	t.o.Log.Warn("frame of a peer refused: checksum mismatch", "peer", peer, "addr", addr)
	return true
}

// DamagedFrames counts the frames of peers that arrived damaged.
func (t *Transport) DamagedFrames() uint64 { return t.damagedFrames.Load() }
