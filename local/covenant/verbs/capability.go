package verbs

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"slices"
	"time"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// agentNamed returns the agent of a key, with its display name if that is known.
func agentNamed(names map[string]string, key string) home.AgentID {
	return home.AgentID{Display: cmp.Or(names[key], "unknown@local"), Pubkey: key}
}

func recentCapabilities(f *serve.Fields) Action {
	limit := f.Count("limit", 10)
	return func(ctx context.Context, s *Session) (any, error) {
		q := &api.GrantsRequest{Subject: s.Peer.Pubkey, Limit: limit}
		if s.isOperator() {
			q.Subject = "" // the operator granted them all
		}
		a, err := home.Read(ctx, s.Home, "permissions", api.Grants, q)
		if err != nil {
			return nil, err
		}
		slices.Reverse(a.Grants)
		return kit.Object{"kind", "capabilities", "capabilities", api.Each(a.Grants, func(g oplog.StoredGrant) kit.Object {
			return kit.Object{"capability",
				home.Capability{Subject: agentNamed(a.Names, g.Subject), Action: g.Action, Scope: g.Scope,
					GrantedBy: agentNamed(a.Names, g.GrantedBy), Expires: home.Expiry(g)},
				"signature", g.Signature}
		})}, nil
	}
}

func grantCapability(f *serve.Fields) Action {
	name, scope, expires := f.Text("action"), f.Raw("scope"), f.OptNumber("expires_at")
	return func(ctx context.Context, s *Session) (any, error) {
		signature, err := "", errors.New("permissions: grants require the operator identity")
		if s.isOperator() || selfGrantable(name) {
			signature, err = s.GrantTo(ctx, s.Peer, name, scope, expires)
		}
		if err != nil {
			return nil, s.recordRejection(kit.Object{"type", "capability_grant_rejected", "subject_display", s.Peer.Display, "action",
				name, "reason", err.Error()},
				err.Error())
		}
		return kit.Object{"kind", "capability_granted", "signature_b58", signature, "subject_display", s.Peer.Display, "action", name}, nil
	}
}

func revokeCapability(f *serve.Fields) Action {
	sig := f.Text("signature_b58")
	return func(ctx context.Context, s *Session) (any, error) {
		reject := func(issuer home.AgentID, reason string) (any, error) {
			err := s.Home.Record(issuer, kit.Object{"type", "capability_revoke_rejected", "signature_b58", sig, "reason", reason})
			return nil, cmp.Or(err, errors.New(reason))
		}
		raw, err := b58.Decode(sig)
		if err != nil {
			return reject(s.Peer, "invalid base58 signature: "+err.Error())
		}
		if len(raw) != ed25519.SignatureSize {
			return reject(s.Peer, "signature must decode to 64 bytes")
		}
		done, err := home.Write(ctx, s.Home, api.Revoke, &oplog.Revoke{Signature: sig, Subject: s.Peer.Pubkey, At: oplog.At(time.Now())})
		if errors.Is(err, oplog.ErrNotSubject) {
			return reject(s.Operator, "revoke rejected: "+oplog.ErrNotSubject.Text)
		}
		if err != nil {
			return nil, home.StoreError("permissions", err)
		}
		return kit.Object{"kind", "capability_revoked", "signature_b58", sig, "removed", done.Changed},
			s.record(kit.Object{"type", "capability_revoked",
				"subject_display", s.Peer.Display, "action", done.Action, "signature_b58", sig, "removed", done.Changed})
	}
}

func purgeCapabilities(ctx context.Context, s *Session, before uint64) (uint64, error) {
	done, err := home.Write(ctx, s.Home, api.PurgeGrants, &oplog.PurgeGrants{Before: toMicros(before), At: oplog.At(time.Now())})
	if err != nil {
		return 0, home.StoreError("permissions", err)
	}
	return done.Purged, nil
}

// toMicros converts a protocol time to the microseconds of the state. Times over the limit become the latest time.
func toMicros(ms uint64) oplog.Time {
	return oplog.Time(min(ms, uint64(oplog.LastTime)/1000) * 1000)
}
