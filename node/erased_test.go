package node_test

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairndb/cairn/node/api"
)

// TestAProofIsSigned checks that the record of a memory erased for good is signed with the node's key, and that a
// changed record fails verification.
func TestAProofIsSigned(t *testing.T) {
	t.Parallel()
	c := start(t, 1)
	w, n := c.web(0), c.nodes[0]
	rid := w.ok("POST", "/v1/remember", obj{"text": "Ada's number is 555 0100"})["rid"]
	ask := obj{"rids": []any{rid}}
	ask["confirm"] = w.ok("POST", "/v1/erase", ask)["confirm"]
	w.ok("POST", "/v1/erase", ask)
	caller, err := n.Host().Local("default")
	if err != nil {
		t.Fatal(err)
	}
	a, err := n.Host().Do(t.Context(), caller, api.Erased.Op, &api.ErasedRequest{RID: rid.(string)})
	if err != nil {
		t.Fatal(err)
	}
	proof := a.(*api.Proof)
	key, _ := hex.DecodeString(proof.Key)
	signature, _ := hex.DecodeString(proof.Signature)
	said, err := json.Marshal(proof.Statement)
	if err != nil || !ed25519.Verify(key, said, signature) {
		t.Errorf("%s is not signed (%v)", said, err)
	}
	if status, _ := json.Marshal(w.ok("GET", "/v1/cluster", nil)); !strings.Contains(string(status), proof.Key) {
		t.Errorf("the status does not show the key %s: %s", proof.Key, status)
	}
	if said[len(said)-2] ^= 1; ed25519.Verify(key, said, signature) {
		t.Error("another statement is signed too")
	}
}
