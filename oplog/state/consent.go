package state

import "github.com/cairndb/cairn/oplog"

// Consented is the state of a consent. Its token has a row of its own.
type Consented struct {
	By   string `msgpack:"b"` // the hash of the token whose holder agreed
	Turn uint64 `msgpack:"n"` // the number of renewals
}

func consentKey(by, hash string) []byte { return append([]byte(by), hash...) }

// consentsOf returns the tokens that the holder of a token made by consent, including ended ones that are not removed
// yet.
func (t *txn) consentsOf(by string) (all []oplog.Token) {
	for key := range t.scan(tConsentBy, 0, []byte(by)) {
		if token, ok := read[oplog.Token](t, tToken, 0, key[len(by):]); ok {
			all = append(all, token)
		}
	}
	return all
}

// tokenEnded reports whether a token was revoked or has expired at a time.
func tokenEnded(t oplog.Token, at oplog.Time) bool {
	return t.Revoked != 0 || t.Expires != 0 && t.Expires <= at
}

// earlierExpiry returns the earlier of two expiry times, where 0 means never.
func earlierExpiry(expires, bound oplog.Time) oplog.Time {
	if expires == 0 || bound != 0 && bound < expires {
		return bound
	}
	return expires
}

// consentRest bounds how often a token gives consents: each counts for so long after it was given, even if it has ended.
// The holder of a token that may only read would otherwise give and end them until their audit rows displace all others.
const consentRest oplog.Time = 24 * 3600 * 1e6

func applyConsent(a *entryTxn, op *oplog.Consent) oplog.Result {
	by, ok := read[oplog.Token](a.txn, tToken, 0, []byte(op.By))
	rejectIf(!ok || tokenEnded(by, op.Token.At), oplog.ErrNoToken)
	rejectf(a.exists(tConsent, 0, []byte(op.By)), oplog.Denied, "a token made by consent gives no consent")
	counted := uint32(0)
	for _, t := range a.consentsOf(op.By) {
		if tokenEnded(t, op.Token.At) && t.Created+consentRest <= op.Token.At {
			a.forgetConsent(op.By, t.Hash)
			continue
		}
		counted++
	}
	rejectf(counted >= op.Most, oplog.OverQuota,
		"this token has given %d consents that are valid or less than a day old: end older ones with `cairn token revoke`, or wait", op.Most)
	made := op.Token
	made.Expires = earlierExpiry(made.Expires, by.Expires)
	r := a.createToken(&made, op.Spaces)
	write(a.txn, tConsent, 0, []byte(made.Hash), &Consented{By: op.By})
	a.put(tConsentBy, 0, consentKey(op.By, made.Hash), nil)
	return r
}

// forgetConsent removes a token made by consent that has ended.
func (a *entryTxn) forgetConsent(by, hash string) {
	a.del(tToken, 0, []byte(hash))
	a.del(tTokenUse, 0, []byte(hash))
	a.del(tLimit, 0, tokenLimit(hash))
	a.del(tConsent, 0, []byte(hash))
	a.del(tConsentBy, 0, consentKey(by, hash))
}

func applyRenew(a *entryTxn, op *oplog.Renew) oplog.Result {
	t, ok := read[oplog.Token](a.txn, tToken, 0, []byte(op.Hash))
	c, given := read[Consented](a.txn, tConsent, 0, []byte(op.Hash))
	rejectIf(!ok || !given || tokenEnded(t, op.At), oplog.ErrNoToken)
	rejectf(c.Turn != op.Turn, oplog.Conflict, "this code or refresh token was used before")
	by, ok := read[oplog.Token](a.txn, tToken, 0, []byte(c.By))
	rejectIf(!ok || tokenEnded(by, op.At), oplog.ErrNoToken)
	c.Turn++
	t.Expires = earlierExpiry(op.Expires, by.Expires)
	write(a.txn, tToken, 0, []byte(op.Hash), &t)
	write(a.txn, tConsent, 0, []byte(op.Hash), &c)
	return oplog.Result{ID: op.Hash, Num: c.Turn, Changed: true}
}
