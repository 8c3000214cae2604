package operate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// Me returns the caller's scopes and database.
func (ad *Admin) Me(_ context.Context, c api.Caller, _ *api.Nothing) (*api.MeAnswer, error) {
	return &api.MeAnswer{Database: c.Database, ID: c.DB, Scopes: c.Scopes, Spaces: c.Spaces, Trust: c.Class(),
		Holds: c.Policy.Quarantine, Master: c.Token == "", NodeID: ad.cfg.NodeID, Wire: ad.cfg.Wire, HTTP: ad.cfg.HTTP}, nil
}

// CreateToken creates a client token for a database. It returns the token's text, which is not stored.
func (ad *Admin) CreateToken(ctx context.Context, c api.Caller, q *api.CreateTokenRequest) (*api.CreatedToken, error) {
	d, err := ad.databaseOf(c, q)
	if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) { // another node may have just created it
		if err := ad.cfg.CatchUp(ctx); err != nil {
			return nil, err
		}
		d, err = ad.databaseOf(c, q)
	}
	if err != nil {
		return nil, err
	}
	scopes := q.Scopes
	if len(scopes) == 0 {
		scopes = []string{string(api.Read), string(api.Write)}
	}
	for _, sc := range scopes {
		if !slices.Contains([]api.Scope{api.Read, api.Write, api.Owner, api.Admin}, api.Scope(sc)) {
			return nil, oplog.Errorf(oplog.Invalid, "scope %q: want read, write, owner or admin", sc)
		}
		if !c.May(api.Scope(sc)) { // a token can give only scopes that it has
			return nil, api.NoScope(api.Scope(sc))
		}
	}
	spaces, err := parseSpaces(q.Spaces, scopes)
	if err != nil {
		return nil, err
	}
	var expires oplog.Time
	if !q.Expires.IsZero() {
		if expires = oplog.At(q.Expires.Time); !q.Expires.After(ad.cfg.Access.Now()) {
			return nil, oplog.Errorf(oplog.Invalid, "expires_at is in the past")
		}
	}
	policy, err := policyOf(c, q, scopes)
	if err != nil {
		return nil, err
	}
	text := access.NewToken()
	op := &oplog.CreateToken{Policy: policy, Hash: access.HashToken(text), DB: d.ID, Label: q.Label, Scopes: q.Scopes,
		At: oplog.At(ad.cfg.Access.Now()), Expires: expires}
	proposed := oplog.Op(op)
	if spaces.Bind() {
		proposed = &oplog.CreateBound{Token: *op, Spaces: spaces}
	}
	_, _, err = ad.propose(ctx, c, proposed)
	return &api.CreatedToken{Token: text, Database: d.Name, DatabaseID: d.ID, Label: q.Label, Spaces: spaces,
		Trust: policy.Trust, Quarantine: policy.Quarantine, Hash: access.Prefix(op.Hash), Replicated: true}, err
}

// maxSpaces bounds the prefixes that bind a token, because scans search each of them separately.
const maxSpaces = 16

// parseSpaces parses the prefixes that bind a token. A token with scope admin cannot be bound, because it reaches
// other databases.
func parseSpaces(prefixes, scopes []string) (spaces oplog.Spaces, err error) {
	if len(prefixes) > maxSpaces {
		return nil, oplog.Errorf(oplog.Invalid, "namespaces has %d namespaces: at most %d", len(prefixes), maxSpaces)
	}
	if len(prefixes) > 0 && slices.Contains(scopes, string(api.Admin)) {
		return nil, oplog.Errorf(oplog.Invalid,
			"namespaces: a token with the scope admin cannot be bound to namespaces: leave out one of the two")
	}
	for _, p := range prefixes {
		p = strings.TrimRight(strings.TrimSpace(p), "/")
		if p == "" || len(p) > oplog.MaxName {
			return nil, oplog.Errorf(oplog.Invalid,
				"namespaces: want the beginning of a namespace of 1 to %d bytes, such as agents/billing", oplog.MaxName)
		}
		spaces = append(spaces, p)
	}
	return spaces, nil
}

// policyOf returns the policy of a new token. Its trust class is at most the caller's, and its quarantine is at least
// as strict.
func policyOf(c api.Caller, q *api.CreateTokenRequest, scopes []string) (p oplog.Policy, err error) {
	defaultTrust := oplog.TrustAgent
	if slices.Contains(scopes, string(api.Owner)) || slices.Contains(scopes, string(api.Admin)) {
		defaultTrust = oplog.TrustOperator
	}
	if oplog.TrustBelow(c.Policy.Trust, cmp.Or(q.Trust, oplog.TrustWeb)) > 0 {
		return p, api.TooTrusted("trust: a token gives no more than it has, which is %s, got %s", oplog.TrustOf(c.Policy.Trust), q.Trust)
	}
	p.Trust = cmp.Or(q.Trust, oplog.LowestTrust(defaultTrust, c.Policy.Trust))
	p.Quarantine = cmp.Or(q.Quarantine, c.Policy.Quarantine)
	if required := c.Policy.Quarantine; required != "" && oplog.TrustBelow(p.Quarantine, required) > 0 {
		p.Quarantine = required
	}
	return p, nil
}

// databaseOf returns the database of a new token, by number or name. A database that the caller may not reach is not
// found.
func (ad *Admin) databaseOf(c api.Caller, q *api.CreateTokenRequest) (d oplog.Database, err error) {
	name := cmp.Or(q.Database, c.Database)
	err = ad.cfg.State.Read(func(v *state.View) error {
		ok, absent := false, oplog.Errorf(oplog.NotFound, "database not found")
		if q.DatabaseID > 0 {
			d, ok = v.Database(oplog.DB(q.DatabaseID))
		} else {
			d, ok = v.DatabaseNamed(name)
			absent = oplog.Errorf(oplog.NotFound, "database '%s' not found", name)
		}
		if !ok || d.ID != c.DB && !c.May(api.Admin) {
			return absent
		}
		return nil
	})
	return d, err
}

// RevokeToken ends a token, and reports whether there was a valid one.
func (ad *Admin) RevokeToken(ctx context.Context, c api.Caller, q *api.RevokeTokenRequest) (*api.RevokedToken, error) {
	t, err := ad.tokenNamed(ctx, c, q.Token)
	if err != nil || t.Hash == "" {
		return &api.RevokedToken{}, err
	}
	_, ended, err := ad.propose(ctx, c, &oplog.RevokeToken{Hash: t.Hash, At: oplog.At(ad.cfg.Access.Now())})
	return &api.RevokedToken{Revoked: ended.Changed}, err
}

// LimitToken sets the limits of a token on each node. A request without limits removes them.
func (ad *Admin) LimitToken(ctx context.Context, c api.Caller, q *api.LimitTokenRequest) (*api.LimitedToken, error) {
	t, err := ad.tokenNamed(ctx, c, q.Token)
	if err != nil {
		return nil, err
	}
	if t.Hash == "" {
		return nil, oplog.ErrNoToken
	}
	at, _, err := ad.propose(ctx, c, &oplog.SetLimit{Token: t.Hash, Limit: oplog.Limit(q.Bounds)})
	return &api.LimitedToken{Hash: access.Prefix(t.Hash), Bounds: q.Bounds, Index: field.Token(at)}, err
}

// minPrefix is the least length of a prefix of a hash that identifies a token.
const minPrefix = 8

// tokenNamed returns a token that the caller may administer, by its text, its hash or a unique prefix of the hash. If
// it is unknown, tokenNamed catches up with the leader and looks again, because another node may have just created
// it.
func (ad *Admin) tokenNamed(ctx context.Context, c api.Caller, name string) (found oplog.Token, err error) {
	if name == "" {
		return found, oplog.Errorf(oplog.Invalid, "missing 'token'")
	}
	if found, err = ad.findToken(c, name); err != nil || found.Hash != "" {
		return found, err
	}
	if err := ad.cfg.CatchUp(ctx); err != nil {
		return found, err
	}
	return ad.findToken(c, name)
}

func (ad *Admin) findToken(c api.Caller, name string) (found oplog.Token, err error) {
	err = ad.cfg.State.Read(func(v *state.View) error {
		for _, hash := range []string{access.HashToken(name), name} {
			if t, ok := v.Token(hash); ok && administers(c, t) {
				found = t
				return nil
			}
		}
		if len(name) < minPrefix {
			return nil
		}
		for _, t := range v.Tokens() {
			if !strings.HasPrefix(t.Hash, name) || !administers(c, t) {
				continue
			}
			if found.Hash != "" {
				return oplog.Errorf(oplog.Conflict, "more than one token begins with %s", name)
			}
			found = t
		}
		return nil
	})
	return found, err
}

// administers reports whether the caller may see and end a token.
func administers(c api.Caller, t oplog.Token) bool {
	return c.May(api.Admin) || c.May(api.Owner) && t.DB == c.DB && !slices.Contains(t.Scopes, string(api.Admin))
}

// Tokens lists the tokens that the caller may administer, oldest first.
func (ad *Admin) Tokens(v *state.View, c api.Caller, _ *api.ReadRequest) (*api.TokenList, error) {
	list := &api.TokenList{Tokens: []api.Token{}}
	limits, names := v.Limits(), databaseNames(v)
	for _, t := range byAge(v.Tokens()) {
		if administers(c, t) {
			list.Tokens = append(list.Tokens,
				api.Token{HashPrefix: access.Prefix(t.Hash), Database: names[t.DB], Label: t.Label,
					Scopes: api.OrEmpty(t.Scopes), Spaces: t.Spaces, Trust: oplog.TrustOf(access.PolicyOf(t).Trust), Quarantine: t.Quarantine,
					Created: t.Created.Seconds(), Expires: api.When(t.Expires), Revoked: api.When(t.Revoked),
					Used: api.When(ad.cfg.Access.LastUsed(v, t.Hash)), Bounds: api.Bounds(limits.Tokens[t.Hash])})
		}
	}
	return list, nil
}

func byAge(tokens []oplog.Token) []oplog.Token {
	slices.SortStableFunc(tokens, func(a, b oplog.Token) int { return cmp.Compare(a.Created, b.Created) })
	return tokens
}

// ControlSnapshot returns all databases and all valid tokens, for administrators of the cluster.
func (ad *Admin) ControlSnapshot(v *state.View, c api.Caller, _ *api.ReadRequest) (*api.Control, error) {
	if !c.May(api.Admin) {
		return nil, &api.Refusal{Code: "forbidden", Err: oplog.Errorf(oplog.Denied, "a token with the scope admin is needed")}
	}
	now := oplog.At(ad.cfg.Access.Now())
	valid := slices.DeleteFunc(byAge(v.Tokens()), func(t oplog.Token) bool { return t.Revoked != 0 || t.Expires != 0 && t.Expires <= now })
	return &api.Control{Databases: api.Each(v.Databases(), func(d oplog.Database) api.KeptDatabase {
		return api.KeptDatabase{ID: d.ID, Name: d.Name, Path: d.Name, Created: d.Created.Time().UTC().Format(time.DateTime)}
	}), Tokens: api.Each(valid, func(t oplog.Token) api.KeptToken {
		return api.KeptToken{Hash: t.Hash, DB: t.DB, Label: t.Label, Created: t.Created.Time().UTC().Format(time.DateTime)}
	})}, nil
}
