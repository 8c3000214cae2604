package oplog

// Foreign is an operation pushed by a peer that is no member of this cluster. It is taken once, by its op
// id. What this version can make of it is in Effect; anything else is kept in the log and has no effect.
type Foreign struct {
	OpID    string    `msgpack:"id"`
	Type    string    `msgpack:"t"`
	Payload []byte    `msgpack:"p,omitempty"` // JSON, as pushed
	HLC     []byte    `msgpack:"h,omitempty"`
	Actor   string    `msgpack:"a,omitempty"`
	Origin  string    `msgpack:"o,omitempty"`
	Stored  *Remember `msgpack:"er,omitempty"`
	Forgot  *Forget   `msgpack:"ef,omitempty"`
	Related *Relate   `msgpack:"el,omitempty"`
}

var foreignFamily = family{
	{KindForeign, "foreign", func() Op { return new(Foreign) }},
}

// Kind implements Op.
func (*Foreign) Kind() OpKind { return KindForeign }

func (op *Foreign) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	if op.OpID == "" {
		return Result{}, Errorf(Invalid, "a pushed operation needs an op_id")
	}
	if a.get(tForeign, a.db, []byte(op.OpID)) != nil {
		return Result{ID: op.OpID}, nil
	}
	a.put(tForeign, a.db, []byte(op.OpID), nil)
	var effect Op
	switch {
	case op.Stored != nil:
		if a.get(tRID, a.db, []byte(op.Stored.RID)) != nil {
			return Result{ID: op.OpID, Changed: true}, nil // insert if absent
		}
		effect = op.Stored
	case op.Forgot != nil:
		effect = op.Forgot
	case op.Related != nil:
		if a.get(tEdge, a.db, []byte(op.Related.ID)) != nil {
			return Result{ID: op.OpID, Changed: true}, nil // a stranger's id that is taken here
		}
		effect = op.Related
	default:
		return Result{ID: op.OpID, Changed: true}, nil
	}
	if _, err := effect.apply(a); err != nil {
		return Result{}, err
	}
	return Result{ID: op.OpID, Changed: true}, nil
}
