package state

import (
	"cmp"

	"github.com/cairndb/cairn/oplog"
)

// Subject returns the id of what an operation was about. A relation or a claim that was there before keeps its id: then
// the one in the operation names nothing.
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

// CurrentAgain returns the memories that one superseded until a time, when its text changed or it was forgotten.
func (v *View) CurrentAgain(db oplog.DB, rid string, at oplog.Time) (rids []string) {
	for c := range v.ConflictsOf(db, rid) {
		if c.Strategy != oplog.Restated || c.Resolved != at {
			continue
		}
		other := c.Other(rid)
		if seq, ok := v.Seq(db, other); ok && v.exists(tPast, db, timeKey(at, seq)) { // else the conflict was open
			rids = append(rids, other)
		}
	}
	return rids
}
