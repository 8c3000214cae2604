package oplog

// Identity makes a key known by a name. The first operator of a database is its operator for ever: a later one is
// rejected, and with it the entry, so that of several nodes which start together exactly one decides.
type Identity struct {
	Key      string `msgpack:"k"` // public, as its protocol spells it
	Display  string `msgpack:"d"`
	Operator bool   `msgpack:"o,omitempty"`
	Sealed   []byte `msgpack:"s,omitempty"` // the operator's private key, readable only with the cluster's secret
	At       Time   `msgpack:"at"`
}

// Receipt says what a memory cost. It travels in the entry that stores the memory.
type Receipt struct {
	ID       string `msgpack:"id" subject:""`
	Payer    string `msgpack:"p"`
	Resource string `msgpack:"r"`
	Memory   string `msgpack:"m,omitempty"` // rid
	Credits  uint64 `msgpack:"c"`
	At       Time   `msgpack:"at"`
}

// Grant gives a capability. The signature names it; granting it again lifts its revocation.
type Grant struct {
	Signature string `msgpack:"s"`
	Subject   string `msgpack:"u"`
	Action    string `msgpack:"a" subject:""`
	Scope     []byte `msgpack:"sc"` // canonical JSON
	GrantedBy string `msgpack:"g"`
	Expires   uint64 `msgpack:"x,omitempty"` // Unix milliseconds; meaningless unless Limited
	Limited   bool   `msgpack:"l,omitempty"`
	Node      uint32 `msgpack:"n"` // where it was requested
	First     bool   `msgpack:"f,omitempty"`
	At        Time   `msgpack:"at"`
}

// Revoke ends a capability. Only its subject may.
type Revoke struct {
	Signature string `msgpack:"s"`
	Subject   string `msgpack:"u"`
	At        Time   `msgpack:"at"`
}

// PurgeGrants drops capabilities that were revoked before a time.
type PurgeGrants struct {
	Before Time `msgpack:"b"`
	At     Time `msgpack:"at"`
}

// What the rejections of capabilities say; surfaces compare them.
var (
	ErrHasOperator = &Error{Kind: Conflict, Text: "the database has an operator"}
	ErrNotSubject  = &Error{Kind: Denied, Text: "capability subject does not match authenticated peer"}
)

// A StoredGrant is a capability as the state holds it.
type StoredGrant struct {
	Grant
	Number  uint64 `msgpack:"no"` // order of granting
	Revoked Time   `msgpack:"rv,omitempty"`
}
