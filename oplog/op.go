package oplog

// An Op is one thing that happens to memory.
type Op interface {
	// Kind is the operation's number.
	Kind() OpKind
}

// A Result says what one operation did. Which fields are set depends on the operation.
type Result struct {
	ID      string          `msgpack:"id,omitempty"` // rid, edge, claim or session id
	Num     uint64          `msgpack:"n,omitempty"`  // dense sequence, database number, count
	Changed bool            `msgpack:"c,omitempty"`  // found, added, created: the state is not what it was
	Session *SessionSummary `msgpack:"s,omitempty"`
	Thought *Thought        `msgpack:"g,omitempty"`
	Rows    []string        `msgpack:"r,omitempty"` // memories it touched that the operation itself does not name
}

// SessionSummary sums up a session that has ended.
type SessionSummary struct {
	ID       string   `msgpack:"id"`
	Started  Time     `msgpack:"st"`
	Ended    Time     `msgpack:"en"`
	Memories uint64   `msgpack:"m"`
	Valence  float64  `msgpack:"v,omitempty"` // mean over the session's memories
	Topics   []string `msgpack:"t,omitempty"`
}
