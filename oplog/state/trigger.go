package state

import "github.com/cairndb/cairn/oplog"

func applyTriggerMove(a *entryTxn, op *oplog.TriggerMove) oplog.Result {
	t, ok := read[oplog.TriggerRow](a.txn, tTrigger, a.db, []byte(op.ID))
	rejectIf(!ok, oplog.ErrNoTrigger)
	rejectf(op.To == oplog.TriggerPending || op.To > oplog.TriggerExpired, oplog.Invalid, "a trigger cannot be moved to status %d", op.To)
	if t.Status == op.To {
		return oplog.Result{ID: op.ID}
	}
	rejectf(!a.moveTrigger(op.ID, op.To, op.At), oplog.Conflict, "trigger %s is %s already", op.ID, t.Status)
	return oplog.Result{ID: op.ID, Changed: true}
}

func triggerOrder(t *oplog.TriggerRow) []byte {
	return append(append([]byte{byte(t.Status)}, be64(^(uint64(t.Created)^1<<63))...), t.ID...)
}

// maxTriggers is the number of finished triggers of each status that a database keeps; older ones are dropped.
const maxTriggers = 1000

// addTrigger stores a trigger, unless an open one with the same cooldown key has not cooled down.
func (a *entryTxn) addTrigger(t oplog.TriggerRow) bool {
	if t.ID == "" || a.exists(tTrigger, a.db, []byte(t.ID)) {
		return false
	}
	if id := a.get(tTriggerCool, a.db, []byte(t.Cooldown)); id != nil {
		last, ok := read[oplog.TriggerRow](a.txn, tTrigger, a.db, id)
		if ok && last.Status <= oplog.TriggerDelivered && t.Created < last.Created+last.CoolFor {
			return false
		}
	}
	t.Status = oplog.TriggerPending
	write(a.txn, tTrigger, a.db, []byte(t.ID), &t)
	a.put(tTriggerOrder, a.db, triggerOrder(&t), []byte(t.ID))
	a.put(tTriggerCool, a.db, []byte(t.Cooldown), []byte(t.ID))
	a.stats.PendingTriggers++
	return true
}

// moveTrigger moves a trigger to a later status. A finished trigger does not move.
func (a *entryTxn) moveTrigger(id string, to oplog.TriggerStatus, at oplog.Time) bool {
	t, ok := read[oplog.TriggerRow](a.txn, tTrigger, a.db, []byte(id))
	if !ok || to <= t.Status || t.Status >= oplog.TriggerActed || to == oplog.TriggerExpired && t.Status > oplog.TriggerDelivered {
		return false
	}
	if t.Status == oplog.TriggerPending {
		a.stats.PendingTriggers--
	}
	a.del(tTriggerOrder, a.db, triggerOrder(&t))
	t.Status, t.Moved = to, at
	write(a.txn, tTrigger, a.db, []byte(id), &t)
	a.put(tTriggerOrder, a.db, triggerOrder(&t), []byte(t.ID))
	if to >= oplog.TriggerActed {
		a.pruneTriggers(to)
	}
	return true
}

// pruneTriggers drops the oldest triggers of a status beyond maxTriggers. Triggers finish one at a time, so it reads
// only a few more than that.
func (a *entryTxn) pruneTriggers(s oplog.TriggerStatus) {
	n := 0
	for _, id := range a.scan(tTriggerOrder, a.db, []byte{byte(s)}) {
		if n++; n > maxTriggers {
			if t, ok := read[oplog.TriggerRow](a.txn, tTrigger, a.db, id); ok {
				a.dropTrigger(&t)
			}
		}
		if n == maxTriggers+8 {
			break
		}
	}
}

func (a *entryTxn) dropTrigger(t *oplog.TriggerRow) {
	if t.Status == oplog.TriggerPending {
		a.stats.PendingTriggers--
	}
	a.del(tTriggerOrder, a.db, triggerOrder(t))
	a.del(tTrigger, a.db, []byte(t.ID))
	if string(a.get(tTriggerCool, a.db, []byte(t.Cooldown))) == t.ID {
		a.del(tTriggerCool, a.db, []byte(t.Cooldown))
	}
}

// Trigger finds a trigger by its id.
func (v *View) Trigger(db oplog.DB, id string) (oplog.TriggerRow, bool) {
	return read[oplog.TriggerRow](v.txn, tTrigger, db, []byte(id))
}

// Triggers walks the triggers of a status, the newest first.
func (v *View) Triggers(db oplog.DB, s oplog.TriggerStatus, f func(oplog.TriggerRow) bool) {
	eachIndexed(v.txn, tTrigger, db, v.scan(tTriggerOrder, db, []byte{byte(s)}), inValue, f)
}

// TriggerByCooldown returns the newest trigger with a cooldown key.
func (v *View) TriggerByCooldown(db oplog.DB, key string) (oplog.TriggerRow, bool) {
	id := v.get(tTriggerCool, db, []byte(key))
	if id == nil {
		return oplog.TriggerRow{}, false
	}
	return v.Trigger(db, string(id))
}
