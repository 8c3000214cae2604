package state

import "github.com/cairndb/cairn/oplog"

var errHistory = oplog.Errorf(oplog.Invalid,
	"the history of an imported memory cannot be: it was forgotten, or its revisions or claims are out of order")

// checkHistory rejects a history that an imported memory cannot have, or that has a text that was erased for good. A
// memory that is not imported has none.
func (a *entryTxn) checkHistory(w *oplog.History) {
	if w == nil {
		return
	}
	rejectIf(!validHistory(w), errHistory)
	for i := range w.Revisions {
		a.rejectErasedText(w.Revisions[i].Text)
	}
}

// validHistory reports whether an imported memory can have this history: its revisions must be in order, its claims
// complete, and it must not be forgotten.
func validHistory(w *oplog.History) bool {
	next := uint32(0)
	for i := range w.Revisions {
		r := &w.Revisions[i]
		if r.Number < next || r.Number >= w.Revision {
			return false
		}
		next = r.Number + 1
	}
	for i := range w.Claims {
		c := &w.Claims[i]
		if !complete(c) || c.ID == "" || c.Polarity < -1 || c.Polarity > 1 {
			return false
		}
	}
	return w.Status != oplog.Tombstoned
}

// putHistory stores the revisions and claims of an imported memory. It skips claims that the database already has
// from another memory.
func (a *entryTxn) putHistory(m *oplog.Memory, w *oplog.History) {
	if m.By != "" {
		a.stats.Superseded++
		a.recordImported(m, w)
	}
	for i := range w.Revisions {
		write(a.txn, tRevision, a.db, revisionKey(m.Seq, w.Revisions[i].Number), &w.Revisions[i])
		a.put(tPast, a.db, timeKey(w.Revisions[i].Until, m.Seq), nil)
	}
	if m.Status == oplog.Consolidated {
		a.put(tPast, a.db, timeKey(m.Updated, m.Seq), nil)
	}
	if !m.Indexed() {
		return
	}
	for i := range w.Claims {
		c := w.Claims[i]
		c.SourceRID, c.Trust = m.RID, m.Trust
		if !a.exists(tClaim, a.db, []byte(c.ID)) && !a.exists(tStatement, a.db, statementKey(&c)) {
			a.putClaim(&c, statementKey(&c))
			m.Claims = append(m.Claims, c.ID)
		}
	}
}

// recordImported stores an imported memory's mark as a resolved conflict, under the memory's id: the mark then ends
// when the memory that made it is corrected, moved or forgotten. That one may be imported later.
func (a *entryTxn) recordImported(m *oplog.Memory, w *oplog.History) {
	c := oplog.ConflictRow{ID: m.RID, Type: "minor", Priority: oplog.Low, Status: oplog.ConflictResolved, Strategy: oplog.Superseded,
		A: m.RID, B: m.By, Winner: m.By, Namespace: m.Namespace, Detected: m.Updated, DetectedBy: a.hlc.Node()}
	for i := range w.Revisions {
		if r := &w.Revisions[i]; r.Reason == oplog.SupersededBy+m.By {
			c.Detected = r.Until
		}
	}
	c.Resolved = c.Detected
	by, known := memoryByRID(a.txn, a.db, m.By)
	gone := known && by.Status == oplog.Tombstoned
	if m.Status == oplog.Active && m.By != m.RID && !gone && !a.exists(tConflict, a.db, []byte(c.ID)) && !a.HadConflict(a.db, c.A, c.B) {
		a.putConflict(&c)
	}
}
