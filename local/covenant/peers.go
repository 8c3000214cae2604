package covenant

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

type enrolledFrame struct {
	Kind    string   `json:"kind"`
	Token   string   `json:"token_b58"`
	Pubkey  string   `json:"pubkey_b58"`
	Display string   `json:"display"`
	Granted []string `json:"granted"`
}

func operatorOnly(what string) string { return "peers: " + what + " requires the operator identity" }

// maxActions bounds what one enrolment may grant.
const maxActions = 256

func enrollPeer(f *fields) action {
	display, actions := f.text("display"), f.texts("actions")
	if !validDisplay(display) {
		f.fail("display", "not local@host")
	}
	return func(ctx context.Context, s *session) any {
		switch {
		case !s.isOperator():
			return fault(operatorOnly("enrolment"))
		case len(actions) > maxActions:
			return fault(fmt.Sprintf("peers: %d actions are over %d", len(actions), maxActions))
		}
		return s.enroll(ctx, display, actions)
	}
}

func (s *session) enroll(ctx context.Context, display string, actions []string) any {
	taken := false
	err := s.srv.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		v.Identities(db, func(id oplog.Identity) bool { taken = taken || id.Display == display; return true })
		return nil
	})
	if err != nil {
		return fault(storeError("peers", err).Error())
	}
	if taken {
		return fault(fmt.Sprintf("peers: %s is enrolled already", display))
	}
	// The peer's key only names it: nothing here is ever signed with it, so its private half is not kept.
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return fault(err.Error())
	}
	peer := AgentID{display, b58.Encode(public)}
	wctx, cancel := s.srv.write(ctx)
	defer cancel()
	if _, err := api.KeepIdentity.Ask(wctx, s.srv.cfg.Memory, &api.KeepIdentityRequest{Identity: &oplog.Identity{Key: peer.Pubkey, Display: display, At: oplog.At(time.Now())}}); err != nil {
		return fault(storeError("peers", err).Error())
	}
	granted := []string{}
	for _, name := range actions {
		if name == "" || len(name) > maxAction {
			return fault("permissions: invalid action")
		}
		if _, err := s.srv.grantTo(ctx, peer, name, []byte("{}"), nil); err != nil {
			return fault(err.Error())
		}
		granted = append(granted, name)
	}
	token, err := s.srv.peers.issue(&peer, now())
	if err != nil {
		s.srv.log.Error("registry not written", "err", err)
		return fault("peers: registry failed")
	}
	return enrolledFrame{"peer_enrolled", token, peer.Pubkey, display, granted}
}

type peersFrame struct {
	Kind      string        `json:"kind"`
	Peers     []peerSummary `json:"peers"`
	Operator  string        `json:"operator_pubkey_b58"`
	Truncated bool          `json:"truncated"` // there are more than the limit
}

// peerSummary is a registration as it is shown: of the token only its beginning.
type peerSummary struct {
	Agent      AgentID `json:"agent_id"`
	Prefix     string  `json:"token_prefix"`
	Registered uint64  `json:"registered_at"`
	Revoked    *uint64 `json:"revoked_at"`
}

func (s *Server) summary(r registration) peerSummary {
	p := peerSummary{Agent: s.operator, Prefix: r.Prefix, Registered: r.Registered}
	if r.Agent != nil {
		p.Agent = *r.Agent
	}
	if r.Revoked != 0 {
		p.Revoked = &r.Revoked
	}
	return p
}

// listPeers shows registrations, the newest first.
func listPeers(f *fields) action {
	limit, prefix, status := f.count("limit", 10), f.optText("pubkey_prefix"), f.optText("status_filter")
	if status != nil && *status != "live" && *status != "revoked" {
		f.fail("status_filter", "neither live nor revoked")
	}
	return func(_ context.Context, s *session) any {
		if !s.isOperator() {
			return fault(operatorOnly("listing"))
		}
		out := peersFrame{"peer_list", []peerSummary{}, s.srv.operator.Pubkey, false}
		for _, r := range slices.Backward(s.srv.peers.list()) {
			p := s.srv.summary(r)
			if prefix != nil && !strings.HasPrefix(p.Agent.Pubkey, *prefix) || status != nil && (*status == "live") != (p.Revoked == nil) {
				continue
			}
			if out.Truncated = uint64(len(out.Peers)) >= limit; out.Truncated {
				break
			}
			out.Peers = append(out.Peers, p)
		}
		return out
	}
}

type peerRevokedFrame struct {
	Kind    string        `json:"kind"`
	Outcome revokeOutcome `json:"outcome"`
}

// revokeOutcome is revoked, already_revoked or self_revoke_forbidden with the registration, ambiguous with all that match, or not_found.
type revokeOutcome struct {
	Type string `json:"type"`
	*peerSummary
	Matches   *[]peerSummary `json:"matches,omitempty"`
	Truncated *bool          `json:"truncated,omitempty"`
}

// prefixShown is how much of a token is shown, and kept.
const prefixShown = 6

// revokePeer ends a token, named by its beginning as list_peers shows it or as a whole. Connections that are open stay.
func revokePeer(f *fields) action {
	prefix, force := f.text("token_prefix"), f.flag("force")
	most := uint64(10)
	if n := f.optNumber("match_limit"); n != nil {
		most = *n
	}
	return func(_ context.Context, s *session) any {
		switch {
		case !s.isOperator():
			return fault(operatorOnly("revoking"))
		case prefix == "":
			return fault("peers: token_prefix must not be empty")
		case len(prefix) > prefixShown && !isToken(prefix):
			return fault(fmt.Sprintf("peers: token_prefix: want up to %d characters, as list_peers shows them, or the whole token", prefixShown))
		}
		return s.revokeToken(prefix, force, most)
	}
}

func (s *session) revokeToken(prefix string, force bool, most uint64) any {
	var found []registration
	for _, r := range s.srv.peers.list() {
		if r.begins(prefix) {
			found = append(found, r)
		}
	}
	out := peerRevokedFrame{Kind: "peer_revoked"}
	switch len(found) {
	case 0:
		out.Outcome.Type = "not_found"
		return out
	case 1:
	default:
		matches, more := []peerSummary{}, uint64(len(found)) > most
		for _, r := range found[:min(uint64(len(found)), most)] {
			matches = append(matches, s.srv.summary(r))
		}
		out.Outcome = revokeOutcome{Type: "ambiguous", Matches: &matches, Truncated: &more}
		return out
	}
	row := found[0]
	switch {
	case row.Revoked != 0:
		out.Outcome.Type = "already_revoked"
	case row.Operator && !force:
		out.Outcome.Type = "self_revoke_forbidden"
	default:
		out.Outcome.Type = "revoked"
		at := now()
		if _, err := s.srv.peers.revoke(at, func(r registration) bool { return r.Token == row.Token }); err != nil {
			s.srv.log.Error("registry not written", "err", err)
			return fault("peers: registry failed")
		}
		row.Revoked = at
		who := s.srv.summary(row).Agent
		if s.srv.record(s.peer, peerRevoked{"peer_revoked", who.Display, who.Pubkey, row.Prefix}) != nil {
			return fault(textAudit)
		}
	}
	p := s.srv.summary(row)
	out.Outcome.peerSummary = &p
	return out
}

type rotatedFrame struct {
	Kind  string `json:"kind"`
	Token string `json:"token_b58"`
}

func rotateOperatorToken(*fields) action {
	return func(_ context.Context, s *session) any {
		if !s.isOperator() {
			return fault(operatorOnly("token rotation"))
		}
		old := []string{}
		for _, r := range s.srv.peers.list() {
			if r.Operator && r.Revoked == 0 {
				old = append(old, r.Prefix)
			}
		}
		token, err := s.srv.peers.rotate(s.srv.tokenPath(), now())
		if err != nil {
			s.srv.log.Error("operator token not rotated", "err", err)
			return fault("peers: registry failed")
		}
		if s.srv.record(s.peer, tokenRotated{"operator_token_rotated", s.peer.Display, strings.Join(old, ","), token[:6]}) != nil {
			return fault(textAudit)
		}
		return rotatedFrame{"operator_token_rotated", token}
	}
}

func purgePeers(f *fields) action {
	before := f.number("before_ms")
	return func(ctx context.Context, s *session) any {
		if refusal := s.gate(ctx, cutoffGate("peers", before)); refusal != nil {
			return refusal
		}
		n, err := s.srv.peers.purge(before)
		if err != nil {
			s.srv.log.Error("registry not purged", "err", err)
			return fault("peers: registry failed")
		}
		return purgedFrame{"peers_purged", uint64(n)}
	}
}
