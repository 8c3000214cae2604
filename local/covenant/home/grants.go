package home

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/local/covenant/canon"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Capability allows a subject to do an action. The operator signs it.
type Capability struct {
	Subject   AgentID         `json:"subject"`
	Action    string          `json:"action"`
	Scope     json.RawMessage `json:"scope"` // canonical JSON
	GrantedBy AgentID         `json:"granted_by"`
	Expires   *uint64         `json:"expires_at"`
}

// signedBytes returns the bytes that a signature covers.
func signedBytes(subject []byte, action string, scope, grantor []byte, expires *uint64) []byte {
	b := bytes.Clone(subject)
	b = binary.BigEndian.AppendUint32(b, uint32(len(action)))
	b = append(b, action...)
	b = binary.BigEndian.AppendUint32(b, uint32(len(scope)))
	b = append(append(b, scope...), grantor...)
	if expires == nil {
		return append(b, make([]byte, 9)...)
	}
	return binary.BigEndian.AppendUint64(append(b, 1), *expires)
}

// sign returns the operation that grants the capability.
func (c Capability) sign(key ed25519.PrivateKey, node uint32, at oplog.Time) (*oplog.Grant, error) {
	subject, err := b58.Decode(c.Subject.Pubkey)
	if err != nil {
		return nil, err
	}
	msg := signedBytes(subject, c.Action, c.Scope, key.Public().(ed25519.PublicKey), c.Expires)
	g := &oplog.Grant{Signature: b58.Encode(ed25519.Sign(key, msg)), Subject: c.Subject.Pubkey, Action: c.Action, Scope: c.Scope,
		GrantedBy: c.GrantedBy.Pubkey, Node: node, At: at}
	if c.Expires != nil {
		g.Limited, g.Expires = true, *c.Expires
	}
	return g, nil
}

// Expiry returns the last millisecond of a capability, or nil if it does not expire.
func Expiry(g oplog.StoredGrant) *uint64 {
	if !g.Limited {
		return nil
	}
	return &g.Expires
}

// Signed reports whether the signature of a stored capability is valid, whichever node wrote it.
func Signed(g oplog.StoredGrant) bool {
	subject, err1 := b58.Decode(g.Subject)
	grantor, err2 := b58.Decode(g.GrantedBy)
	sig, err3 := b58.Decode(g.Signature)
	if errors.Join(err1, err2, err3) != nil || len(grantor) != ed25519.PublicKeySize {
		return false
	}
	return ed25519.Verify(grantor, signedBytes(subject, g.Action, g.Scope, grantor, Expiry(g)), sig)
}

const maxAction = 512

var errNoSigner = errors.New("permissions: this node does not hold the operator key")

func checkAction(name string) error {
	if name == "" || len(name) > maxAction {
		return errors.New("permissions: invalid action")
	}
	return nil
}

// CheckGrantable returns an error if this node cannot grant an action to any subject.
func (h *Home) CheckGrantable(name string) error {
	err := checkAction(name)
	if err == nil && h.signer == nil {
		err = errNoSigner
	}
	return err
}

// GrantTo grants an action to a subject. A nil scope does not narrow it.
func (h *Home) GrantTo(ctx context.Context, subject AgentID, name string, scope json.RawMessage, expires *uint64) (string, error) {
	if scope == nil {
		scope = json.RawMessage("{}")
	}
	if err := checkAction(name); err != nil {
		return "", err
	}
	if err := checkScope(name, scope); err != nil {
		return "", err
	}
	if h.signer == nil {
		return "", errNoSigner
	}
	scope, err := canon.JSON(scope)
	if err != nil {
		return "", fmt.Errorf("permissions: invalid capability scope: %s: %w", name, err)
	}
	op, err := Capability{Subject: subject, Action: name, Scope: scope, GrantedBy: h.Operator,
		Expires: expires}.sign(h.signer, h.Config.Node, oplog.At(time.Now()))
	if err != nil {
		return "", err
	}
	defer h.TrackInFlight(op.Signature)()
	if _, err := Write(ctx, h, api.Grant, op); err != nil {
		return "", StoreError("permissions", err)
	}
	return op.Signature, h.recordGrant(subject, name, op.Signature)
}

func (h *Home) recordGrant(subject AgentID, name, signature string) error {
	return h.Record(subject, kit.Object{"type", "capability_granted", "subject_display", subject.Display, "action", name,
		"granted_by_display", h.Operator.Display, "signature_b58", signature})
}

// scopedPrefixes lists the prefixes of actions whose scopes are checked. Other actions may have any scope.
var scopedPrefixes = []string{"intent.", "tool.", "memory.", "agent.", "a2a.", "audit.", "peers.", "identity.", "chain."}

// checkScope rejects a scope that cannot be enforced.
func checkScope(name string, raw json.RawMessage) error {
	if !slices.ContainsFunc(scopedPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) {
		return nil
	}
	bad := func(why string) error {
		return fmt.Errorf("permissions: invalid capability scope: %s: %s", name, why)
	}
	f := serve.Parse(raw)
	if f.Err != nil {
		return bad("scope must be a JSON object")
	}
	if len(f.Members) == 0 {
		return nil
	}
	switch v := f.Number("version"); {
	case f.Err != nil:
		return bad("non-empty scopes must set version 1")
	case v != 1:
		return bad(fmt.Sprintf("unsupported scope version %d", v))
	}
	return nil
}
