package state

import (
	"cmp"

	"github.com/cairndb/cairn/oplog"
)

// Subject returns the id of the subject of an operation. A relation or claim that existed before keeps its id, so
// Subject looks that id up instead of using the operation's.
func (v *View) Subject(db oplog.DB, op oplog.Op) string {
	a := &entryTxn{txn: v.txn, db: db}
	var id []byte
	switch op := op.(type) {
	case *oplog.Relate:
		id = v.get(tTriple, db, joinKey(op.Src, op.Type, op.Dst))
	case *oplog.Claim:
		c := a.canonicalClaim(op)
		id = v.get(tStatement, db, sourceStatementKey(&c))
	case *oplog.Assert:
		c := a.canonicalClaim(&op.Claim)
		id = v.get(tStatement, db, statementKey(&c))
	}
	return cmp.Or(string(id), oplog.Subject(op))
}

// CurrentAgain returns the memories that a memory superseded until it was changed or forgotten at a time.
func (v *View) CurrentAgain(db oplog.DB, rid string, at oplog.Time) (rids []string) {
	for c := range v.ConflictsOf(db, rid) {
		if c.Strategy != oplog.Restated || c.Resolved != at {
			continue
		}
		other := c.Other(rid)
		if seq, ok := v.Seq(db, other); ok && v.exists(tPast, db, timeKey(at, seq)) { // otherwise the conflict was open and not a mark
			rids = append(rids, other)
		}
	}
	return rids
}
