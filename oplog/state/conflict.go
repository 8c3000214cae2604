package state

import (
	"iter"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

func applyResolve(a *entryTxn, op *oplog.Resolve) oplog.Result {
	c, ok := read[oplog.ConflictRow](a.txn, tConflict, a.db, []byte(op.ID))
	rejectIf(!ok, oplog.ErrNoConflict)
	rejectf(c.Status != oplog.ConflictOpen, oplog.Conflict, "conflict %s is %s already", c.ID, c.Status)
	a.closeConflict(&c, op.Strategy, op.At) // first: forgetting a side closes its open conflicts
	r := resolveConflict(a, op, &c)
	c.Note = op.Note
	write(a.txn, tConflict, a.db, []byte(c.ID), &c)
	return r
}

// resolveConflict applies the strategy to the two sides.
func resolveConflict(a *entryTxn, op *oplog.Resolve, c *oplog.ConflictRow) oplog.Result {
	rejectf(op.Winner != "" && op.Winner != c.A && op.Winner != c.B, oplog.Invalid, "winner %s is not a side of conflict %s",
		op.Winner, c.ID)
	r := oplog.Result{ID: c.ID, Changed: true}
	switch op.Strategy {
	case oplog.KeepBoth, oplog.Dismiss:
		c.Winner = op.Winner
	case oplog.KeepA, oplog.KeepB:
		winner, loser := c.A, c.B
		if op.Winner == c.B || op.Winner == "" && op.Strategy == oplog.KeepB {
			winner, loser = c.B, c.A
		}
		c.Winner = winner
		if a.dropSide(loser, op.At) {
			r.Num, r.Rows = 1, []string{loser}
		}
	case oplog.MergeAB:
		rejectf(op.Merged == nil || op.Merged.Text == "", oplog.Invalid, "strategy merge needs new_text")
		merged := *op.Merged
		for _, side := range []string{c.A, c.B} {
			if m, ok := a.liveMemory(side); ok {
				merged.Trust = inheritedTrust(merged.Trust, m)
			}
			if a.dropSide(side, op.At) {
				r.Num++
				r.Rows = append(r.Rows, side)
			}
		}
		a.detached = true
		made := applyRemember(a, &merged)
		a.detached = false
		c.Merged, c.Winner = made.ID, made.ID
		r.Rows = append(r.Rows, made.ID)
	default:
		reject(oplog.Errorf(oplog.Invalid, "unknown strategy %q: keep_a, keep_b, keep_both, merge or dismiss", op.Strategy))
	}
	return r
}

// dropSide removes the losing side, if it still exists.
func (a *entryTxn) dropSide(side string, at oplog.Time) bool {
	if id, ok := strings.CutPrefix(side, "edge:"); ok {
		return applyUnrelate(a, &oplog.Unrelate{ID: id, At: at}).Changed
	}
	if id, ok := strings.CutPrefix(side, "claim:"); ok {
		return a.boundClaim(oplog.ClaimBound{ID: id, To: at.Seconds()}, at)
	}
	m, ok := a.liveMemory(side)
	if ok {
		a.forget(m, at)
	}
	return ok
}

// closeConflict closes a conflict if it is open, and stores it.
func (a *entryTxn) closeConflict(c *oplog.ConflictRow, strategy string, at oplog.Time) {
	if c.Status == oplog.ConflictOpen {
		a.del(tConflictOrder, a.db, conflictOrder(c))
		c.Status, c.Strategy, c.Resolved = oplog.ConflictResolved, strategy, at
		if strategy == oplog.Dismiss {
			c.Status = oplog.ConflictDismissed
		}
		a.put(tConflictOrder, a.db, conflictOrder(c), []byte(c.ID))
		a.stats.OpenConflicts--
	}
	write(a.txn, tConflict, a.db, []byte(c.ID), c)
}

// pairKey returns the key of a pair, which is the same in either order.
func pairKey(a, b string) []byte {
	if b < a {
		a, b = b, a
	}
	return joinKey(a, b)
}

// conflictOrder returns a key that sorts conflicts by status, then the most urgent first, then the newest first.
func conflictOrder(c *oplog.ConflictRow) []byte {
	k := append([]byte{byte(c.Status), byte(c.Priority)}, be64(^(uint64(c.Detected) ^ 1<<63))...)
	return append(k, c.ID...)
}

// openConflict stores a new conflict, unless the pair has one that still counts, or a side no longer exists.
func (a *entryTxn) openConflict(c oplog.ConflictRow) bool {
	if c.ID == "" || c.A == c.B || a.exists(tConflict, a.db, []byte(c.ID)) || a.HadConflict(a.db, c.A, c.B) {
		return false
	}
	for _, side := range []string{c.A, c.B} {
		if !a.sideExists(side) {
			return false
		}
	}
	c.Status, c.DetectedBy = oplog.ConflictOpen, a.hlc.Node()
	a.putConflict(&c)
	a.stats.OpenConflicts++
	return true
}

// putConflict stores a new conflict.
func (a *entryTxn) putConflict(c *oplog.ConflictRow) {
	write(a.txn, tConflict, a.db, []byte(c.ID), c)
	a.put(tConflictPair, a.db, pairKey(c.A, c.B), []byte(c.ID))
	a.put(tConflictOrder, a.db, conflictOrder(c), []byte(c.ID))
	a.put(tConflictSide, a.db, joinKey(c.A, c.ID), nil)
	a.put(tConflictSide, a.db, joinKey(c.B, c.ID), nil)
}

func (a *entryTxn) sideExists(side string) bool {
	if id, ok := strings.CutPrefix(side, "edge:"); ok {
		return a.exists(tEdge, a.db, []byte(id))
	}
	if id, ok := strings.CutPrefix(side, "claim:"); ok {
		return a.exists(tClaim, a.db, []byte(id))
	}
	m, ok := a.liveMemory(side)
	return ok && m.Status == oplog.Active
}

// OpenConflictsOf walks a memory's open conflicts, by the other side, in the order of the conflicts' ids.
func (t *txn) OpenConflictsOf(db oplog.DB, rid string) iter.Seq2[string, oplog.ConflictRow] {
	return func(yield func(string, oplog.ConflictRow) bool) {
		for c := range t.ConflictsOf(db, rid) {
			if c.Status == oplog.ConflictOpen && !yield(c.Other(rid), c) {
				return
			}
		}
	}
}

// ConflictsOf walks a memory's conflicts in any status, in the order of their ids.
func (t *txn) ConflictsOf(db oplog.DB, rid string) iter.Seq[oplog.ConflictRow] {
	prefix := joinKey(rid, "")
	return func(yield func(oplog.ConflictRow) bool) {
		eachIndexed(t, tConflict, db, t.scan(tConflictSide, db, prefix), inKey(len(prefix)), yield)
	}
}

// InConflict reports whether a memory is a side of an open conflict.
func (t *txn) InConflict(db oplog.DB, rid string) bool {
	for range t.OpenConflictsOf(db, rid) {
		return true
	}
	return false
}

// Conflict finds a conflict by its id.
func (v *View) Conflict(db oplog.DB, id string) (oplog.ConflictRow, bool) {
	return read[oplog.ConflictRow](v.txn, tConflict, db, []byte(id))
}

// Conflicts walks the conflicts of the given statuses, or of all, status by status, the most urgent first.
func (v *View) Conflicts(db oplog.DB, statuses []oplog.ConflictStatus, f func(oplog.ConflictRow) bool) {
	if len(statuses) == 0 {
		statuses = []oplog.ConflictStatus{oplog.ConflictOpen, oplog.ConflictResolved, oplog.ConflictDismissed}
	}
	for _, s := range statuses {
		if !eachIndexed(v.txn, tConflict, db, v.scan(tConflictOrder, db, []byte{byte(s)}), inValue, f) {
			return
		}
	}
}

// HadConflict reports whether a pair has had a conflict, in any status. A conflict that ended because a side was
// restated does not count.
func (t *txn) HadConflict(db oplog.DB, a, b string) bool {
	id := t.get(tConflictPair, db, pairKey(a, b))
	if id == nil {
		return false
	}
	c, ok := read[oplog.ConflictRow](t, tConflict, db, id)
	return !ok || c.Strategy != oplog.Restated
}
