package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A token is for one database. Whoever owns the database makes, sees and ends the tokens for it, but none that may more
// than that; whoever administers the cluster does so for all.

// CreateToken makes a client token for a database. The text is returned once and kept nowhere.
func (s *Service) CreateToken(ctx context.Context, c Caller, database, label string, scopes []string, expires time.Time) (text string, err error) {
	target, err := s.Select(c, database)
	if err != nil {
		return "", err
	}
	for _, sc := range scopes {
		if !slices.Contains([]Scope{Read, Write, Owner, Admin}, Scope(sc)) {
			return "", oplog.Errorf(oplog.Invalid, "scope %q: read, write, owner or admin", sc)
		}
		if Scope(sc) == Admin && !c.May(Admin) {
			return "", noScope(Admin)
		}
	}
	if !expires.IsZero() && !expires.After(time.Now()) {
		return "", oplog.Errorf(oplog.Invalid, "expires_at is in the past")
	}
	text = newToken()
	op := &oplog.CreateToken{Hash: HashToken(text), DB: target.DB, Label: label, Scopes: scopes, At: oplog.At(time.Now())}
	if !expires.IsZero() {
		op.Expires = oplog.At(expires)
	}
	_, err = s.write(ctx, c, write{scope: Owner, system: true, ops: []oplog.Op{op}})
	return text, err
}

func newToken() string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	return "ydb_" + hex.EncodeToString(raw)
}

// RevokeToken ends a token, given as its text, its hash or the beginning of its hash; false when there was none to end.
func (s *Service) RevokeToken(ctx context.Context, c Caller, token string) (bool, error) {
	t, err := s.tokenNamed(c, token)
	if err != nil || t.Hash == "" {
		return false, err
	}
	w, err := s.write(ctx, c, write{scope: Owner, system: true, ops: []oplog.Op{&oplog.RevokeToken{Hash: t.Hash, At: oplog.At(time.Now())}}})
	return err == nil && w.Results[0].Changed, err
}

// LimitToken bounds what a token asks of each node; the zero limit takes the bound away.
func (s *Service) LimitToken(ctx context.Context, c Caller, token string, l oplog.Limit) (t oplog.Token, w Written, err error) {
	if t, err = s.tokenNamed(c, token); err != nil {
		return t, w, err
	}
	if t.Hash == "" {
		return t, w, oplog.ErrNoToken
	}
	w, err = s.write(ctx, c, write{scope: Owner, system: true, ops: []oplog.Op{&oplog.SetLimit{Token: t.Hash, Limit: l}}})
	return t, w, err
}

// minPrefix is how many digits of a hash name a token at least.
const minPrefix = 8

// tokenNamed finds a token that the caller may administer by its text, its hash, or a beginning of that which only one has.
func (s *Service) tokenNamed(c Caller, name string) (found oplog.Token, err error) {
	if !c.May(Owner) {
		return found, noScope(Owner)
	}
	err = s.state.Read(func(v *oplog.View) error {
		for _, hash := range []string{HashToken(name), name} {
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

// administers says whether a token is the caller's to see and to end.
func administers(c Caller, t oplog.Token) bool {
	return c.May(Admin) || c.May(Owner) && t.DB == c.DB && !slices.Contains(t.Scopes, string(Admin))
}

// TokenInfo is a token with what is known of it.
type TokenInfo struct {
	oplog.Token
	Used  oplog.Time // 0 for never
	Limit oplog.Limit
}

// Tokens lists the tokens that the caller may administer, in the order they were made.
func (s *Service) Tokens(ctx context.Context, c Caller) (tokens []TokenInfo, err error) {
	if !c.May(Owner) {
		return nil, noScope(Owner)
	}
	err = s.state.Read(func(v *oplog.View) error {
		limits, all := v.Limits(), v.Tokens()
		byAge(all)
		for _, t := range all {
			if administers(c, t) {
				tokens = append(tokens, TokenInfo{t, s.uses.last(v, t.Hash), limits.Tokens[t.Hash]})
			}
		}
		return nil
	})
	return tokens, err
}
