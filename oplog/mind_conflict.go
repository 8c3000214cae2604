package oplog

import "strings"

// pairKey is the same for a pair in either order.
func pairKey(a, b string) []byte {
	if b < a {
		a, b = b, a
	}
	return joinKey(a, b)
}

// orderKey lists conflicts by status, the most urgent first, the newest first among them.
func (c *ConflictRow) orderKey() []byte {
	k := append([]byte{byte(c.Status), byte(c.Priority)}, be64(^(uint64(c.Detected) ^ 1<<63))...)
	return append(k, c.ID...)
}

// openConflict takes a finding, unless the pair had a conflict before, in any status, or a side is gone.
func (a *applying) openConflict(c ConflictRow) bool {
	if c.ID == "" || c.A == c.B || a.get(tConflict, a.db, []byte(c.ID)) != nil || a.get(tConflictPair, a.db, pairKey(c.A, c.B)) != nil {
		return false
	}
	for _, side := range []string{c.A, c.B} {
		if !a.sideStands(side) {
			return false
		}
	}
	c.Status, c.DetectedBy = ConflictOpen, a.hlc.Node()
	write(a.txn, tConflict, a.db, []byte(c.ID), &c)
	a.put(tConflictPair, a.db, pairKey(c.A, c.B), []byte(c.ID))
	a.put(tConflictOrder, a.db, c.orderKey(), []byte(c.ID))
	a.put(tConflictSide, a.db, joinKey(c.A, c.ID), nil)
	a.put(tConflictSide, a.db, joinKey(c.B, c.ID), nil)
	a.stats.OpenConflicts++
	return true
}

func (a *applying) sideStands(side string) bool {
	if id, ok := strings.CutPrefix(side, "edge:"); ok {
		return a.get(tEdge, a.db, []byte(id)) != nil
	}
	if id, ok := strings.CutPrefix(side, "claim:"); ok {
		return a.get(tClaim, a.db, []byte(id)) != nil
	}
	m, err := a.liveMemory(side)
	return err == nil && m.Status == Active
}

// inConflict says whether a memory is a side of an open conflict.
func (a *applying) inConflict(rid string) (open bool) {
	prefix := joinKey(rid, "")
	a.scan(tConflictSide, a.db, prefix, func(k, _ []byte) bool {
		c, ok := read[ConflictRow](a.txn, tConflict, a.db, k[len(prefix):])
		open = ok && c.Status == ConflictOpen
		return !open
	})
	return open
}

// The strategies of Resolve.
const (
	KeepA    = "keep_a"
	KeepB    = "keep_b"
	KeepBoth = "keep_both"
	MergeAB  = "merge"
	Dismiss  = "dismiss"
)

// ErrNoConflict says that a conflict's id is not known.
var ErrNoConflict = &Error{Kind: NotFound, Text: "no such conflict"}

func (op *Resolve) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	c, ok := read[ConflictRow](a.txn, tConflict, a.db, []byte(op.ID))
	if !ok {
		return Result{}, ErrNoConflict
	}
	if c.Status != ConflictOpen {
		return Result{}, Errorf(Conflict, "conflict %s is %s already", c.ID, c.Status)
	}
	r, err := op.settle(a, &c)
	if err != nil {
		return Result{}, err
	}
	a.del(tConflictOrder, a.db, c.orderKey())
	c.Status = ConflictResolved
	if op.Strategy == Dismiss {
		c.Status = ConflictDismissed
	}
	c.Resolved, c.Strategy, c.Note = op.At, op.Strategy, op.Note
	write(a.txn, tConflict, a.db, []byte(c.ID), &c)
	a.put(tConflictOrder, a.db, c.orderKey(), []byte(c.ID))
	a.stats.OpenConflicts--
	return r, nil
}

// settle does to the sides what the strategy says.
func (op *Resolve) settle(a *applying, c *ConflictRow) (Result, *Error) {
	if op.Winner != "" && op.Winner != c.A && op.Winner != c.B {
		return Result{}, Errorf(Invalid, "winner %s is no side of conflict %s", op.Winner, c.ID)
	}
	r := Result{ID: c.ID, Changed: true}
	switch op.Strategy {
	case KeepBoth, Dismiss:
		c.Winner = op.Winner
	case KeepA, KeepB:
		c.Winner = c.A
		if op.Strategy == KeepB {
			c.Winner = c.B
		}
		if op.Winner != "" {
			c.Winner = op.Winner
		}
		loser := c.A
		if c.Winner == c.A {
			loser = c.B
		}
		if a.dropSide(loser, op.At) {
			r.Num, r.Rows = 1, []string{loser}
		}
	case MergeAB:
		if op.Merged == nil || op.Merged.Text == "" {
			return Result{}, Errorf(Invalid, "strategy merge needs new_text")
		}
		for _, side := range []string{c.A, c.B} {
			if a.dropSide(side, op.At) {
				r.Num++
				r.Rows = append(r.Rows, side)
			}
		}
		a.detached = true
		made, err := op.Merged.apply(a)
		a.detached = false
		if err != nil {
			return Result{}, err
		}
		c.Merged, c.Winner = made.ID, made.ID
		r.Rows = append(r.Rows, made.ID)
	default:
		return Result{}, Errorf(Invalid, "unknown strategy %q: keep_a, keep_b, keep_both, merge or dismiss", op.Strategy)
	}
	return r, nil
}

// dropSide takes the losing side away; one that is gone already stays gone.
func (a *applying) dropSide(side string, at Time) bool {
	if id, ok := strings.CutPrefix(side, "edge:"); ok {
		r, err := (&Unrelate{ID: id, At: at}).apply(a)
		return err == nil && r.Changed
	}
	if id, ok := strings.CutPrefix(side, "claim:"); ok {
		to := at.Seconds()
		return a.boundClaim(ClaimBound{ID: id, To: to}, at)
	}
	m, err := a.liveMemory(side)
	if err != nil {
		return false
	}
	a.forget(m, at)
	return true
}

func (a *applying) boundClaim(b ClaimBound, at Time) bool {
	c, ok := read[StoredClaim](a.txn, tClaim, a.db, []byte(b.ID))
	if !ok || c.ValidTo != nil && *c.ValidTo <= b.To {
		return false
	}
	c.ValidTo, c.Updated = &b.To, at
	write(a.txn, tClaim, a.db, []byte(b.ID), &c)
	return true
}
