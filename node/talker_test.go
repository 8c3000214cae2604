package node_test

import (
	"bufio"
	"net"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// A rawClient exchanges frames with a node without a client library, so that it sees each answer as it arrives.
type rawClient struct {
	t      testing.TB
	nc     net.Conn
	in     *wire.Reader
	stream uint32
}

func newRawClient(t testing.TB, addr string) *rawClient {
	t.Helper()
	k := dialRawClient(t, addr)
	if f := k.ask(wire.OpAuth, &wire.Auth{Token: secret}); f.Op != wire.OpAuthOK {
		t.Fatalf("auth: %s", f)
	}
	return k
}

// dialRawClient connects without sending a token.
func dialRawClient(t testing.TB, addr string) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &rawClient{t: t, nc: nc, in: wire.NewReader(bufio.NewReader(nc), wire.MaxPlainClient)}
}

// send sends a request on its own stream; nil means no payload.
func (k *rawClient) send(op wire.Op, m wire.Message) uint32 {
	k.t.Helper()
	k.stream++
	b := wire.AppendFrame(nil, wire.Empty(op, k.stream))
	if m != nil {
		var err error
		if b, err = wire.AppendPack(nil, op, k.stream, m, false); err != nil {
			k.t.Fatal(err)
		}
	}
	if _, err := k.nc.Write(b); err != nil {
		k.t.Fatal(err)
	}
	return k.stream
}

// next returns the next frame of any stream.
func (k *rawClient) next() wire.Frame {
	k.t.Helper()
	if err := k.nc.SetReadDeadline(time.Now().Add(suite.Patience)); err != nil {
		k.t.Fatal(err)
	}
	f, err := k.in.Next()
	if err != nil {
		k.t.Fatal(err)
	}
	return f
}

// ask sends a request and returns the next frame of its stream.
func (k *rawClient) ask(op wire.Op, m wire.Message) wire.Frame {
	k.t.Helper()
	at := k.send(op, m)
	for {
		if f := k.next(); f.Stream == at {
			return f
		}
	}
}

// event reads an EVENT frame.
func (k *rawClient) event() (stream uint32, e wire.Event) {
	k.t.Helper()
	f := k.next()
	if f.Op != wire.OpEvent {
		k.t.Fatalf("got %s", f)
	}
	if err := wire.Unpack(f, &e, wire.MaxPlainClient); err != nil {
		k.t.Fatal(err)
	}
	return f.Stream, e
}
