package oplog

// SessionStart opens a session; one may be active for a (namespace, client).
type SessionStart struct {
	ID        string `msgpack:"id" subject:"" max:"name"`
	Namespace string `msgpack:"ns" max:"name"`
	Client    string `msgpack:"cl,omitempty" max:"name"`
	Metadata  []byte `msgpack:"md,omitempty" max:"metadata"`
	At        Time   `msgpack:"at"`
}

// SessionEnd closes a session and says what it amounted to.
type SessionEnd struct {
	ID      string `msgpack:"id" subject:""`
	Summary string `msgpack:"su,omitempty" max:"text"`
	At      Time   `msgpack:"at"`
}

// Abandon gives up sessions that started before the cutoff and never ended, at most Max of them.
type Abandon struct {
	Before Time   `msgpack:"b"`
	Max    uint32 `msgpack:"m"`
	At     Time   `msgpack:"at"`
}
