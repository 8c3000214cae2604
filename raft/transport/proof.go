package transport

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/wire"
)

// Every home has an ed25519 key. The node that answers at a member's address proves its identity with it: it signs a nonce that the
// dialing side has just chosen, its own id and its advertised address. A node in between cannot pass on another's proof, because
// that names another address.

func statement(nonce []byte, id uint32, addr string) []byte {
	b := append([]byte("cairn hello\x00"), nonce...)
	b = binary.BigEndian.AppendUint32(b, id)
	return append(b, addr...)
}

// prove puts this node's proof into the answer to a hello.
func (t *Transport) prove(h *wire.RaftHello, nonce []byte) {
	if len(t.o.Identity) == 0 || len(nonce) != nonceSize {
		return
	}
	h.Key = publicText(t.o.Identity)
	h.Addr = t.o.Advertise
	h.Proof = ed25519.Sign(t.o.Identity, statement(nonce, t.o.NodeID, t.o.Advertise))
}

func publicText(k ed25519.PrivateKey) string {
	return hex.EncodeToString(k.Public().(ed25519.PublicKey))
}

var errProof = errors.New("its proof of identity is not signed with the key it shows")

// verifyProof checks the proof in an answer. An answer without a key proves nothing; its Key stays empty.
func verifyProof(h *wire.ClusterHelloOK, nonce []byte) error {
	if h.Raft == nil || h.Raft.Key == "" {
		return nil
	}
	key, err := hex.DecodeString(h.Raft.Key)
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, statement(nonce, h.NodeID, h.Raft.Addr), h.Raft.Proof) {
		return fmt.Errorf("node %d: %w", h.NodeID, errProof)
	}
	return nil
}
