package oplog

// Foreign is an operation pushed by a peer that is not a member of this cluster. It is applied once for each op id.
// Stored, Forgot or Related has its effect here; with none of them it is only kept in the log.
type Foreign struct {
	OpID    string    `msgpack:"id" subject:""`
	Type    string    `msgpack:"t"`
	Payload []byte    `msgpack:"p,omitempty"` // JSON, as pushed
	HLC     []byte    `msgpack:"h,omitempty"`
	Actor   string    `msgpack:"a,omitempty"`
	Origin  string    `msgpack:"o,omitempty"`
	Stored  *Remember `msgpack:"er,omitempty"`
	Forgot  *Forget   `msgpack:"ef,omitempty"`
	Related *Relate   `msgpack:"el,omitempty"`
}

// Effect returns the operation's effect here; nil for none.
func (op *Foreign) Effect() Op {
	switch {
	case op.Stored != nil:
		return op.Stored
	case op.Forgot != nil:
		return op.Forgot
	case op.Related != nil:
		return op.Related
	}
	return nil
}
