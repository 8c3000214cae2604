package transport

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/wire"
)

// Every home has an ed25519 key. After the proof of the secret each side of a handshake shows its key, and signs the
// values that both sides chose, the purpose of the connection and its own advertised address. So a proof is valid for
// one connection, one direction and one purpose, and a node in the middle cannot relay the proof of another address.

// statement returns the bytes that a side signs: the input of its mac, the purpose and its address.
func (h *handshake) statement(label, purpose, addr string) []byte {
	b := append(h.proofBytes(label), purpose...)
	return append(append(b, 0), addr...)
}

// sign puts a side's proof into its hello. Without an identity it adds nothing.
func (h *handshake) sign(label string, identity ed25519.PrivateKey, addr string, r *wire.RaftHello) {
	if len(identity) == 0 {
		return
	}
	r.Key, r.Addr = PublicText(identity), addr
	r.Proof = ed25519.Sign(identity, h.statement(label, r.Purpose, addr))
}

// PublicText returns the public half of a key, in hex; empty without a key.
func PublicText(k ed25519.PrivateKey) string {
	if len(k) == 0 {
		return ""
	}
	return hex.EncodeToString(k.Public().(ed25519.PublicKey))
}

var errProof = errors.New("its proof of identity is not signed with the key it shows")

// verify checks a side's proof. A hello without a key proves nothing; its Key stays empty.
func (h *handshake) verify(label, purpose string, id uint32, r *wire.RaftHello) error {
	if r.Key == "" {
		return nil
	}
	key, err := hex.DecodeString(r.Key)
	if err != nil || len(key) != ed25519.PublicKeySize || !ed25519.Verify(key, h.statement(label, purpose, r.Addr), r.Proof) {
		return fmt.Errorf("node %d: %w", id, errProof)
	}
	return nil
}
