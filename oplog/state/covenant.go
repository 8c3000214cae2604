package state

import "github.com/cairndb/cairn/oplog"

var operatorKey = []byte("operator")

func applyIdentity(a *entryTxn, op *oplog.Identity) oplog.Result {
	rejectf(op.Key == "" || op.Display == "", oplog.Invalid, "an identity needs a key and a name")
	if op.Operator {
		rejectIf(a.exists(tOperator, a.db, operatorKey), oplog.ErrHasOperator)
		a.put(tOperator, a.db, operatorKey, []byte(op.Key))
	}
	old, had := read[oplog.Identity](a.txn, tIdentity, a.db, []byte(op.Key))
	rejectf(had && old.Operator && !op.Operator, oplog.Conflict, "this key is the operator's")
	write(a.txn, tIdentity, a.db, []byte(op.Key), op)
	return oplog.Result{ID: op.Key, Changed: !had}
}

func applyReceipt(a *entryTxn, op *oplog.Receipt) oplog.Result {
	rejectf(op.ID == "" || a.exists(tReceipt, a.db, []byte(op.ID)), oplog.Conflict, "receipt id %q is taken", op.ID)
	write(a.txn, tReceipt, a.db, []byte(op.ID), op)
	a.put(tReceiptBy, a.db, append(joinKey(op.Payer, ""), append(timeKey(op.At, 0), op.ID...)...), nil)
	a.put(tReceiptTime, a.db, append(timeKey(op.At, 0), op.ID...), nil)
	if op.Memory != "" {
		a.put(tReceiptOf, a.db, joinKey(op.Memory, op.ID), nil)
	}
	return oplog.Result{ID: op.ID, Changed: true}
}

func applyGrant(a *entryTxn, op *oplog.Grant) oplog.Result {
	rejectf(op.Signature == "" || op.Subject == "" || op.Action == "", oplog.Invalid,
		"a capability needs a subject, an action and a signature")
	old, had := read[oplog.StoredGrant](a.txn, tGrant, a.db, []byte(op.Signature))
	if had && old.Revoked == 0 {
		return oplog.Result{ID: op.Signature, Num: old.Number}
	}
	if had {
		a.dropGrant(&old)
	}
	g := oplog.StoredGrant{Grant: *op, Number: a.next(tOperator, a.db, lastGrantKey)}
	number := be64(g.Number)
	write(a.txn, tGrant, a.db, []byte(g.Signature), &g)
	a.put(tGrantOrder, a.db, number, []byte(g.Signature))
	a.put(tGrantAction, a.db, append(joinKey(g.Subject, g.Action, ""), number...), []byte(g.Signature))
	a.put(tGrantSubject, a.db, append(joinKey(g.Subject, ""), number...), []byte(g.Signature))
	return oplog.Result{ID: g.Signature, Num: g.Number, Changed: true}
}

var lastGrantKey = []byte("last grant")

func (a *entryTxn) dropGrant(g *oplog.StoredGrant) {
	number := be64(g.Number)
	a.del(tGrant, a.db, []byte(g.Signature))
	a.del(tGrantOrder, a.db, number)
	a.del(tGrantAction, a.db, append(joinKey(g.Subject, g.Action, ""), number...))
	a.del(tGrantSubject, a.db, append(joinKey(g.Subject, ""), number...))
	if g.Revoked != 0 {
		a.del(tGrantRevoked, a.db, append(timeKey(g.Revoked, 0), g.Signature...))
	}
}

func applyRevoke(a *entryTxn, op *oplog.Revoke) oplog.Result {
	rejectf(op.At == 0, oplog.Invalid, "a revocation needs a time") // a capability with the time 0 is not revoked
	g, ok := read[oplog.StoredGrant](a.txn, tGrant, a.db, []byte(op.Signature))
	if ok && g.Revoked != 0 {
		return oplog.Result{ID: op.Signature}
	}
	rejectIf(!ok || g.Subject != op.Subject, oplog.ErrNotSubject)
	g.Revoked = op.At
	write(a.txn, tGrant, a.db, []byte(g.Signature), &g)
	a.put(tGrantRevoked, a.db, append(timeKey(op.At, 0), g.Signature...), nil)
	return oplog.Result{ID: g.Signature, Changed: true}
}

func applyPurgeGrants(a *entryTxn, op *oplog.PurgeGrants) oplog.Result {
	var r oplog.Result
	for k := range a.scan(tGrantRevoked, a.db, nil) {
		g, ok := read[oplog.StoredGrant](a.txn, tGrant, a.db, k[16:])
		if !ok {
			panic("state: revocation without a capability")
		}
		if g.Revoked >= op.Before {
			break
		}
		a.dropGrant(&g)
		r.Num, r.Changed = r.Num+1, true
	}
	return r
}

// Operator returns the identity whose signature makes a capability.
func (v *View) Operator(db oplog.DB) (oplog.Identity, bool) {
	key := v.get(tOperator, db, operatorKey)
	if key == nil {
		return oplog.Identity{}, false
	}
	return v.Identity(db, string(key))
}

// Identity finds the identity of a key.
func (v *View) Identity(db oplog.DB, key string) (oplog.Identity, bool) {
	return read[oplog.Identity](v.txn, tIdentity, db, []byte(key))
}

// Identities walks the identities by key.
func (v *View) Identities(db oplog.DB, f func(oplog.Identity) bool) {
	each(v.scan(tIdentity, db, nil), f)
}

// Grant finds a capability by its signature, even a revoked one.
func (v *View) Grant(db oplog.DB, signature string) (oplog.StoredGrant, bool) {
	return read[oplog.StoredGrant](v.txn, tGrant, db, []byte(signature))
}

// GrantsFor walks the capabilities of a subject for one action, including revoked ones, oldest first.
func (v *View) GrantsFor(db oplog.DB, subject, action string, f func(oplog.StoredGrant) bool) {
	eachIndexed(v.txn, tGrant, db, v.scan(tGrantAction, db, joinKey(subject, action, "")), inValue, f)
}

// Grants walks the capabilities from the newest to the oldest; those of one subject, unless it is empty.
func (v *View) Grants(db oplog.DB, subject string, f func(oplog.StoredGrant) bool) {
	table, prefix := tGrantOrder, []byte(nil)
	if subject != "" {
		table, prefix = tGrantSubject, joinKey(subject, "")
	}
	eachIndexed(v.txn, tGrant, db, v.scanBack(table, db, prefix), inValue, f)
}

// Receipts walks receipts from the newest to the oldest; those of one payer, unless it is empty.
func (v *View) Receipts(db oplog.DB, payer string, f func(oplog.Receipt) bool) {
	v.ReceiptsBefore(db, payer, 0, f)
}

// ReceiptsBefore is Receipts from before a time on; 0 is the newest.
func (v *View) ReceiptsBefore(db oplog.DB, payer string, before oplog.Time, f func(oplog.Receipt) bool) {
	table, prefix := tReceiptTime, []byte(nil)
	if payer != "" {
		table, prefix = tReceiptBy, joinKey(payer, "")
	}
	var below []byte
	if before != 0 {
		below = timeKey(before, 0)
	}
	eachIndexed(v.txn, tReceipt, db, v.scanBelow(table, db, prefix, below), inKey(len(prefix)+16), f)
}

// ReceiptsOf returns the receipts of one memory.
func (v *View) ReceiptsOf(db oplog.DB, rid string) (out []oplog.Receipt) {
	prefix := joinKey(rid, "")
	eachIndexed(v.txn, tReceipt, db, v.scan(tReceiptOf, db, prefix), inKey(len(prefix)), func(r oplog.Receipt) bool {
		out = append(out, r)
		return true
	})
	return out
}
