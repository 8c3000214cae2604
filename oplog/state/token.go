package state

import "github.com/cairndb/cairn/oplog"

func applyUses(a *entryTxn, op *oplog.Uses) oplog.Result {
	var r oplog.Result
	for _, u := range op.Uses {
		t, ok := read[oplog.Token](a.txn, tToken, 0, []byte(u.Hash))
		if !ok || t.Revoked != 0 || a.TokenUsed(u.Hash) >= u.At {
			continue
		}
		a.put(tTokenUse, 0, []byte(u.Hash), be64(uint64(u.At)))
		r.Num, r.Changed = r.Num+1, true
	}
	return r
}

// TokenUsed returns the time of a token's last recorded use; 0 for never.
func (t *txn) TokenUsed(hash string) oplog.Time {
	return oplog.Time(beUint64(t.get(tTokenUse, 0, []byte(hash))))
}

func applyCreateToken(a *entryTxn, op *oplog.CreateToken) oplog.Result { return a.createToken(op, nil) }

func applyCreateBound(a *entryTxn, op *oplog.CreateBound) oplog.Result {
	rejectf(len(op.Spaces) == 0, oplog.Invalid, "a bound token has one namespace at least")
	return a.createToken(&op.Token, op.Spaces)
}

func (a *entryTxn) createToken(op *oplog.CreateToken, spaces oplog.Spaces) oplog.Result {
	rejectf(len(op.Hash) != 64, oplog.Invalid, "a token's hash has 64 hex digits")
	rejectIf(!a.exists(tDatabase, 0, be64(uint64(op.DB))), oplog.ErrNoDatabase)
	rejectf(a.exists(tToken, 0, []byte(op.Hash)), oplog.Conflict, "this token exists already")
	write(a.txn, tToken, 0, []byte(op.Hash), &oplog.Token{Hash: op.Hash, DB: op.DB, Label: op.Label, Scopes: op.Scopes,
		Expires: op.Expires, Created: op.At, Spaces: spaces, Policy: op.Policy})
	return oplog.Result{ID: op.Hash, Changed: true}
}

func applyRevokeToken(a *entryTxn, op *oplog.RevokeToken) oplog.Result {
	t, ok := read[oplog.Token](a.txn, tToken, 0, []byte(op.Hash))
	if !ok || t.Revoked != 0 {
		return oplog.Result{ID: op.Hash}
	}
	a.revokeToken(t, op.At)
	return oplog.Result{ID: op.Hash, Changed: true}
}

func (a *entryTxn) revokeToken(t oplog.Token, at oplog.Time) {
	t.Revoked = at
	write(a.txn, tToken, 0, []byte(t.Hash), &t)
	a.del(tLimit, 0, tokenLimit(t.Hash))
	for _, given := range a.consentsOf(t.Hash) {
		if given.Revoked == 0 {
			a.revokeToken(given, at)
		}
	}
}

// Token finds a token by its hash.
func (v *View) Token(hash string) (oplog.Token, bool) {
	return read[oplog.Token](v.txn, tToken, 0, []byte(hash))
}

// Tokens returns all tokens by hash, including revoked ones.
func (v *View) Tokens() []oplog.Token { return list[oplog.Token](v.txn, tToken, 0, nil) }
