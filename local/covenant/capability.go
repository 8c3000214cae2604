package covenant

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/local/covenant/canon"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// Capability is a right of a subject to an action, given by the operator's signature.
type Capability struct {
	Subject   AgentID         `json:"subject"`
	Action    string          `json:"action"`
	Scope     json.RawMessage `json:"scope"` // canonical
	GrantedBy AgentID         `json:"granted_by"`
	Expires   *uint64         `json:"expires_at"`
}

// signedBytes are the bytes that a signature covers.
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

// sign makes the operation that grants the capability.
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

func expiry(g oplog.StoredGrant) *uint64 {
	if !g.Limited {
		return nil
	}
	return &g.Expires
}

// signed says whether a stored capability has the signature of who gave it, no matter which node wrote it.
func signed(g oplog.StoredGrant) bool {
	subject, err1 := b58.Decode(g.Subject)
	grantor, err2 := b58.Decode(g.GrantedBy)
	sig, err3 := b58.Decode(g.Signature)
	if errors.Join(err1, err2, err3) != nil || len(grantor) != ed25519.PublicKeySize {
		return false
	}
	return ed25519.Verify(grantor, signedBytes(subject, g.Action, g.Scope, grantor, expiry(g)), sig)
}

// named is the agent of a key.
func named(names map[string]string, key string) AgentID {
	return AgentID{cmp.Or(names[key], "unknown@local"), key}
}

func recentCapabilities(f *fields) action {
	limit := f.count("limit", 10)
	return func(ctx context.Context, s *session) (any, error) {
		q := &api.GrantsRequest{Subject: s.peer.Pubkey, Limit: limit}
		if s.isOperator() {
			q.Subject = "" // it granted them all
		}
		a, err := read(ctx, s.srv, "permissions", api.Grants, q)
		if err != nil {
			return nil, err
		}
		out := []kit.Object{}
		for _, g := range slices.Backward(a.Grants) {
			out = append(out, kit.Object{"capability", Capability{named(a.Names, g.Subject), g.Action, g.Scope, named(a.Names, g.GrantedBy), expiry(g)},
				"signature", g.Signature})
		}
		return kit.Object{"kind", "capabilities", "capabilities", out}, nil
	}
}

func grantCapability(f *fields) action {
	name, scope, expires := f.text("action"), f.raw("scope"), f.optNumber("expires_at")
	return func(ctx context.Context, s *session) (any, error) {
		signature, err := "", errNotOperator
		if s.isOperator() || ownGrant(name) {
			signature, err = s.srv.grantTo(ctx, s.peer, name, scope, expires)
		}
		if err != nil {
			return nil, s.refuse(kit.Object{"type", "capability_grant_rejected", "subject_display", s.peer.Display, "action", name, "reason", err.Error()},
				err.Error())
		}
		return kit.Object{"kind", "capability_granted", "signature_b58", signature, "subject_display", s.peer.Display, "action", name}, nil
	}
}

var errNotOperator = errors.New("permissions: grants require the operator identity")

const maxAction = 512

// grantTo gives a subject a capability; without a scope it is not narrowed.
func (s *Server) grantTo(ctx context.Context, subject AgentID, name string, scope json.RawMessage, expires *uint64) (string, error) {
	if name == "" || len(name) > maxAction {
		return "", errors.New("permissions: invalid action")
	}
	if scope == nil {
		scope = json.RawMessage("{}")
	}
	if err := checkScope(name, scope); err != nil {
		return "", err
	}
	if s.signer == nil {
		return "", errors.New("permissions: this node does not hold the operator key")
	}
	scope, err := canon.JSON(scope)
	if err != nil {
		return "", fmt.Errorf("permissions: invalid capability scope: %s: %w", name, err)
	}
	op, err := Capability{Subject: subject, Action: name, Scope: scope, GrantedBy: s.operator, Expires: expires}.sign(s.signer, s.cfg.Node, oplog.At(time.Now()))
	if err != nil {
		return "", err
	}
	defer s.flight(op.Signature)()
	if _, err := write(ctx, s, api.Grant, op); err != nil {
		return "", storeError("permissions", err)
	}
	return op.Signature, s.recordGrant(subject, name, op.Signature)
}

func (s *Server) recordGrant(subject AgentID, name, signature string) error {
	return s.record(subject, kit.Object{"type", "capability_granted", "subject_display", subject.Display, "action", name,
		"granted_by_display", s.operator.Display, "signature_b58", signature})
}

func revokeCapability(f *fields) action {
	sig := f.text("signature_b58")
	return func(ctx context.Context, s *session) (any, error) {
		reject := func(issuer AgentID, reason string) (any, error) {
			err := s.srv.record(issuer, kit.Object{"type", "capability_revoke_rejected", "signature_b58", sig, "reason", reason})
			return nil, cmp.Or(err, errors.New(reason))
		}
		raw, err := b58.Decode(sig)
		if err != nil {
			return reject(s.peer, "invalid base58 signature: "+err.Error())
		}
		if len(raw) != ed25519.SignatureSize {
			return reject(s.peer, "signature must decode to 64 bytes")
		}
		done, err := write(ctx, s.srv, api.Revoke, &oplog.Revoke{Signature: sig, Subject: s.peer.Pubkey, At: oplog.At(time.Now())})
		if errors.Is(err, oplog.ErrNotSubject) {
			return reject(s.srv.operator, "revoke rejected: "+oplog.ErrNotSubject.Text)
		}
		if err != nil {
			return nil, storeError("permissions", err)
		}
		return kit.Object{"kind", "capability_revoked", "signature_b58", sig, "removed", done.Changed}, s.record(kit.Object{"type", "capability_revoked",
			"subject_display", s.peer.Display, "action", done.Action, "signature_b58", sig, "removed", done.Changed})
	}
}

func purgeCapabilities(ctx context.Context, s *session, before uint64) (uint64, error) {
	done, err := write(ctx, s.srv, api.PurgeGrants, &oplog.PurgeGrants{Before: micros(before), At: oplog.At(time.Now())})
	if err != nil {
		return 0, storeError("permissions", err)
	}
	return done.Purged, nil
}

// micros is a protocol time as the state keeps it; times beyond its range become the latest one.
func micros(ms uint64) oplog.Time {
	return oplog.Time(min(ms, uint64(oplog.LastTime)/1000) * 1000)
}
