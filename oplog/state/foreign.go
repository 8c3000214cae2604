package state

import "github.com/cairndb/cairn/oplog"

func applyForeign(a *entryTxn, op *oplog.Foreign) oplog.Result {
	rejectf(op.OpID == "", oplog.Invalid, "a pushed operation needs an op_id")
	if a.exists(tForeign, a.db, []byte(op.OpID)) {
		return oplog.Result{ID: op.OpID}
	}
	a.put(tForeign, a.db, []byte(op.OpID), nil)
	switch {
	case op.Stored != nil:
		if !a.exists(tRID, a.db, []byte(op.Stored.RID)) { // insert if absent
			stored := *op.Stored
			if a.pathConflict(stored.Namespace, stored.Path) != nil {
				stored.Path = "" // the memory here keeps the key
			}
			applyRemember(a, &stored)
		}
	case op.Forgot != nil:
		applyForget(a, op.Forgot)
	case op.Related != nil:
		if !a.exists(tEdge, a.db, []byte(op.Related.ID)) { // a stranger's id may be taken here
			applyRelate(a, op.Related)
		}
	}
	return oplog.Result{ID: op.OpID, Changed: true}
}

// Pushed reports whether a peer has pushed an operation with this id.
func (v *View) Pushed(db oplog.DB, opID string) bool { return v.exists(tForeign, db, []byte(opID)) }
