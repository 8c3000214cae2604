package covenant

import (
	"context"
	"crypto/ed25519"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/cairndb/cairn/local/covenant/b58"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// bootstrap is the actions that a new operator may do from the first request on.
var bootstrap = []string{"memory.read", "memory.write", "memory.purge", "audit.purge", "capabilities.purge", "peers.purge", "chain.receipts"}

// operatorName is the display name of an operator that a node makes.
const operatorName = "user@local"

// resolveOperator finds out who the operator is: the one the cluster has, or this node's own key if it has none. It
// tries until it knows; meanwhile no client can authenticate.
func (s *Home) resolveOperator() {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := s.resolveOnce()
		if err == nil {
			close(s.resolved)
			return
		}
		s.log.Debug("operator not known yet", "err", err)
		select {
		case <-s.Ctx.Done():
			return
		case <-time.After(wait):
		}
	}
}

func (s *Home) resolveOnce() error {
	known, err := s.findOperator()
	if err == nil && known == nil {
		if err = s.proposeOperator(); err == nil || errors.Is(err, oplog.ErrHasOperator) {
			known, err = s.findOperator()
		}
	}
	if err != nil {
		return err
	}
	if known == nil {
		return errors.New("the operator is not there yet")
	}
	s.operator = AgentID{known.Display, known.Key}
	if s.operator.Pubkey == keyText(s.local) {
		s.signer = s.local
	} else {
		public, err := b58.Decode(known.Key)
		if err != nil {
			return err
		}
		if s.signer, err = unseal(s.cfg.Secret, known.Sealed, public); err != nil {
			return err
		}
		if s.signer == nil {
			s.log.Warn("this node does not hold the operator's key: capabilities are granted elsewhere")
		}
	}
	return s.auditBootstrap()
}

func keyText(k ed25519.PrivateKey) string { return b58.Encode(k.Public().(ed25519.PublicKey)) }

func (s *Home) findOperator() (*oplog.Identity, error) {
	a, err := read(s.Ctx, s, "permissions", api.Identified, &api.IdentifiedRequest{})
	if err != nil {
		return nil, err
	}
	return a.Identity, nil
}

func (s *Home) proposeOperator() error {
	sealed, err := seal(s.cfg.Secret, s.local)
	if err != nil {
		return err
	}
	now := oplog.At(time.Now())
	self := AgentID{operatorName, keyText(s.local)}
	made := &api.KeepIdentityRequest{Identity: &oplog.Identity{Key: self.Pubkey, Display: self.Display, Operator: true, Sealed: sealed, At: now}}
	if !s.cfg.NoBootstrap {
		for _, action := range bootstrap {
			c := Capability{Subject: self, Action: action, Scope: []byte("{}"), GrantedBy: self}
			op, err := c.sign(s.local, s.cfg.Node, now)
			if err != nil {
				return err
			}
			op.First = true
			made.Grants = append(made.Grants, op)
		}
	}
	_, err = write(s.Ctx, s, api.KeepIdentity, made)
	return err
}

// auditBootstrap gives the first capabilities their rows, if this node granted them and has not yet said so.
func (s *Home) auditBootstrap() error {
	if s.audit.Rows() > 0 || s.audit.Cutoff() > 0 {
		return nil
	}
	a, err := read(s.Ctx, s, "permissions", api.Grants, &api.GrantsRequest{Subject: s.operator.Pubkey, First: true, Limit: math.MaxUint64})
	if err != nil {
		return err
	}
	for _, g := range slices.Backward(a.Grants) {
		if g.Node == s.cfg.Node {
			if err := s.recordGrant(s.operator, g.Action, g.Signature); err != nil {
				return err
			}
		}
	}
	return nil
}

var errNoOperator = errors.New("permissions: no leader: the operator is not known yet")

// hasOperator says whether the operator is known.
func (s *Home) hasOperator() bool {
	select {
	case <-s.resolved:
		return true
	default:
		return false
	}
}

// known waits until the operator is known.
func (s *Home) known(ctx context.Context) error {
	if s.hasOperator() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.WriteTimeout)
	defer cancel()
	select {
	case <-s.resolved:
		return nil
	case <-ctx.Done():
		return errNoOperator
	}
}
