package state

import "github.com/cairndb/cairn/oplog"

func applyAssert(a *entryTxn, op *oplog.Assert) oplog.Result {
	c := a.canonicalClaim(&op.Claim)
	return a.upsertClaim(&c, statementKey(&c), sourceStatementKey(&c))
}

func applyStated(a *entryTxn, op *oplog.Stated) (r oplog.Result) {
	for _, t := range op.Texts {
		m, ok := a.liveMemory(t.RID)
		if ok && m.Status == oplog.Active && !m.Unsearchable && a.addClaims(m, t.Claims) {
			a.putMemory(m)
			r.Num, r.Changed = r.Num+1, true
		}
	}
	return r
}

func applyClaim(a *entryTxn, op *oplog.Claim) oplog.Result {
	c := a.canonicalClaim(op)
	return a.upsertClaim(&c, sourceStatementKey(&c))
}

func (a *entryTxn) boundClaim(b oplog.ClaimBound, at oplog.Time) bool {
	c, ok := read[oplog.StoredClaim](a.txn, tClaim, a.db, []byte(b.ID))
	if !ok || c.ValidTo != nil && *c.ValidTo <= b.To {
		return false
	}
	c.ValidTo, c.Updated = &b.To, at
	write(a.txn, tClaim, a.db, []byte(b.ID), &c)
	return true
}

// canonicalClaim returns a claim under its canonical names.
func (a *entryTxn) canonicalClaim(op *oplog.Claim) oplog.StoredClaim {
	c := oplog.StoredClaim{Claim: *op, Updated: op.At}
	c.Src, c.Dst = a.canonical(op.Namespace, op.Src), a.canonical(op.Namespace, op.Dst)
	if m, ok := a.liveMemory(op.SourceRID); ok {
		c.Trust = inheritedTrust(c.Trust, m)
	}
	return c
}

// statementKey encodes a claim's relation and the extractor that found it.
func statementKey(c *oplog.StoredClaim) []byte {
	return joinKey(c.Namespace, c.Src, c.Type, c.Dst, string(rune('1'+c.Polarity)), c.Extractor)
}

// sourceStatementKey is statementKey with the source: a Claim is one claim for each memory that states it.
func sourceStatementKey(c *oplog.StoredClaim) []byte {
	return joinKey(c.Namespace, c.Src, c.Type, c.Dst, string(rune('1'+c.Polarity)), c.Extractor, c.SourceRID)
}

// complete reports whether a claim has all parts of a relation.
func complete(c *oplog.StoredClaim) bool { return c.Src != "" && c.Dst != "" && c.Type != "" }

// upsertClaim stores a claim under a key of tStatement. If there is a claim under this key or one of the others, it
// updates that claim.
func (a *entryTxn) upsertClaim(c *oplog.StoredClaim, key []byte, others ...[]byte) oplog.Result {
	rejectf(!complete(c), oplog.Invalid, "a claim needs a src, a rel_type and a dst")
	for _, k := range append([][]byte{key}, others...) {
		id := a.get(tStatement, a.db, k)
		if id == nil {
			continue
		}
		old, ok := read[oplog.StoredClaim](a.txn, tClaim, a.db, id)
		if !ok { // it was dropped after another source had taken it over
			a.del(tStatement, a.db, k)
			continue
		}
		if was := sourceStatementKey(&old); old.SourceRID != c.SourceRID && string(a.get(tStatement, a.db, was)) == old.ID {
			a.del(tStatement, a.db, was)
		}
		c.ID, c.At = old.ID, old.At
		a.put(tStatement, a.db, key, []byte(c.ID))
		write(a.txn, tClaim, a.db, []byte(c.ID), c)
		return oplog.Result{ID: c.ID}
	}
	rejectf(c.ID == "" || a.exists(tClaim, a.db, []byte(c.ID)), oplog.Conflict, "claim id %q is taken", c.ID)
	a.putClaim(c, key)
	at := c.Updated
	a.mention(oplog.Mention{Name: c.Src}, 0, at)
	a.mention(oplog.Mention{Name: c.Dst}, 0, at)
	return oplog.Result{ID: c.ID, Changed: true}
}

// putClaim stores a new claim.
func (a *entryTxn) putClaim(c *oplog.StoredClaim, key []byte) {
	write(a.txn, tClaim, a.db, []byte(c.ID), c)
	a.put(tStatement, a.db, key, []byte(c.ID))
	a.put(tClaimBy, a.db, joinKey(c.Src, c.ID), nil)
	if c.Dst != c.Src {
		a.put(tClaimBy, a.db, joinKey(c.Dst, c.ID), nil)
	}
	a.stats.Claims++
}

// addClaims stores the claims of a memory's text that are not stored yet. The memory itself links their names.
func (a *entryTxn) addClaims(m *oplog.Memory, found []oplog.Claim) (taken bool) {
	for i := range found {
		op := found[i]
		op.Namespace, op.SourceRID, op.At, op.Trust = m.Namespace, m.RID, m.Updated, m.Trust
		c := a.canonicalClaim(&op)
		if !complete(&c) || op.ID == "" || a.exists(tClaim, a.db, []byte(op.ID)) || a.exists(tStatement, a.db, statementKey(&c)) {
			continue
		}
		a.putClaim(&c, statementKey(&c))
		m.Claims = append(m.Claims, c.ID)
		taken = true
	}
	return taken
}

// dropClaims removes the claims of a memory's text, because the text changed or must no longer be read. Claims that
// another memory has taken over stay.
func (a *entryTxn) dropClaims(m *oplog.Memory) {
	for _, id := range m.Claims {
		c, ok := read[oplog.StoredClaim](a.txn, tClaim, a.db, []byte(id))
		if ok && c.SourceRID == m.RID {
			a.dropClaim(&c)
		}
	}
	m.Claims = nil
}

// dropClaim removes a claim, and its entities if nothing else names them.
func (a *entryTxn) dropClaim(c *oplog.StoredClaim) {
	a.del(tClaim, a.db, []byte(c.ID))
	for _, k := range [][]byte{statementKey(c), sourceStatementKey(c)} {
		if string(a.get(tStatement, a.db, k)) == c.ID {
			a.del(tStatement, a.db, k)
		}
	}
	a.del(tClaimBy, a.db, joinKey(c.Src, c.ID))
	if c.Dst != c.Src {
		a.del(tClaimBy, a.db, joinKey(c.Dst, c.ID))
	}
	a.stats.Claims--
	a.dropName(c.Src)
	a.dropName(c.Dst)
}

// ClaimsBehind walks the claims after an id, by id.
func (v *View) ClaimsBehind(db oplog.DB, id string, f func(oplog.StoredClaim) bool) {
	each(v.scanBehind(tClaim, db, []byte(id)), f)
}

// ClaimsBack walks the claims before an id downwards; blank begins at the end.
func (v *View) ClaimsBack(db oplog.DB, below string, f func(oplog.StoredClaim) bool) {
	each(v.scanBelow(tClaim, db, nil, belowID(below)), f)
}

// Claim returns a claim.
func (v *View) Claim(db oplog.DB, id string) (oplog.StoredClaim, bool) {
	return read[oplog.StoredClaim](v.txn, tClaim, db, []byte(id))
}

// NewestClaims walks the claims that name an entity, the newest first.
func (v *View) NewestClaims(db oplog.DB, entity string, f func(oplog.StoredClaim) bool) {
	prefix := joinKey(entity, "")
	eachIndexed(v.txn, tClaim, db, v.scanBack(tClaimBy, db, prefix), inKey(len(prefix)), f)
}

// Claims returns the claims within reach that name an entity, oldest first.
func (v *View) Claims(db oplog.DB, entity string, r oplog.Reach, limit int) (claims []oplog.StoredClaim) {
	prefix := joinKey(entity, "")
	for k := range v.scan(tClaimBy, db, prefix) {
		c, ok := read[oplog.StoredClaim](v.txn, tClaim, db, k[len(prefix):])
		if ok && r.Has(c.Namespace) {
			claims = append(claims, c)
		}
		if len(claims) >= limit {
			break
		}
	}
	return claims
}
