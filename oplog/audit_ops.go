package oplog

// An Audit names the caller of the operations in its entry. An entry is applied whole or not at all, so none of them
// is without its audit.
type Audit struct {
	By    string `msgpack:"b"`                      // the beginning of a token's hash; master, local, or node
	Label string `msgpack:"l,omitempty"`            // of the token, at the time
	What  string `msgpack:"w"`                      // what was done, in the words of the log
	On    string `msgpack:"o,omitempty" subject:""` // to what: a database, the beginning of a token's hash, a node
	How   string `msgpack:"h,omitempty" max:"text"` // with which values
	Node  uint32 `msgpack:"n"`                      // where it was requested
	At    Time   `msgpack:"at"`
}

// AuditRow is an audit with its place in the log.
type AuditRow struct {
	Audit
	Index Index `msgpack:"i"`
}

// Uses says when tokens were used last: many at a time, seldom.
type Uses struct {
	Uses []TokenUse `msgpack:"u"`
}

// TokenUse records when a token was used.
type TokenUse struct {
	Hash string `msgpack:"h"`
	At   Time   `msgpack:"at"`
}
