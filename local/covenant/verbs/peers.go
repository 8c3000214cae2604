package verbs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/covenant/home"
	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/local/serve"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// errRegistry is the error that a client gets if the registry was not written. The cause is in the log.
var errRegistry = errors.New("peers: registry failed")

func (s *Session) registryError(err error) error {
	return s.PublicError(err, "registry not written", errRegistry)
}

// maxActions bounds the grants of one enrolment.
const maxActions = 256

func enrollPeer(f *serve.Fields) Action {
	display, actions := f.Text("display"), f.Texts("actions")
	if !home.IsDisplay(display) {
		f.Fail("display", "not local@host")
	}
	return operatorOnly("peers: enrolment requires the operator identity", func(ctx context.Context, s *Session) (any, error) {
		if len(actions) > maxActions {
			return nil, fmt.Errorf("peers: %d actions are over %d", len(actions), maxActions)
		}
		return s.enroll(ctx, display, actions)
	})
}

// enroll stores the identity, grants the actions, and issues the token last. The same node may repeat an enrolment
// that is incomplete or whose token was revoked: the peer keeps its key, and its old grants are revoked.
func (s *Session) enroll(ctx context.Context, display string, actions []string) (any, error) {
	for _, name := range actions {
		if err := s.CheckGrantable(name); err != nil {
			return nil, err
		}
	}
	key, err := s.PeerKey(display)
	if err != nil {
		return nil, err
	}
	peer := home.AgentID{Display: display, Pubkey: key}
	errTaken := fmt.Errorf("peers: %s is enrolled already", display)
	done, free := s.Peers.Claim(key)
	if !free {
		return nil, errTaken
	}
	defer done()
	existing, err := home.Read(ctx, s.Home, "peers", api.Identified, &api.IdentifiedRequest{Display: display})
	switch {
	case err != nil:
		return nil, err
	case existing.Identity != nil && existing.Identity.Key != key:
		return nil, errTaken
	case existing.Identity != nil:
		err = s.revokeGrants(ctx, peer)
	default:
		identity := &oplog.Identity{Key: key, Display: display, At: oplog.At(time.Now())}
		_, err = home.Write(ctx, s.Home, api.KeepIdentity, &api.KeepIdentityRequest{Identity: identity})
		err = home.StoreError("peers", err)
	}
	if err != nil {
		return nil, err
	}
	for _, name := range actions {
		if _, err := s.GrantTo(ctx, peer, name, nil, nil); err != nil {
			return nil, err
		}
	}
	token, err := s.Peers.Issue(&peer, home.Now())
	return kit.Object{"kind", "peer_enrolled", "token_b58", token, "pubkey_b58", peer.Pubkey, "display", display, "granted",
			api.OrEmpty(actions)},
		s.registryError(err)
}

// revokeGrants revokes all capabilities of a peer.
func (s *Session) revokeGrants(ctx context.Context, peer home.AgentID) error {
	a, err := home.Read(ctx, s.Home, "permissions", api.Grants, &api.GrantsRequest{Subject: peer.Pubkey, Limit: math.MaxUint64})
	if err != nil {
		return err
	}
	for _, g := range a.Grants {
		done, err := home.Write(ctx, s.Home, api.Revoke,
			&oplog.Revoke{Signature: g.Signature, Subject: peer.Pubkey, At: oplog.At(time.Now())})
		if err != nil {
			return home.StoreError("permissions", err)
		}
		if err := s.record(kit.Object{"type", "capability_revoked", "subject_display", peer.Display, "action", g.Action,
			"signature_b58", g.Signature, "removed", done.Changed}); err != nil {
			return err
		}
	}
	return nil
}

// summary formats a registration, with only the beginning of the token.
func (s *Session) summary(r home.Registration) kit.Object {
	return kit.Object{"agent_id", s.AgentOf(r), "token_prefix", r.Prefix, "registered_at", r.Registered, "revoked_at", orNull(r.Revoked)}
}

// listPeers lists registrations, newest first. truncated reports that there are more than the limit.
func listPeers(f *serve.Fields) Action {
	limit, prefix, status := f.Count("limit", 10), f.OptText("pubkey_prefix"), f.OptText("status_filter")
	if status != nil && *status != "live" && *status != "revoked" {
		f.Fail("status_filter", "neither live nor revoked")
	}
	return operatorOnly("peers: listing requires the operator identity", func(_ context.Context, s *Session) (any, error) {
		peers, truncated := []kit.Object{}, false
		for _, r := range slices.Backward(s.Peers.List()) {
			if prefix != nil && !strings.HasPrefix(s.AgentOf(r).Pubkey, *prefix) ||
				status != nil && (*status == "live") != (r.Revoked == 0) {
				continue
			}
			if truncated = uint64(len(peers)) >= limit; truncated {
				break
			}
			peers = append(peers, s.summary(r))
		}
		return kit.Object{"kind", "peer_list", "peers", peers, "operator_pubkey_b58", s.Operator.Pubkey, "truncated", truncated}, nil
	})
}

// revokePeer revokes a token, given as a whole or by the prefix that list_peers shows. Its open connections continue.
func revokePeer(f *serve.Fields) Action {
	prefix, force, limit := f.Text("token_prefix"), f.Flag("force"), serve.ValueOr(f.OptNumber("match_limit"), 10)
	return operatorOnly("peers: revoking requires the operator identity", func(_ context.Context, s *Session) (any, error) {
		switch {
		case prefix == "":
			return nil, errors.New("peers: token_prefix must not be empty")
		case len(prefix) > home.PrefixShown && !home.IsToken(prefix):
			return nil, fmt.Errorf("peers: token_prefix: want up to %d characters, as list_peers shows them, or the whole token",
				home.PrefixShown)
		}
		outcome, err := s.revokeToken(prefix, force, limit)
		return kit.Object{"kind", "peer_revoked", "outcome", outcome}, err
	})
}

// revokeToken returns an outcome: revoked, already_revoked or self_revoke_forbidden with the registration, ambiguous
// with all matches, or not_found.
func (s *Session) revokeToken(prefix string, force bool, limit uint64) (kit.Object, error) {
	found := slices.DeleteFunc(s.Peers.List(), func(r home.Registration) bool { return !r.HasPrefix(prefix) })
	switch len(found) {
	case 0:
		return kit.Object{"type", "not_found"}, nil
	case 1:
	default:
		matches := api.Each(found[:min(uint64(len(found)), limit)], s.summary)
		return kit.Object{"type", "ambiguous", "matches", matches, "truncated", uint64(len(found)) > limit}, nil
	}
	row := found[0]
	switch {
	case row.Revoked != 0:
		return append(kit.Object{"type", "already_revoked"}, s.summary(row)...), nil
	case row.Operator && !force:
		return append(kit.Object{"type", "self_revoke_forbidden"}, s.summary(row)...), nil
	}
	at := home.Now()
	if err := s.Peers.Revoke(at, func(r home.Registration) bool { return r.Token == row.Token }); err != nil {
		return nil, s.registryError(err)
	}
	row.Revoked = at
	who := s.AgentOf(row)
	return append(kit.Object{"type", "revoked"}, s.summary(row)...),
		s.record(kit.Object{"type", "peer_revoked", "peer_display", who.Display, "peer_pubkey_b58", who.Pubkey, "token_prefix", row.Prefix})
}

func rotateOperatorToken(*serve.Fields) Action {
	return operatorOnly("peers: token rotation requires the operator identity", func(_ context.Context, s *Session) (any, error) {
		old := []string{}
		for _, r := range s.Peers.List() {
			if r.Operator && r.Revoked == 0 {
				old = append(old, r.Prefix)
			}
		}
		token, err := s.Peers.Rotate(s.TokenPath(), home.Now())
		if err != nil {
			return nil, s.registryError(err)
		}
		return kit.Object{"kind", "operator_token_rotated", "token_b58", token}, s.record(kit.Object{"type", "operator_token_rotated",
			"peer_display", s.Peer.Display, "old_token_prefix", strings.Join(old, ","), "new_token_prefix", token[:home.PrefixShown]})
	})
}

func purgePeers(_ context.Context, s *Session, before uint64) (uint64, error) {
	n, err := s.Peers.Purge(before)
	return uint64(n), s.registryError(err)
}
