package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// CreateDatabase makes a database; its number is the same on every node.
func (s *Service) CreateDatabase(ctx context.Context, c Caller, name string) (oplog.DB, Written, error) {
	if !oplog.ValidDatabaseName(name) {
		return 0, Written{}, oplog.Errorf(oplog.Invalid, "database name must be 1 to 64 of A-Z a-z 0-9 . _ - and not start with a dot")
	}
	w, err := s.write(ctx, c, write{scope: Write, system: true, ops: []oplog.Op{&oplog.CreateDB{Name: name, At: oplog.At(time.Now())}}})
	if err != nil {
		return 0, w, err
	}
	return oplog.DB(w.Results[0].Num), w, nil
}

// DropDatabase removes a database with all that is in it; tokens for it are revoked.
func (s *Service) DropDatabase(ctx context.Context, c Caller, name string) error {
	_, err := s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{&oplog.DropDB{Name: name, At: oplog.At(time.Now())}}})
	return err
}

// SetQuota bounds a database's active memories; 0 is no bound.
func (s *Service) SetQuota(ctx context.Context, c Caller, database string, memories uint64) (Written, error) {
	target, err := s.Select(c, database)
	if err != nil {
		return Written{}, err
	}
	return s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{&oplog.SetQuota{DB: target.DB, MaxMemories: memories}}})
}

// Databases lists all databases by number.
func (s *Service) Databases(ctx context.Context, c Caller, f Freshness) (dbs []oplog.Database, err error) {
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		dbs = v.Databases()
		return nil
	})
	return dbs, err
}

// Stats are the counters of the caller's database.
func (s *Service) Stats(ctx context.Context, c Caller, f Freshness) (st oplog.Stats, err error) {
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		st = v.Stats(c.DB)
		return nil
	})
	return st, err
}

// CreateToken makes a client token for a database. The text is returned once and kept nowhere.
func (s *Service) CreateToken(ctx context.Context, c Caller, database, label string, scopes []string, expires time.Time) (text string, err error) {
	target, err := s.Select(c, database)
	if err != nil {
		return "", err
	}
	for _, sc := range scopes {
		if sc != string(Read) && sc != string(Write) && sc != string(Admin) {
			return "", oplog.Errorf(oplog.Invalid, "scope %q: read, write or admin", sc)
		}
	}
	text = newToken()
	op := &oplog.CreateToken{Hash: HashToken(text), DB: target.DB, Label: label, Scopes: scopes, At: oplog.At(time.Now())}
	if !expires.IsZero() {
		op.Expires = oplog.At(expires)
	}
	_, err = s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{op}})
	return text, err
}

func newToken() string {
	raw := make([]byte, 32)
	rand.Read(raw) // never fails
	return "ydb_" + hex.EncodeToString(raw)
}

// RevokeToken ends a token, given as its text or its hash; false when there was none to end.
func (s *Service) RevokeToken(ctx context.Context, c Caller, token string) (bool, error) {
	hash := HashToken(token)
	if err := s.state.Read(func(v *oplog.View) error {
		if _, ok := v.Token(token); ok {
			hash = token
		}
		return nil
	}); err != nil {
		return false, err
	}
	w, err := s.write(ctx, c, write{scope: Admin, system: true, ops: []oplog.Op{&oplog.RevokeToken{Hash: hash, At: oplog.At(time.Now())}}})
	return err == nil && w.Results[0].Changed, err
}

// Tokens lists all tokens, by hash.
func (s *Service) Tokens(ctx context.Context, c Caller) (tokens []oplog.Token, err error) {
	if !c.May(Admin) {
		return nil, oplog.Errorf(oplog.Denied, "token has no %s scope", Admin)
	}
	err = s.state.Read(func(v *oplog.View) error {
		tokens = v.Tokens()
		return nil
	})
	return tokens, err
}
