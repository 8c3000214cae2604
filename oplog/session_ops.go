package oplog

// SessionStart opens a session; one may be active for a (namespace, client).
type SessionStart struct {
	ID        string `msgpack:"id" subject:""`
	Namespace string `msgpack:"ns"`
	Client    string `msgpack:"cl,omitempty"`
	Metadata  []byte `msgpack:"md,omitempty"`
	At        Time   `msgpack:"at"`
}

// SessionEnd closes a session and says what it amounted to.
type SessionEnd struct {
	ID      string `msgpack:"id" subject:""`
	Summary string `msgpack:"su,omitempty"`
	At      Time   `msgpack:"at"`
}

// Abandon gives up sessions that started before the cutoff and never ended, at most Max of them.
type Abandon struct {
	Before Time   `msgpack:"b"`
	Max    uint32 `msgpack:"m"`
	At     Time   `msgpack:"at"`
}
