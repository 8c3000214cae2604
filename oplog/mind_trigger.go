package oplog

// ErrNoTrigger says that a trigger's id is not known.
var ErrNoTrigger = &Error{Kind: NotFound, Text: "no such trigger"}

func (t *TriggerRow) orderKey() []byte {
	return append(append([]byte{byte(t.Status)}, be64(^(uint64(t.Created)^1<<63))...), t.ID...)
}

// keepTriggers is how many triggers that are over a database keeps of each status; older ones go.
const keepTriggers = 1000

// addTrigger takes a trigger, unless one of its kind is waiting and has not cooled down.
func (a *applying) addTrigger(t TriggerRow) bool {
	if t.ID == "" || a.get(tTrigger, a.db, []byte(t.ID)) != nil {
		return false
	}
	if id := a.get(tTriggerCool, a.db, []byte(t.Cooldown)); id != nil {
		last, ok := read[TriggerRow](a.txn, tTrigger, a.db, id)
		if ok && last.Status <= TriggerDelivered && t.Created < last.Created+last.CoolFor {
			return false
		}
	}
	t.Status = TriggerPending
	write(a.txn, tTrigger, a.db, []byte(t.ID), &t)
	a.put(tTriggerOrder, a.db, t.orderKey(), []byte(t.ID))
	a.put(tTriggerCool, a.db, []byte(t.Cooldown), []byte(t.ID))
	a.stats.PendingTriggers++
	return true
}

// moveTrigger takes a trigger forward; what is over stays over.
func (a *applying) moveTrigger(id string, to TriggerStatus, at Time) bool {
	t, ok := read[TriggerRow](a.txn, tTrigger, a.db, []byte(id))
	if !ok || to <= t.Status || t.Status >= TriggerActed || to == TriggerExpired && t.Status > TriggerDelivered {
		return false
	}
	if t.Status == TriggerPending {
		a.stats.PendingTriggers--
	}
	a.del(tTriggerOrder, a.db, t.orderKey())
	t.Status, t.Moved = to, at
	write(a.txn, tTrigger, a.db, []byte(id), &t)
	a.put(tTriggerOrder, a.db, t.orderKey(), []byte(t.ID))
	if to >= TriggerActed {
		a.tidyTriggers(to)
	}
	return true
}

// tidyTriggers drops the oldest of a status when there are too many. The look is bounded: triggers come one by one.
func (a *applying) tidyTriggers(s TriggerStatus) {
	n := 0
	var gone [][]byte
	a.scan(tTriggerOrder, a.db, []byte{byte(s)}, func(_, id []byte) bool {
		if n++; n > keepTriggers {
			gone = append(gone, append([]byte(nil), id...))
		}
		return n < keepTriggers+8
	})
	for _, id := range gone {
		t, ok := read[TriggerRow](a.txn, tTrigger, a.db, id)
		if !ok {
			continue
		}
		a.dropTrigger(&t)
	}
}

func (a *applying) dropTrigger(t *TriggerRow) {
	if t.Status == TriggerPending {
		a.stats.PendingTriggers--
	}
	a.del(tTriggerOrder, a.db, t.orderKey())
	a.del(tTrigger, a.db, []byte(t.ID))
	if string(a.get(tTriggerCool, a.db, []byte(t.Cooldown))) == t.ID {
		a.del(tTriggerCool, a.db, []byte(t.Cooldown))
	}
}

func (op *TriggerMove) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	t, ok := read[TriggerRow](a.txn, tTrigger, a.db, []byte(op.ID))
	if !ok {
		return Result{}, ErrNoTrigger
	}
	if op.To == TriggerPending || op.To > TriggerExpired {
		return Result{}, Errorf(Invalid, "a trigger cannot be moved to status %d", op.To)
	}
	if t.Status == op.To {
		return Result{ID: op.ID}, nil
	}
	if !a.moveTrigger(op.ID, op.To, op.At) {
		return Result{}, Errorf(Conflict, "trigger %s is %s already", op.ID, t.Status)
	}
	return Result{ID: op.ID, Changed: true}, nil
}

// seePattern keeps a pattern, or confirms one that is known; true when it is new.
func (a *applying) seePattern(p Pattern) bool {
	old, known := read[Pattern](a.txn, tPattern, a.db, []byte(p.Key))
	p.Seen = 1
	if known {
		p.First, p.Seen = old.First, old.Seen+1
		p.Confidence = max(p.Confidence, old.Confidence)
	}
	write(a.txn, tPattern, a.db, []byte(p.Key), &p)
	return !known
}
