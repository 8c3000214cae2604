package home

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
	"github.com/cairndb/cairn/oplog/pause"
)

// bootstrapActions lists the actions that a new operator is granted.
var bootstrapActions = []string{"memory.read", "memory.write", "memory.purge", "audit.purge", "capabilities.purge", "peers.purge",
	"chain.receipts"}

// operatorName is the display name of a new operator.
const operatorName = "user@local"

// ResolveOperator finds the operator of the cluster, or proposes this node's own key if there is none. It retries
// until it succeeds. Until then, no client can authenticate.
func (h *Home) ResolveOperator() {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := h.resolveOnce()
		if err == nil {
			close(h.resolved)
			return
		}
		h.Log.Debug("operator not known yet", "err", err)
		if pause.For(h.Ctx, wait) != nil {
			return
		}
	}
}

func (h *Home) resolveOnce() error {
	operator, err := h.findOperator()
	if err == nil && operator == nil {
		if err = h.proposeOperator(); err == nil || errors.Is(err, oplog.ErrHasOperator) {
			operator, err = h.findOperator()
		}
	}
	if err != nil {
		return err
	}
	if operator == nil {
		return errors.New("the operator is not there yet")
	}
	h.Operator = AgentID{operator.Display, operator.Key}
	if h.Operator.Pubkey == keyText(h.local) {
		h.signer = h.local
	} else {
		public, err := b58.Decode(operator.Key)
		if err != nil {
			return err
		}
		if h.signer, err = openOperatorKey(h.Config.Secret, operator.Sealed, public); err != nil {
			return err
		}
		if h.signer == nil {
			h.Log.Warn("this node does not hold the operator's key: capabilities are granted elsewhere")
		}
	}
	return h.auditBootstrap()
}

func keyText(k ed25519.PrivateKey) string { return b58.Encode(k.Public().(ed25519.PublicKey)) }

func (h *Home) findOperator() (*oplog.Identity, error) {
	a, err := Read(h.Ctx, h, "permissions", api.Identified, &api.IdentifiedRequest{})
	if err != nil {
		return nil, err
	}
	return a.Identity, nil
}

func (h *Home) proposeOperator() error {
	sealed, err := sealOperatorKey(h.Config.Secret, h.local)
	if err != nil {
		return err
	}
	now := oplog.At(time.Now())
	self := AgentID{operatorName, keyText(h.local)}
	request := &api.KeepIdentityRequest{Identity: &oplog.Identity{Key: self.Pubkey, Display: self.Display, Operator: true,
		Sealed: sealed, At: now}}
	if !h.Config.NoBootstrap {
		for _, action := range bootstrapActions {
			c := Capability{Subject: self, Action: action, Scope: []byte("{}"), GrantedBy: self}
			op, err := c.sign(h.local, h.Config.Node, now)
			if err != nil {
				return err
			}
			op.First = true
			request.Grants = append(request.Grants, op)
		}
	}
	_, err = Write(h.Ctx, h, api.KeepIdentity, request)
	return err
}

// auditBootstrap writes the missing audit rows of the bootstrap grants that this node made. They are the first rows
// of the log, so after a crash the number of rows is the number of grants that have one.
func (h *Home) auditBootstrap() error {
	recorded := h.Audit.Rows()
	if recorded >= uint64(len(bootstrapActions)) || h.Audit.Cutoff() > 0 {
		return nil
	}
	a, err := Read(h.Ctx, h, "permissions", api.Grants, &api.GrantsRequest{Subject: h.Operator.Pubkey, First: true, Limit: math.MaxUint64})
	if err != nil {
		return err
	}
	for _, g := range slices.Backward(a.Grants) {
		if g.Node != h.Config.Node {
			continue
		}
		if recorded > 0 {
			recorded--
		} else if err := h.recordGrant(h.Operator, g.Action, g.Signature); err != nil {
			return err
		}
	}
	return nil
}

var errNoOperator = errors.New("permissions: no leader: the operator is not known yet")

// HasOperator reports whether the operator is known.
func (h *Home) HasOperator() bool {
	select {
	case <-h.resolved:
		return true
	default:
		return false
	}
}

// awaitOperator waits until the operator is known.
func (h *Home) awaitOperator(ctx context.Context) error {
	if h.HasOperator() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, h.Config.WriteTimeout)
	defer cancel()
	select {
	case <-h.resolved:
		return nil
	case <-ctx.Done():
		return errNoOperator
	}
}
