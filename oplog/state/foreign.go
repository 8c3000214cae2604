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
	var err *oplog.Error
	switch {
	case op.Stored != nil:
		if a.get(tRID, a.db, []byte(op.Stored.RID)) == nil { // insert if absent
			_, err = applyRemember(a, op.Stored)
		}
	case op.Forgot != nil:
		_, err = applyForget(a, op.Forgot)
	case op.Related != nil:
		if a.get(tEdge, a.db, []byte(op.Related.ID)) == nil { // a stranger's id may be taken here
			_, err = applyRelate(a, op.Related)
		}
	}
	if err != nil {
		return oplog.Result{}, err
	}
	return oplog.Result{ID: op.OpID, Changed: true}, nil
}
