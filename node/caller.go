package node

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A Scope is what a token lets its holder do.
type Scope string

// The scopes. A token without any has read and write.
const (
	Read  Scope = "read"
	Write Scope = "write"
	Owner Scope = "owner" // administers its own database: tokens, policies, purges
	Admin Scope = "admin" // administers the cluster, and reaches every database
)

// A Caller is who asks, for which database, with which rights. Surfaces get one from Authenticate, or,
// where the protocol knows no tokens and the socket's mode is the lock, from Local.
type Caller struct {
	DB       oplog.DB
	Database string
	Token    string  // hash; empty for the master token and local callers
	Label    string  // the token's
	By       string  // who it is that has no token: see the by constants
	Scopes   []Scope // what is allowed
	Forward  bool    // writes follow the leader by themselves
	Quiet    bool    // what it recalls is not reinforced

	usual   int // operations a second where nothing else is agreed on; 0 for no bound
	counted int // operations of the request that its limits have counted already
}

// Who asks without a token.
const (
	byMaster = "master" // the cluster secret
	byLocal  = "local"  // this host's user, over a socket of this host
	byNode   = "node"   // a node, of its own accord
)

// who is the caller as the audit names it.
func (c Caller) who() string {
	if c.Token == "" {
		return c.By
	}
	return c.Token[:hashPrefix]
}

// May says whether the caller has a right.
func (c Caller) May(s Scope) bool {
	return slices.Contains(c.Scopes, s) || s == Owner && slices.Contains(c.Scopes, Admin)
}

// noScope refuses a caller who is known and may not.
func noScope(s Scope) error {
	return &statusError{status: http.StatusForbidden, code: "insufficient_scope", err: oplog.Errorf(oplog.Denied, "token has no %s scope", s)}
}

var allScopes = []Scope{Read, Write, Admin}

// HashToken is what is stored of a token.
func HashToken(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

var errToken = &oplog.Error{Kind: oplog.Denied, Text: "invalid or revoked token"}

// Authenticate turns a token's text into a caller.
func (s *Service) Authenticate(token string) (Caller, error) { return s.authenticate(token, true) }

// authenticate compares a token with the cluster secret only if it is told to.
func (s *Service) authenticate(token string, master bool) (Caller, error) {
	c := Caller{}
	if master && s.isMaster(token) {
		c.DB, c.Database, c.Scopes, c.By = oplog.DefaultDB, "default", allScopes, byMaster
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
			c.Scopes = append(c.Scopes, Scope(sc))
		}
		return nil
	})
	if len(c.Scopes) == 0 {
		c.Scopes = []Scope{Read, Write}
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
func (s *Service) Local(database string) (Caller, error) {
	c := Caller{Scopes: allScopes, Forward: true, By: byLocal}
	return c, s.state.Read(func(v *oplog.View) error { return c.use(v, database) })
}

// Select is the caller in another database: the master token may go anywhere, others stay where their token put them.
func (s *Service) Select(c Caller, database string) (Caller, error) {
	if database == "" || database == c.Database {
		return c, nil
	}
	return c, s.state.Read(func(v *oplog.View) error {
		if c.Token != "" && !c.May(Admin) {
			return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
		}
		return c.use(v, database)
	})
}

func (c *Caller) use(v *oplog.View, database string) error {
	d, ok := v.DatabaseNamed(database)
	if !ok {
		return oplog.Errorf(oplog.NotFound, "database '%s' not found", database)
	}
	c.DB, c.Database = d.ID, d.Name
	return nil
}
