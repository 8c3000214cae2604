package oplog

// A Limit bounds what a token or a database may ask of each node. 0 means no bound.
type Limit struct {
	PerSecond uint32 `msgpack:"r,omitempty"` // requests
	Burst     uint32 `msgpack:"b,omitempty"` // requests at once; a second's worth when 0
	Batch     uint32 `msgpack:"n,omitempty"` // memories of one request
}

// SetLimit bounds a token, or, without one, a database. The zero limit takes the bound away.
type SetLimit struct {
	Token string `msgpack:"t,omitempty"` // hash
	DB    DB     `msgpack:"d,omitempty"`
	Limit Limit  `msgpack:"l"`
}
