package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// NewToken returns the text of a new client token: 256 random bits.
func NewToken() string {
	raw := make([]byte, 32)
	rand.Read(raw) // crypto/rand never fails
	return "ydb_" + hex.EncodeToString(raw)
}

// HashToken returns the hash that the state stores instead of a token.
func HashToken(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// Prefix returns the part of a token's hash that audit and lists show. Hashes from other nodes may be shorter.
func Prefix(hash string) string { return hash[:min(len(hash), api.HashPrefix)] }

// ErrToken rejects a token that is unknown, revoked or expired.
var ErrToken = &oplog.Error{Kind: oplog.Denied, Text: "invalid or revoked token"}

// ErrStarting rejects a request for data that a node may lack, because it has not yet applied its log again.
var ErrStarting = &oplog.Error{Kind: oplog.Unavailable,
	Text: "this node has just started and does not know yet all that it holds; retry, or ask another node"}

// errFull is ErrStarting for a node whose disk is full.
var errFull = &oplog.Error{Kind: oplog.Unavailable,
	Text: "disk full: this node does not know yet all that it holds; free space on its disk, or ask another node"}

// read runs a lookup. While the state is incomplete, it replaces a "not found" by a retryable error.
func (a *Control) read(f func(*state.View) error) error {
	whole := a.complete == nil || a.complete() // read first: a missing row may be applied a moment later
	err := a.state.Read(f)
	if !whole && (errors.Is(err, ErrToken) || errors.Is(err, &oplog.Error{Kind: oplog.NotFound})) {
		return a.Starting()
	}
	return err
}

// Starting returns the reason why the state of this node is incomplete: it has just started, or its disk is full and
// the log accepts nothing.
func (a *Control) Starting() error {
	if a.diskError != nil && a.diskError() != nil {
		return errFull // without the sizes, which only callers with a token may see
	}
	return ErrStarting
}

// isTransient reports whether a token was rejected only for now, so that a retry or another node may accept it.
func isTransient(err error) bool { return errors.Is(err, &oplog.Error{Kind: oplog.Unavailable}) }

// Authenticate returns the caller of a token's text, as far as this node knows.
func (a *Control) Authenticate(token string) (api.Caller, error) {
	if a.isSecret(token) {
		return master, nil
	}
	c, _, err := a.callerOf(HashToken(token))
	if err == nil {
		a.Used(c.Token)
	}
	return c, err
}

// master is the caller that sends the cluster secret.
var master = api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: All, By: api.ByMaster, Policy: operators}

// callerOf returns the caller of a token's hash. known reports whether the state has the token, valid or not.
func (a *Control) callerOf(hash string) (c api.Caller, known bool, err error) {
	c = api.Caller{Token: hash}
	err = a.read(func(v *state.View) error {
		t, ok := v.Token(hash)
		if known = ok; !ok || !a.valid(t) {
			return ErrToken
		}
		d, ok := v.Database(t.DB)
		if !ok {
			return ErrToken
		}
		c.DB, c.Database, c.Label, c.Spaces, c.Policy = d.ID, d.Name, t.Label, t.Spaces, PolicyOf(t)
		for _, sc := range t.Scopes {
			c.Scopes = append(c.Scopes, api.Scope(sc))
		}
		return nil
	})
	if err != nil {
		return api.Caller{}, known, err
	}
	if len(c.Scopes) == 0 {
		c.Scopes = []api.Scope{api.Read, api.Write}
	}
	return c, true, nil
}

// PolicyOf returns the policy of a token. A token without a trust class but with administrative scopes writes as an
// operator.
func PolicyOf(t oplog.Token) oplog.Policy {
	p := t.Policy
	if p.Trust == "" && (slices.Contains(t.Scopes, string(api.Owner)) || slices.Contains(t.Scopes, string(api.Admin))) {
		p.Trust = oplog.TrustOperator
	}
	return p
}

// Asked returns the caller for a request that another member makes in the name of its own caller. It reads the rights
// of a token from this node's state instead of trusting the member, so a revoked token has none. A caller without a
// token gets the rights that this node gives such callers.
func (a *Control) Asked(ctx context.Context, token, by, database string) (c api.Caller, err error) {
	switch {
	case token != "":
		c, err = a.findCaller(ctx, token)
	case by == api.ByLocal:
		c.Scopes = Local
	case by == api.ByMaster || by == api.ByNode:
		c.Scopes, c.Policy = All, operators
	default:
		err = ErrToken
	}
	if err != nil {
		return c, err
	}
	c.By, c.Asked, c.Quiet, c.Surface = by, true, true, "peer"
	if token != "" {
		return a.Select(c, database)
	}
	return c, a.read(func(v *state.View) error { return useDatabase(&c, v, database) })
}

func (a *Control) valid(t oplog.Token) bool {
	return t.Revoked == 0 && (t.Expires == 0 || t.Expires > oplog.At(a.now()))
}

// isSecret compares hashes, so that the time of the comparison reveals neither length nor content of a secret.
func (a *Control) isSecret(token string) bool {
	got, same := sha256.Sum256([]byte(token)), 0
	for _, want := range a.secrets {
		same |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return same == 1
}

// TokensEnded returns a channel that is closed when tokens may have ended: some were revoked, or a snapshot replaced
// the state. It does not signal expiry.
func (a *Control) TokensEnded() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.ended
}

func (a *Control) tokensEnded() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.ended)
	a.ended = make(chan struct{})
	go a.endRequests() // in the background, because there may be thousands
}

// EndsTokens reports whether an outcome may have ended tokens, so that Holds must be checked again.
func EndsTokens(o oplog.Outcome) bool {
	return hasOp(o, oplog.KindOf[oplog.RevokeToken](), oplog.KindOf[oplog.DropDB]())
}

// hasOp reports whether an entry was applied and has an operation of one of the kinds.
func hasOp(o oplog.Outcome, kinds ...oplog.OpKind) bool {
	return o.Err == nil && slices.ContainsFunc(o.Entry.Ops, func(op oplog.Op) bool { return slices.Contains(kinds, op.Kind()) })
}

// Local returns the caller of a surface whose clients are this host's user. It looks again for an unknown database,
// as Find does.
func (a *Control) Local(database string) (api.Caller, error) {
	c := api.Caller{Scopes: Local, Forward: true, By: api.ByLocal}
	lookUp := func(v *state.View) error { return useDatabase(&c, v, database) }
	err := a.read(lookUp)
	// The wait takes at most two rounds.
	if a.mayBeBehind() && errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) && a.latest.wait(context.Background()) == nil {
		err = a.read(lookUp)
	}
	return c, err
}

// Select returns the caller in another database. The cluster secret, the node itself and tokens with scope admin
// reach every database; for others only their own exists.
func (a *Control) Select(c api.Caller, database string) (api.Caller, error) {
	if database == "" || database == c.Database {
		return c, nil
	}
	err := a.read(func(v *state.View) error {
		if !c.May(api.Admin) {
			return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
		}
		return useDatabase(&c, v, database)
	})
	return c, err
}

// Find is like Select, for a client. If the database is unknown, it catches up with the leader and looks again,
// because another node may have just created it.
func (a *Control) Find(ctx context.Context, c api.Caller, database string) (api.Caller, error) {
	found, err := a.Select(c, database)
	if !c.May(api.Admin) || !a.mayBeBehind() || !errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) || a.latest.wait(ctx) != nil {
		return found, err // without a leader, the answer of this node's state stands
	}
	return a.Select(c, database)
}

// Databases returns a caller for each database that a request means: the named one, or all that the caller may know.
func (a *Control) Databases(c api.Caller, name string) (in []api.Caller, err error) {
	if name != "" {
		c, err := a.Select(c, name)
		return []api.Caller{c}, err
	}
	err = a.state.Read(func(v *state.View) error {
		in = api.Each(Visible(c, v), func(d oplog.Database) api.Caller {
			c.DB, c.Database = d.ID, d.Name
			return c
		})
		return nil
	})
	return in, err
}

// Visible returns the databases whose names the caller may know, by number: its own, or all.
func Visible(c api.Caller, v *state.View) []oplog.Database {
	if c.May(api.Admin) {
		return v.Databases()
	}
	if d, ok := v.Database(c.DB); ok {
		return []oplog.Database{d}
	}
	return nil
}

// useDatabase sets the database of a caller.
func useDatabase(c *api.Caller, v *state.View, database string) error {
	d, ok := v.DatabaseNamed(database)
	if !ok {
		return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
	}
	c.DB, c.Database = d.ID, d.Name
	return nil
}
