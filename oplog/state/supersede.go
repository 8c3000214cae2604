package state

import "github.com/cairndb/cairn/oplog"

// applySupersede marks memories as superseded. Each mark is a revision, so an undo removes it.
//
// Invariant: neither side is superseded when a mark is made, so marks form no circle.
func applySupersede(a *entryTxn, op *oplog.Supersede) (r oplog.Result) {
	for i := range op.Marks {
		k := &op.Marks[i]
		m, ok := a.liveMemory(k.RID)
		if !ok || m.Status != oplog.Active {
			continue
		}
		if k.By == "" && m.By != "" {
			a.unmarkSuperseded(m, oplog.Dismiss, op.At) // the correction in the same entry made the revision
		} else if k.By == "" || !a.markSuperseded(m, k, op.At) {
			continue
		}
		a.putMemory(m)
		r.Num, r.Changed, r.Rows = r.Num+1, true, append(r.Rows, m.RID)
	}
	return r
}

// markSuperseded marks m as superseded. It does nothing if a side has changed, if the pair was decided on before, or
// if the newer text is trusted less than the older one.
func (a *entryTxn) markSuperseded(m *oplog.Memory, k *oplog.Mark, at oplog.Time) bool {
	by, ok := a.unchanged(oplog.Grounds{RID: k.By, Revision: k.ByRevision})
	if !ok || by.Seq == m.Seq || m.Revision != k.Revision || m.By != "" || by.By != "" || by.Namespace != m.Namespace ||
		oplog.TrustBelow(by.Trust, m.Trust) > 0 || !a.recordConflict(m, by, k.Record, at) {
		return false
	}
	a.revise(m, oplog.SupersededBy+by.RID, at)
	m.By, m.Surely = by.RID, k.Surely
	a.stats.Superseded++
	return true
}

// revise begins a new revision of a memory.
func (a *entryTxn) revise(m *oplog.Memory, reason string, at oplog.Time) {
	a.putRevision(m, reason, at)
	m.Revision++
	m.Updated = at
}

// recordConflict stores a mark as a resolved conflict: a new one, or the pair's open one. It returns false for a pair
// whose conflict was already decided.
func (a *entryTxn) recordConflict(m, by *oplog.Memory, c oplog.ConflictRow, at oplog.Time) bool {
	old, had := read[oplog.ConflictRow](a.txn, tConflict, a.db, a.get(tConflictPair, a.db, pairKey(m.RID, by.RID)))
	switch {
	case had && old.Status == oplog.ConflictOpen:
		c = old
	case had && old.Strategy != oplog.Restated:
		return false
	default:
		c.A, c.B, c.Namespace, c.Detected = m.RID, by.RID, m.Namespace, at
		if !a.openConflict(c) {
			return false
		}
		c, _ = read[oplog.ConflictRow](a.txn, tConflict, a.db, []byte(c.ID))
	}
	c.Winner = by.RID
	a.closeConflict(&c, oplog.Superseded, at)
	return true
}

// unmarkSuperseded makes a memory current again, and closes its conflict with a strategy. The caller stores the
// memory.
func (a *entryTxn) unmarkSuperseded(m *oplog.Memory, strategy string, at oplog.Time) {
	c, ok := read[oplog.ConflictRow](a.txn, tConflict, a.db, a.get(tConflictPair, a.db, pairKey(m.RID, m.By)))
	if ok && c.Strategy == oplog.Superseded {
		a.del(tConflictOrder, a.db, conflictOrder(&c))
		c.Status, c.Winner = oplog.ConflictOpen, ""
		a.stats.OpenConflicts++
		a.closeConflict(&c, strategy, at)
	}
	if a.isSuperseded(m) {
		a.stats.Superseded--
	}
	m.By, m.Surely = "", false
}

// isSuperseded reads the memory again and reports whether it is superseded: an operation on several memories may have
// made this one current after it read it.
func (a *entryTxn) isSuperseded(m *oplog.Memory) bool {
	now, ok := a.memoryAt(m.Seq)
	return ok && now.By != ""
}

// closeFindings ends the findings about a text that a memory no longer has: open conflicts, and the marks that it
// made.
func (a *entryTxn) closeFindings(m *oplog.Memory, reason string, at oplog.Time) {
	for c := range a.ConflictsOf(a.db, m.RID) {
		switch {
		case c.Status == oplog.ConflictOpen:
			a.closeConflict(&c, oplog.Restated, at)
		case c.Strategy == oplog.Superseded && c.Winner == m.RID:
			if o, ok := a.liveMemory(c.Other(m.RID)); ok && o.By == m.RID {
				a.revise(o, reason, at)
				a.unmarkSuperseded(o, oplog.Restated, at)
				a.putMemory(o)
				a.alsoChanged = append(a.alsoChanged, o.RID)
			}
		}
	}
}
