package transport

import (
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/cairndb/cairn/wire"
)

// Every home has a key of its own, and who answers at a member's address proves with it who it is: it signs what the dialing
// side has just chosen, its id, and the address at which it is to be reached, so that no one else's proof can be passed on.
//

// nonceSize is how much of chance is signed.
const nonceSize = 32

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

var errProof = errors.New("its key is not its own")

// verifyProof looks at the proof in an answer; one without a key proves nothing, and is told so by an empty Key.
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
