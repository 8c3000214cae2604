package oplog

import (
	"encoding/json"
	"strings"
)

// Operator is the identity whose signature makes a capability.
func (v *View) Operator(db DB) (Identity, bool) {
	key := v.get(tOperator, db, operatorKey)
	if key == nil {
		return Identity{}, false
	}
	return v.Identity(db, string(key))
}

// Identity finds who a key is.
func (v *View) Identity(db DB, key string) (Identity, bool) {
	return read[Identity](v.txn, tIdentity, db, []byte(key))
}

// Identities walks all of them by key.
func (v *View) Identities(db DB, f func(Identity) bool) {
	v.scan(tIdentity, db, nil, func(_, val []byte) bool { return f(decode[Identity](val)) })
}

// Grant finds a capability by its signature, revoked ones too.
func (v *View) Grant(db DB, signature string) (StoredGrant, bool) {
	return read[StoredGrant](v.txn, tGrant, db, []byte(signature))
}

// GrantsFor walks the capabilities of a subject for one action, revoked ones too, oldest first.
func (v *View) GrantsFor(db DB, subject, action string, f func(StoredGrant) bool) {
	prefix := joinKey(subject, action, "")
	v.scan(tGrantAction, db, prefix, func(k, sig []byte) bool {
		if len(k) != len(prefix)+8 {
			return true
		}
		g, ok := v.Grant(db, string(sig))
		return !ok || f(g)
	})
}

// Grants walks the capabilities from the newest to the oldest; those of one subject, unless it is empty.
func (v *View) Grants(db DB, subject string, f func(StoredGrant) bool) {
	table, prefix := tGrantOrder, []byte(nil)
	if subject != "" {
		table, prefix = tGrantSubject, joinKey(subject, "")
	}
	v.scanBack(table, db, prefix, func(_, sig []byte) bool {
		g, ok := v.Grant(db, string(sig))
		return !ok || f(g)
	})
}

// Receipts walks receipts from the newest to the oldest; those of one payer, unless it is empty.
func (v *View) Receipts(db DB, payer string, f func(Receipt) bool) { v.ReceiptsBefore(db, payer, 0, f) }

// ReceiptsBefore is Receipts from before a time on; 0 is the newest.
func (v *View) ReceiptsBefore(db DB, payer string, before Time, f func(Receipt) bool) {
	table, prefix := tReceiptTime, []byte(nil)
	if payer != "" {
		table, prefix = tReceiptBy, joinKey(payer, "")
	}
	var below []byte
	if before != 0 {
		below = timeKey(before, 0)
	}
	v.scanBelow(table, db, prefix, below, func(k, _ []byte) bool {
		r, ok := read[Receipt](v.txn, tReceipt, db, k[len(prefix)+16:])
		return !ok || f(r)
	})
}

// ReceiptsOf are the receipts of one memory.
func (v *View) ReceiptsOf(db DB, rid string) (out []Receipt) {
	prefix := joinKey(rid, "")
	v.scan(tReceiptOf, db, prefix, func(k, _ []byte) bool {
		if r, ok := read[Receipt](v.txn, tReceipt, db, k[len(prefix):]); ok {
			out = append(out, r)
		}
		return true
	})
	return out
}

// Words is what a memory is found by: its text, and the intent it answers when the text does not repeat it, or the words
// of the event it sums up.
func (m *Memory) Words() string {
	if more := m.eventWords(); more != "" {
		return m.Text + "\n" + more
	}
	if m.Namespace != CovenantNamespace || len(m.Metadata) == 0 {
		return m.Text
	}
	if intent := m.Intent(); intent != "" && !strings.Contains(m.Text, intent) {
		return m.Text + "\n" + intent
	}
	return m.Text
}

// Intent is the text a memory was made from; empty when it was not made from one.
func (m *Memory) Intent() string {
	var meta struct {
		Intent string `json:"intent_text"`
	}
	if m.Namespace != CovenantNamespace || json.Unmarshal(m.Metadata, &meta) != nil {
		return ""
	}
	return meta.Intent
}

// CovenantNamespace holds what that protocol's clients write.
const CovenantNamespace = "covenant"
