package transport

import (
	"fmt"
	"net"
	"time"

	"github.com/cairndb/cairn/wire"
)

const (
	bufferSize  = 64 << 10
	helloBuffer = 4 << 10  // read buffer of a connection that has not proved the secret
	maxHello    = 16 << 10 // longest CLUSTER_HELLO
)

// Conn is a connection to a peer after the handshake. One goroutine at a time sends, and one reads.
type Conn struct {
	net.Conn
	Hello wire.ClusterHelloOK // the peer's answer to the hello
	t     *Transport
	key   poolKey
	r     *wire.Reader
	sums  bool // frames have checksums
	buf   []byte
}

// Send sends a message.
func (c *Conn) Send(deadline time.Time, op wire.Op, m wire.Message) error {
	b, err := c.frame(0, op, m)
	if err != nil {
		return err
	}
	return c.write(deadline, b)
}

// frame encodes a message. The bytes are valid until the next one.
func (c *Conn) frame(stream uint32, op wire.Op, m wire.Message) (_ []byte, err error) {
	if cap(c.buf) > 1<<20 {
		c.buf = nil // release the buffer of a large batch
	}
	if c.buf, err = wire.AppendPack(c.buf[:0], op, stream, m, false); err != nil {
		return nil, err
	}
	if c.sums {
		c.buf = wire.AppendChecksum(c.buf)
	}
	return c.buf, nil
}

func (c *Conn) write(deadline time.Time, b []byte) error {
	if err := c.SetWriteDeadline(deadline); err != nil {
		return err
	}
	_, err := c.Write(b)
	return err
}

// readAnswer decodes an answer.
func readAnswer(f wire.Frame, want wire.Op, answer wire.Message) error {
	if f.Op != want {
		return fmt.Errorf("answer %s, want %s", f.Op, want)
	}
	return wire.Unpack(f, answer, wire.MaxPlainPeer)
}

// errorIn returns the error in an ERROR frame; nil for any other frame.
func errorIn(f wire.Frame) error {
	if f.Op != wire.OpError && f.Op != wire.OpReadonlyError {
		return nil
	}
	var e wire.Error
	if err := wire.Unpack(f, &e, wire.MaxPlainPeer); err != nil {
		return err
	}
	return &PeerError{Code: e.Code, Text: e.Message}
}

// Next reads a frame; an ERROR frame becomes an error.
func (c *Conn) Next(deadline time.Time) (wire.Frame, error) {
	f, err := c.read(deadline)
	if err != nil {
		return f, err
	}
	return f, errorIn(f)
}

func (c *Conn) read(deadline time.Time) (wire.Frame, error) {
	if err := c.SetReadDeadline(deadline); err != nil {
		return wire.Frame{}, err
	}
	f, err := c.r.Next()
	if err != nil {
		c.t.damaged(err, c.Hello.NodeID, c.RemoteAddr())
		return f, err
	}
	return f, nil
}

// A PeerError is an error that a peer answered.
type PeerError struct {
	Code wire.Code
	Text string
}

func (e *PeerError) Error() string { return fmt.Sprintf("peer: %s (%d)", e.Text, e.Code) }
