package oplog

// Foreign is an operation pushed by a peer that is no member of this cluster. It is taken once, by its op
// id. What this version can make of it is in Effect; anything else is kept in the log and has no effect.
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
