package covenant

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/local/covenant/canon"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Capability is a right of a subject to an action, given by the operator's signature.
type Capability struct {
	Subject   AgentID         `json:"subject"`
	Action    string          `json:"action"`
	Scope     json.RawMessage `json:"scope"` // canonical
	GrantedBy AgentID         `json:"granted_by"`
	Expires   *uint64         `json:"expires_at"`
}

type signedCapability struct {
	Capability Capability `json:"capability"`
	Signature  string     `json:"signature"`
}

// signedBytes is what a signature covers.
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

// holds says whether a stored capability authorises anything at a time: it is not revoked, not expired, and signed by
// the operator, no matter which node wrote it.
func (s *Server) holds(g oplog.StoredGrant, at uint64) bool {
	if g.Revoked != 0 || g.Limited && at > g.Expires || g.GrantedBy != s.operator.Pubkey {
		return false
	}
	subject, err1 := b58.Decode(g.Subject)
	grantor, err2 := b58.Decode(g.GrantedBy)
	sig, err3 := b58.Decode(g.Signature)
	if errors.Join(err1, err2, err3) != nil || len(grantor) != ed25519.PublicKeySize {
		return false
	}
	return ed25519.Verify(grantor, signedBytes(subject, g.Action, g.Scope, grantor, expiry(g)), sig)
}

// namer finds the names of keys.
type namer struct {
	v  *state.View
	db oplog.DB
}

func (n namer) agent(key string) AgentID {
	if id, ok := n.v.Identity(n.db, key); ok {
		return AgentID{id.Display, key}
	}
	return AgentID{"unknown@local", key}
}

type capabilitiesFrame struct {
	Kind         string             `json:"kind"`
	Capabilities []signedCapability `json:"capabilities"`
}

func recentCapabilities(f *fields) action {
	limit := f.count("limit", 10)
	return func(ctx context.Context, s *session) any {
		out := capabilitiesFrame{"capabilities", []signedCapability{}}
		err := s.srv.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
			subject := s.peer.Pubkey
			if s.isOperator() {
				subject = "" // it granted them all
			}
			n := namer{v, db}
			v.Grants(db, subject, func(g oplog.StoredGrant) bool {
				if uint64(len(out.Capabilities)) >= limit {
					return false
				}
				if g.Revoked == 0 {
					out.Capabilities = append(out.Capabilities, signedCapability{Capability{n.agent(g.Subject), g.Action, g.Scope,
						n.agent(g.GrantedBy), expiry(g)}, g.Signature})
				}
				return true
			})
			return nil
		})
		if err != nil {
			return fault(storeError("permissions", err).Error())
		}
		reverse(out.Capabilities)
		return out
	}
}

func reverse[T any](s []T) {
	for i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
}

type grantedFrame struct {
	Kind      string `json:"kind"`
	Signature string `json:"signature_b58"`
	Subject   string `json:"subject_display"`
	Action    string `json:"action"`
}

func grantCapability(f *fields) action {
	name, scope, expires := f.text("action"), f.raw("scope"), f.optNumber("expires_at")
	return func(ctx context.Context, s *session) any {
		g, err := s.srv.grant(ctx, s, name, scope, expires)
		if err != nil {
			return s.refuse(capabilityGrantRejected{"capability_grant_rejected", s.peer.Display, name, err.Error()}, err.Error())
		}
		return grantedFrame{"capability_granted", g, s.peer.Display, name}
	}
}

var errNotOperator = errors.New("permissions: grants require the operator identity")

// grant gives the caller a capability.
func (s *Server) grant(ctx context.Context, by *session, name string, scope json.RawMessage, expires *uint64) (string, error) {
	if !by.isOperator() && !ownGrant(name) {
		return "", errNotOperator
	}
	if name == "" || len(name) > maxAction {
		return "", errors.New("permissions: invalid action")
	}
	if scope == nil {
		scope = json.RawMessage("{}")
	}
	if err := checkScope(name, scope); err != nil {
		return "", err
	}
	return s.grantTo(ctx, by.peer, name, scope, expires)
}

const maxAction = 512

func (s *Server) grantTo(ctx context.Context, subject AgentID, name string, scope json.RawMessage, expires *uint64) (string, error) {
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
	ctx, cancel := s.write(ctx)
	defer cancel()
	if _, err := api.Grant.Ask(ctx, s.cfg.Memory, &api.GrantRequest{Grant: op}); err != nil {
		return "", storeError("permissions", err)
	}
	if s.record(subject, capabilityGranted{"capability_granted", subject.Display, name, s.operator.Display, op.Signature}) != nil {
		return "", errors.New(textAudit)
	}
	return op.Signature, nil
}

type revokedFrame struct {
	Kind      string `json:"kind"`
	Signature string `json:"signature_b58"`
	Removed   bool   `json:"removed"`
}

func revokeCapability(f *fields) action {
	sig := f.text("signature_b58")
	return func(ctx context.Context, s *session) any {
		reject := func(issuer AgentID, reason string) any {
			if s.srv.record(issuer, capabilityRevokeRejected{"capability_revoke_rejected", sig, reason}) != nil {
				return fault(textAudit)
			}
			return fault(reason)
		}
		raw, err := b58.Decode(sig)
		if err != nil {
			return reject(s.peer, "invalid base58 signature: "+err.Error())
		}
		if len(raw) != ed25519.SignatureSize {
			return reject(s.peer, "signature must decode to 64 bytes")
		}
		ctx, cancel := s.srv.write(ctx)
		defer cancel()
		done, err := api.Revoke.Ask(ctx, s.srv.cfg.Memory, &api.RevokeRequest{Revoke: &oplog.Revoke{Signature: sig, Subject: s.peer.Pubkey, At: oplog.At(time.Now())}})
		if errors.Is(err, oplog.ErrNotSubject) {
			return reject(s.srv.operator, "revoke rejected: "+oplog.ErrNotSubject.Text)
		}
		if err != nil {
			return fault(storeError("permissions", err).Error())
		}
		if err := s.srv.record(s.peer, capabilityRevoked{"capability_revoked", s.peer.Display, s.srv.actionOf(ctx, sig), sig, done.Changed}); err != nil {
			return fault(textAudit)
		}
		return revokedFrame{"capability_revoked", sig, done.Changed}
	}
}

func (s *Server) actionOf(ctx context.Context, sig string) (name string) {
	_ = s.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error { // a row without it is a row
		g, _ := v.Grant(db, sig)
		name = g.Action
		return nil
	})
	return name
}

func purgeCapabilities(f *fields) action {
	before := f.number("before_ms")
	return func(ctx context.Context, s *session) any {
		if refusal := s.gate(ctx, cutoffGate("capabilities", before)); refusal != nil {
			return refusal
		}
		ctx, cancel := s.srv.write(ctx)
		defer cancel()
		done, err := api.PurgeGrants.Ask(ctx, s.srv.cfg.Memory, &api.PurgeGrantsRequest{Before: micros(before)})
		if err != nil {
			return fault(storeError("permissions", err).Error())
		}
		return purgedFrame{"capabilities_purged", done.Purged}
	}
}

// micros is a protocol time as the state keeps it; what is too far away is the farthest.
func micros(ms uint64) oplog.Time {
	const farthest = 1<<63/1000 - 1
	return oplog.Time(min(ms, farthest) * 1000)
}
