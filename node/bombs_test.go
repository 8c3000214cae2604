package node_test

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cairndb/cairn/oplog/suite"
	"github.com/cairndb/cairn/wire"
)

// TestBombs sends malformed and oversized requests before and after AUTH, and checks that they are rejected and
// disturb no other client.
func TestBombs(t *testing.T) {
	suite.Full(t)
	c := start(t, 1)
	other := c.dial(0)
	addr := c.nodes[0].Addrs().Wire
	deep := append([]byte(strings.Repeat("\x91", 60<<10)), 1)
	frames := map[string][]byte{
		"too small": {0, 0, 0, 5, 1, 0xF1, 0, 0, 0},
		"too large": {1, 0, 0, 7, 1, 0x20, 0, 0, 0, 0},
		"huge":      {0xFF, 0xFF, 0xFF, 0xFF, 1, 0x20, 0, 0, 0, 0},
		"deep":      wire.AppendFrame(nil, wire.Frame{Flags: 1, Op: wire.OpAuth, Payload: deep}),
		"lying": wire.AppendFrame(nil,
			wire.Frame{Flags: 1, Op: wire.OpAuth, Payload: []byte{0x81, 0xA5, 't', 'o', 'k', 'e', 'n', 0xDD, 0xFF, 0xFF, 0xFF, 0xFF}}),
		"bad zstd":   wire.AppendFrame(nil, wire.Frame{Flags: 0x41, Op: wire.OpAuth, Payload: []byte{1, 2, 3}}),
		"version":    wire.AppendFrame(nil, wire.Frame{Flags: 2, Op: wire.OpAuth, Payload: []byte{0x80}}),
		"not AUTH":   wire.AppendFrame(nil, wire.Empty(wire.OpPing, 3)),
		"unknown":    wire.AppendFrame(nil, wire.Empty(wire.Op(0x99), 3)),
		"over early": append([]byte{0, 2, 0, 0, 1, 1, 0, 0, 0, 0}, make([]byte, 100)...),
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for name, raw := range frames {
		nc, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		nc.SetDeadline(time.Now().Add(suite.Patience))
		if _, err := nc.Write(raw); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		answer, err := io.ReadAll(nc) // until the server closes
		if err != nil && !strings.Contains(err.Error(), "reset") {
			t.Errorf("%s: not closed: %v", name, err)
		}
		if len(answer) < 10 && err == nil {
			t.Errorf("%s: no answer", name)
		}
		nc.Close()
		if err := other.Ping(t.Context()); err != nil {
			t.Fatalf("%s disturbed somebody else: %v", name, err)
		}
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("refusing cost %d MiB", grown>>20)
	}
}

// TestBombsAfterTheHandshake sends malformed frames from an authenticated client. If the frame's boundary is clear,
// the connection stays open.
func TestBombsAfterTheHandshake(t *testing.T) {
	suite.Full(t)
	t.Parallel()
	c := start(t, 1)
	other := c.dial(0)
	payloads := map[string]wire.Frame{
		"deep":         {Flags: 1, Payload: append([]byte(strings.Repeat("\x91", 4<<20)), 1)},
		"lying array":  {Flags: 1, Payload: []byte{0xDD, 0xFF, 0xFF, 0xFF, 0xFF}},
		"lying string": {Flags: 1, Payload: []byte{0x81, 0xA4, 't', 'e', 'x', 't', 0xDB, 0xFF, 0xFF, 0xFF, 0xFF}},
		"bad zstd":     {Flags: 0x41, Payload: []byte{0x28, 1, 2, 3}},
		"empty zstd":   {Flags: 0x41},
		"deep JSON":    {Flags: 0x81, Payload: []byte(strings.Repeat("[", 4<<20))},
		"not a map":    {Flags: 1, Payload: []byte{7}},
	}
	client := func(op wire.Op) (net.Conn, *wire.Reader, wire.Op) {
		nc, err := net.Dial("tcp", c.nodes[0].Addrs().Wire)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { nc.Close() })
		nc.SetDeadline(time.Now().Add(suite.Patience))
		b, err := wire.AppendPack(nil, wire.OpAuth, 1, &wire.Auth{Token: secret}, false)
		if err != nil {
			t.Fatal(err)
		}
		nc.Write(b)
		r := wire.NewReader(nc, wire.MaxLength)
		if f, err := r.Next(); err != nil || f.Op != wire.OpAuthOK {
			t.Fatalf("auth: %s, %v", f.Op, err)
		}
		return nc, r, op
	}
	peer := func(op wire.Op) (net.Conn, *wire.Reader, wire.Op) {
		p := dialStranger(t, c.nodes[0].Addrs().Cluster)
		return p.nc, p.r, op
	}
	for _, open := range []func() (net.Conn, *wire.Reader, wire.Op){
		func() (net.Conn, *wire.Reader, wire.Op) { return client(wire.OpRemember) },
		func() (net.Conn, *wire.Reader, wire.Op) { return peer(wire.OpOplogPush) },
		func() (net.Conn, *wire.Reader, wire.Op) { return peer(wire.OpOplogPull) },
	} {
		nc, r, op := open()
		for name, f := range payloads {
			f.Op, f.Stream = op, 5
			if _, err := nc.Write(wire.AppendFrame(nil, f)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			answer, err := r.Next()
			if err != nil {
				t.Fatalf("%s to %s: %v", name, op, err)
			}
			var e wire.Error
			if err := wire.Unpack(answer, &e, wire.MaxPlainPeer); err != nil || e.Code != wire.CodeInvalidPayload || answer.Stream != 5 {
				t.Errorf("%s to %s: %s %+v, %v", name, op, answer.Op, e, err)
			}
			if err := other.Ping(t.Context()); err != nil {
				t.Fatalf("%s disturbed somebody else: %v", name, err)
			}
		}
	}
}
