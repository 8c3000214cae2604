package covenant

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/oplog"
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
	err := s.srv.cfg.Memory.View(ctx, func(v *oplog.View, db oplog.DB) error {
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
	if _, _, err := s.srv.cfg.Memory.Write(wctx, "", &oplog.Identity{Key: peer.Pubkey, Display: display, At: oplog.At(time.Now())}); err != nil {
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
	token, err := s.srv.peers.mint(&peer, now())
	if err != nil {
		s.srv.log.Error("registry not written", "err", err)
		return fault("peers: registry failed")
	}
	return enrolledFrame{"peer_enrolled", token, peer.Pubkey, display, granted}
}

type peersFrame struct {
	Kind  string     `json:"kind"`
	Peers []peerInfo `json:"peers"`
}

type peerInfo struct {
	Display    string  `json:"display"`
	Pubkey     string  `json:"pubkey"`
	Prefix     string  `json:"token_prefix"`
	Registered uint64  `json:"registered_at"`
	Revoked    *uint64 `json:"revoked_at"`
}

func listPeers(f *fields) action {
	limit := f.count("limit", 10)
	return func(_ context.Context, s *session) any {
		if !s.isOperator() {
			return fault(operatorOnly("listing"))
		}
		rows := s.srv.peers.list()
		rows = rows[uint64(len(rows))-min(uint64(len(rows)), limit):]
		out := peersFrame{"peer_list", []peerInfo{}}
		for _, r := range rows {
			who := s.srv.operator
			if r.Agent != nil {
				who = *r.Agent
			}
			p := peerInfo{Display: who.Display, Pubkey: who.Pubkey, Prefix: r.Prefix, Registered: r.Registered}
			if r.Revoked != 0 {
				p.Revoked = &r.Revoked
			}
			out.Peers = append(out.Peers, p)
		}
		return out
	}
}

type peerRevokedFrame struct {
	Kind    string `json:"kind"`
	Removed bool   `json:"removed"`
}

// revokePeer ends the tokens of a peer, by its name or key. Connections that are open stay.
func revokePeer(f *fields) action {
	who := f.text("peer")
	return func(_ context.Context, s *session) any {
		if !s.isOperator() {
			return fault(operatorOnly("revoking"))
		}
		n, err := s.srv.peers.revoke(now(), func(r registration) bool {
			return r.Agent != nil && (r.Agent.Display == who || r.Agent.Pubkey == who)
		})
		if err != nil {
			s.srv.log.Error("registry not written", "err", err)
			return fault("peers: registry failed")
		}
		return peerRevokedFrame{"peer_revoked", n > 0}
	}
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
