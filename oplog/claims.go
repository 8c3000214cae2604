package oplog

// stated is a claim under its canonical names, or a refusal.
func (a *applying) stated(op *Claim) (StoredClaim, *Error) {
	if _, err := a.database(); err != nil {
		return StoredClaim{}, err
	}
	if op.Src == "" || op.Dst == "" || op.Type == "" {
		return StoredClaim{}, Errorf(Invalid, "a claim needs a src, a rel_type and a dst")
	}
	c := StoredClaim{Claim: *op, Updated: op.At}
	c.Src, c.Dst = a.canonical(op.Namespace, op.Src), a.canonical(op.Namespace, op.Dst)
	return c, nil
}

// statement is what a claim says, and by which extractor.
func (c *StoredClaim) statement() []byte {
	return joinKey(c.Namespace, c.Src, c.Type, c.Dst, string(rune('1'+c.Polarity)), c.Extractor)
}

// ofSource is the statement of one memory: KindClaim tells those of several apart.
func (c *StoredClaim) ofSource() []byte {
	return joinKey(c.Namespace, c.Src, c.Type, c.Dst, string(rune('1'+c.Polarity)), c.Extractor, c.SourceRID)
}

// claim keeps a claim under a key of tStatement; one that is there under it, or under another that is given, is refreshed.
func (a *applying) claim(c *StoredClaim, key []byte, others ...[]byte) (Result, *Error) {
	for _, k := range append([][]byte{key}, others...) {
		id := a.get(tStatement, a.db, k)
		if id == nil {
			continue
		}
		old, ok := read[StoredClaim](a.txn, tClaim, a.db, id)
		if !ok {
			panic("oplog: claim without a body")
		}
		c.ID, c.At = old.ID, old.At
		a.put(tStatement, a.db, key, []byte(c.ID))
		write(a.txn, tClaim, a.db, []byte(c.ID), c)
		return Result{ID: c.ID}, nil
	}
	if c.ID == "" || a.get(tClaim, a.db, []byte(c.ID)) != nil {
		return Result{}, Errorf(Conflict, "claim id %q is not free", c.ID)
	}
	a.putClaim(c, key)
	at := c.Updated
	a.mention(Mention{Name: c.Src}, 0, at)
	a.mention(Mention{Name: c.Dst}, 0, at)
	return Result{ID: c.ID, Changed: true}, nil
}

// putClaim keeps a claim that is new.
func (a *applying) putClaim(c *StoredClaim, key []byte) {
	write(a.txn, tClaim, a.db, []byte(c.ID), c)
	a.put(tStatement, a.db, key, []byte(c.ID))
	a.put(tClaimBy, a.db, joinKey(c.Src, c.ID), nil)
	if c.Dst != c.Src {
		a.put(tClaimBy, a.db, joinKey(c.Dst, c.ID), nil)
	}
	a.stats.Claims++
}

// takeClaims keeps what a memory's text states, unless it is stated already. Its names are linked by the memory itself.
func (a *applying) takeClaims(m *Memory, found []Claim) (taken bool) {
	for i := range found {
		op := found[i]
		op.Namespace, op.SourceRID, op.At = m.Namespace, m.RID, m.Updated
		c, err := a.stated(&op)
		if err != nil || op.ID == "" || a.get(tClaim, a.db, []byte(op.ID)) != nil || a.get(tStatement, a.db, c.statement()) != nil {
			continue
		}
		a.putClaim(&c, c.statement())
		m.Claims = append(m.Claims, c.ID)
		taken = true
	}
	return taken
}

// dropClaims takes away what a memory's text stated: the text says so no longer, or nobody may read it. Claims that
// somebody else has made theirs since stay.
func (a *applying) dropClaims(m *Memory) {
	for _, id := range m.Claims {
		c, ok := read[StoredClaim](a.txn, tClaim, a.db, []byte(id))
		if !ok || c.SourceRID != m.RID {
			continue
		}
		a.del(tClaim, a.db, []byte(id))
		for _, k := range [][]byte{c.statement(), c.ofSource()} {
			if string(a.get(tStatement, a.db, k)) == id {
				a.del(tStatement, a.db, k)
			}
		}
		a.del(tClaimBy, a.db, joinKey(c.Src, id))
		if c.Dst != c.Src {
			a.del(tClaimBy, a.db, joinKey(c.Dst, id))
		}
		a.stats.Claims--
		a.dropName(c.Src)
		a.dropName(c.Dst)
	}
	m.Claims = nil
}
