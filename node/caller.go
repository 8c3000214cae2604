package node

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

var allScopes = []api.Scope{api.Read, api.Write, api.Admin}

// HashToken is what is stored of a token.
func HashToken(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

var errToken = &oplog.Error{Kind: oplog.Denied, Text: "invalid or revoked token"}

// Authenticate turns a token's text into a caller.
func (s *Service) Authenticate(token string) (api.Caller, error) { return s.authenticate(token, true) }

// authenticate compares a token with the cluster secret only if it is told to.
func (s *Service) authenticate(token string, master bool) (api.Caller, error) {
	c := api.Caller{}
	if master && s.isMaster(token) {
		c.DB, c.Database, c.Scopes, c.By = oplog.DefaultDB, "default", allScopes, api.ByMaster
		return c, nil
	}
	hash := HashToken(token)
	err := s.state.Read(func(v *oplog.View) error {
		t, ok := v.Token(hash)
		if !ok || t.Revoked != 0 || (t.Expires != 0 && t.Expires <= oplog.At(time.Now())) {
			return errToken
		}
		d, ok := v.Database(t.DB)
		if !ok {
			return errToken
		}
		c.DB, c.Database, c.Token, c.Label = d.ID, d.Name, hash, t.Label
		for _, sc := range t.Scopes {
			c.Scopes = append(c.Scopes, api.Scope(sc))
		}
		return nil
	})
	if len(c.Scopes) == 0 {
		c.Scopes = []api.Scope{api.Read, api.Write}
	}
	if err == nil {
		s.uses.saw(hash, time.Now())
	}
	return c, err
}

// isMaster compares hashes, so that neither length nor content of the secret shows in the time it takes.
func (s *Service) isMaster(token string) bool {
	if s.cfg.Secret == "" || s.cfg.NoMasterToken {
		return false
	}
	got, same := sha256.Sum256([]byte(token)), 0
	for _, secret := range append([]string{s.cfg.Secret}, s.cfg.OtherSecrets...) {
		want := sha256.Sum256([]byte(secret))
		same |= subtle.ConstantTimeCompare(got[:], want[:])
	}
	return same == 1
}

// Local is the caller of a surface whose clients are this host's own user.
func (s *Service) Local(database string) (api.Caller, error) {
	c := api.Caller{Scopes: allScopes, Forward: true, By: api.ByLocal}
	return c, s.state.Read(func(v *oplog.View) error { return use(&c, v, database) })
}

// Select is the caller in another database: the master token may go anywhere, others stay where their token put them.
func (s *Service) Select(c api.Caller, database string) (api.Caller, error) {
	if database == "" || database == c.Database {
		return c, nil
	}
	return c, s.state.Read(func(v *oplog.View) error {
		if c.Token != "" && !c.May(api.Admin) {
			return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
		}
		return use(&c, v, database)
	})
}

// use puts a caller into a database.
func use(c *api.Caller, v *oplog.View, database string) error {
	d, ok := v.DatabaseNamed(database)
	if !ok {
		return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
	}
	c.DB, c.Database = d.ID, d.Name
	return nil
}
