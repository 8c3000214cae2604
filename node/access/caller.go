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

// NewToken makes the text of a client token: 256 bits of chance.
func NewToken() string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	return "ydb_" + hex.EncodeToString(raw)
}

// HashToken returns the hash that the state stores in place of a token.
func HashToken(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// Prefix returns the part of a token's hash that the audit and lists show. A hash that another node sends may be
// shorter.
func Prefix(hash string) string { return hash[:min(len(hash), api.HashPrefix)] }

// ErrToken rejects a token that is unknown, revoked or expired.
var ErrToken = &oplog.Error{Kind: oplog.Denied, Text: "invalid or revoked token"}

// ErrStarting rejects what a node does not know yet: it was killed, and has not applied its log again.
var ErrStarting = &oplog.Error{Kind: oplog.Unavailable,
	Text: "this node has just started and does not know yet all that it holds; retry, or ask another node"}

// errFull rejects the same on a node whose disk is full.
var errFull = &oplog.Error{Kind: oplog.Unavailable,
	Text: "disk full: this node does not know yet all that it holds; free space on its disk, or ask another node"}

// read looks something up. Not to find it means nothing while the state lacks what the log has.
func (a *Control) read(f func(*state.View) error) error {
	whole := a.whole == nil || a.whole() // before: what was not there may be a moment later
	err := a.state.Read(f)
	if !whole && (errors.Is(err, ErrToken) || errors.Is(err, &oplog.Error{Kind: oplog.NotFound})) {
		return a.Starting()
	}
	return err
}

// Starting returns the reason why this node does not know yet all that it holds: it has just started, or its disk is
// full, and then the log takes nothing.
func (a *Control) Starting() error {
	if a.refusal != nil && a.refusal() != nil {
		return errFull // the sizes in the rejection are for callers with a token
	}
	return ErrStarting
}

// unsure reports whether a token was rejected only for now: a retry, or another node, may let it in.
func unsure(err error) bool { return errors.Is(err, &oplog.Error{Kind: oplog.Unavailable}) }

// Authenticate turns a token's text into a caller, as far as this node knows.
func (a *Control) Authenticate(token string) (api.Caller, error) {
	if a.isSecret(token) {
		return master, nil
	}
	c, _, err := a.holder(HashToken(token))
	if err == nil {
		a.Used(c.Token)
	}
	return c, err
}

// master is the caller that shows the cluster secret.
var master = api.Caller{DB: oplog.DefaultDB, Database: "default", Scopes: All, By: api.ByMaster, Policy: operators}

// holder is the caller that a token's hash makes. known reports whether the state has the token, be it valid or not.
func (a *Control) holder(hash string) (c api.Caller, known bool, err error) {
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

// PolicyOf returns the policy of a token. One that was made without a class of trust writes as an operator where its
// scopes administer.
func PolicyOf(t oplog.Token) oplog.Policy {
	p := t.Policy
	if p.Trust == "" && (slices.Contains(t.Scopes, string(api.Owner)) || slices.Contains(t.Scopes, string(api.Admin))) {
		p.Trust = oplog.TrustOperator
	}
	return p
}

// Asked is the caller in whose name another member asks this one, in a database. What a token may is read here, and not
// told by the member: one that was revoked asks nothing. A caller without a token has the rights that this node would
// give it.
func (a *Control) Asked(ctx context.Context, token, by, database string) (c api.Caller, err error) {
	switch {
	case token != "":
		c, err = a.seek(ctx, token)
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
	return c, a.read(func(v *state.View) error { return use(&c, v, database) })
}

func (a *Control) valid(t oplog.Token) bool {
	return t.Revoked == 0 && (t.Expires == 0 || t.Expires > oplog.At(a.now()))
}

// isSecret compares hashes, so that neither length nor content of a secret shows in the time it takes.
func (a *Control) isSecret(token string) bool {
	got, same := sha256.Sum256([]byte(token)), 0
	for _, want := range a.secrets {
		same |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return same == 1
}

// TokensEnded is closed when tokens may have ended that Holds is asked for: some were revoked with what was applied
// next, or the state was replaced. That a token expires is told by its time alone.
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
	go a.endBound() // not on the path of commits: there may be thousands
}

// EndsTokens reports whether an outcome may have ended tokens: callers that were let in are asked for again.
func EndsTokens(o oplog.Outcome) bool {
	return did(o, oplog.KindOf[oplog.RevokeToken](), oplog.KindOf[oplog.DropDB]())
}

// did reports whether an entry was applied and has an operation of one of the kinds.
func did(o oplog.Outcome, kinds ...oplog.OpKind) bool {
	return o.Err == nil && slices.ContainsFunc(o.Entry.Ops, func(op oplog.Op) bool { return slices.Contains(kinds, op.Kind()) })
}

// Local is the caller of a surface whose clients are this host's own user. A database that is not there is looked for
// again as Find does.
func (a *Control) Local(database string) (api.Caller, error) {
	c := api.Caller{Scopes: Local, Forward: true, By: api.ByLocal}
	look := func(v *state.View) error { return use(&c, v, database) }
	err := a.read(look)
	if a.behind() && errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) && a.latest.wait(context.Background()) == nil { // two rounds at most
		err = a.read(look)
	}
	return c, err
}

// Select returns the caller in another database. The cluster secret, the node itself and tokens with scope admin reach
// every database; for others only their own exists.
func (a *Control) Select(c api.Caller, database string) (api.Caller, error) {
	if database == "" || database == c.Database {
		return c, nil
	}
	err := a.read(func(v *state.View) error {
		if !c.May(api.Admin) {
			return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
		}
		return use(&c, v, database)
	})
	return c, err
}

// Find is Select for a client. A database that is not there is looked for again behind all that was acknowledged:
// another node may have made it just now.
func (a *Control) Find(ctx context.Context, c api.Caller, database string) (api.Caller, error) {
	found, err := a.Select(c, database)
	if !c.May(api.Admin) || !a.behind() || !errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) || a.latest.wait(ctx) != nil {
		return found, err // without a leader, what this node has is all that is known
	}
	return a.Select(c, database)
}

// Databases are the callers of the databases that a request means: the one it names, or all that the caller may know.
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

// Visible are the databases whose names the caller may know, by number: its own, or all.
func Visible(c api.Caller, v *state.View) []oplog.Database {
	if c.May(api.Admin) {
		return v.Databases()
	}
	if d, ok := v.Database(c.DB); ok {
		return []oplog.Database{d}
	}
	return nil
}

// use puts a caller into a database.
func use(c *api.Caller, v *state.View, database string) error {
	d, ok := v.DatabaseNamed(database)
	if !ok {
		return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
	}
	c.DB, c.Database = d.ID, d.Name
	return nil
}
