package nodetest

import (
	"crypto/ed25519"
	"io"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot"
	"github.com/cairndb/cairn/raft/transport"
	"github.com/cairndb/cairn/wire"
)

// SayHello says hello at a peer port as a member that knows a secret and has a key, or none, and returns the frame
// that ends the handshake.
func SayHello(w io.Writer, r *wire.Reader, secret string, key ed25519.PrivateKey, hello *wire.ClusterHello) (wire.Frame, error) {
	ask := func(m *wire.ClusterHello) (f wire.Frame, err error) {
		b, err := wire.AppendPack(nil, wire.OpClusterHello, 0, m, false)
		if err != nil {
			return f, err
		}
		if _, err = w.Write(b); err != nil {
			return f, err
		}
		return r.Next()
	}
	nonce := make([]byte, 32)
	f, err := ask(&wire.ClusterHello{NodeID: hello.NodeID, ProtocolVersion: wire.Version, Raft: &wire.RaftHello{Nonce: nonce}})
	if err != nil || f.Op != wire.OpClusterHelloOK {
		return f, err
	}
	var ok wire.ClusterHelloOK
	if err := wire.Unpack(f, &ok, wire.MaxPlainPeer); err != nil {
		return f, err
	}
	transport.Prove(secret, key, nonce, &ok, hello)
	return ask(hello)
}

// Versions returns a member's part of a hello, with what this version reads.
func Versions() *wire.RaftHello {
	return &wire.RaftHello{Purpose: transport.ForForward, EntryMin: oplog.RecordVersion, EntryMax: oplog.RecordVersion,
		StateMin: snapshot.Min, StateMax: snapshot.Max, Reads: oplog.Reads()}
}
