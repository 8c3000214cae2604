package node_test

import (
	"bufio"
	"net"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// talker exchanges frames with a node without a client library, so it sees each answer as it arrives.
type talker struct {
	t      testing.TB
	nc     net.Conn
	in     *wire.Reader
	stream uint32
}

func newTalker(t testing.TB, addr string) *talker {
	t.Helper()
	k := dialTalker(t, addr)
	if f := k.ask(wire.OpAuth, &wire.Auth{Token: secret}); f.Op != wire.OpAuthOK {
		t.Fatalf("auth: %s", f)
	}
	return k
}

// dialTalker connects without sending a token.
func dialTalker(t testing.TB, addr string) *talker {
	t.Helper()
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return &talker{t: t, nc: nc, in: wire.NewReader(bufio.NewReader(nc), wire.MaxPlainClient)}
}

// send sends a request on its own stream; nil means no payload.
func (k *talker) send(op wire.Op, m wire.Message) uint32 {
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
func (k *talker) next() wire.Frame {
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
func (k *talker) ask(op wire.Op, m wire.Message) wire.Frame {
	k.t.Helper()
	at := k.send(op, m)
	for {
		if f := k.next(); f.Stream == at {
			return f
		}
	}
}

// event reads an EVENT frame.
func (k *talker) event() (stream uint32, e wire.Event) {
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
