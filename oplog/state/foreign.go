package state

import "github.com/cairndb/cairn/oplog"

func applyForeign(a *applying, op *oplog.Foreign) (oplog.Result, *oplog.Error) {
	if op.OpID == "" {
		return oplog.Result{}, oplog.Errorf(oplog.Invalid, "a pushed operation needs an op_id")
	}
	if a.get(tForeign, a.db, []byte(op.OpID)) != nil {
		return oplog.Result{ID: op.OpID}, nil
	}
	a.put(tForeign, a.db, []byte(op.OpID), nil)
	var effect oplog.Op
	switch {
	case op.Stored != nil:
		if a.get(tRID, a.db, []byte(op.Stored.RID)) != nil {
			return oplog.Result{ID: op.OpID, Changed: true}, nil // insert if absent
		}
		effect = op.Stored
	case op.Forgot != nil:
		effect = op.Forgot
	case op.Related != nil:
		if a.get(tEdge, a.db, []byte(op.Related.ID)) != nil {
			return oplog.Result{ID: op.OpID, Changed: true}, nil // a stranger's id that is taken here
		}
		effect = op.Related
	default:
		return oplog.Result{ID: op.OpID, Changed: true}, nil
	}
	if _, err := applyOp(a, effect); err != nil {
		return oplog.Result{}, err
	}
	return oplog.Result{ID: op.OpID, Changed: true}, nil
}
