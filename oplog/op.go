package oplog

// OpKind is an operation's number in the log. Numbers are for ever: append, never renumber.
type OpKind uint8

// The operations. Gaps are left for the families that grow.
const (
	KindInit         OpKind = 1
	KindRemember     OpKind = 10
	KindCorrect      OpKind = 11
	KindForget       OpKind = 12
	KindReinforce    OpKind = 13
	KindRelate       OpKind = 20
	KindUnrelate     OpKind = 21
	KindClaim        OpKind = 22
	KindAlias        OpKind = 23
	KindSessionStart OpKind = 30
	KindSessionEnd   OpKind = 31
	KindAbandon      OpKind = 32
	KindCreateDB     OpKind = 80
	KindDropDB       OpKind = 81
	KindCreateToken  OpKind = 82
	KindRevokeToken  OpKind = 83
	KindSetQuota     OpKind = 84
	KindAdvertise    OpKind = 85
	KindForeign      OpKind = 90
	highestKnownKind        = KindForeign
)

// An Op is one thing that happens to memory.
type Op interface {
	// Kind is the operation's number.
	Kind() OpKind
	// apply makes the change inside an entry. A refusal is an *Error and leaves no trace: what the
	// entry had written so far is undone.
	apply(*applying) (Result, *Error)
}

// ops makes an empty operation of each kind, for the decoder. It is also the list of what this version can read.
var ops = map[OpKind]func() Op{
	KindInit:         func() Op { return new(Init) },
	KindRemember:     func() Op { return new(Remember) },
	KindCorrect:      func() Op { return new(Correct) },
	KindForget:       func() Op { return new(Forget) },
	KindReinforce:    func() Op { return new(Reinforce) },
	KindRelate:       func() Op { return new(Relate) },
	KindUnrelate:     func() Op { return new(Unrelate) },
	KindClaim:        func() Op { return new(Claim) },
	KindAlias:        func() Op { return new(Alias) },
	KindSessionStart: func() Op { return new(SessionStart) },
	KindSessionEnd:   func() Op { return new(SessionEnd) },
	KindAbandon:      func() Op { return new(Abandon) },
	KindCreateDB:     func() Op { return new(CreateDB) },
	KindDropDB:       func() Op { return new(DropDB) },
	KindCreateToken:  func() Op { return new(CreateToken) },
	KindRevokeToken:  func() Op { return new(RevokeToken) },
	KindSetQuota:     func() Op { return new(SetQuota) },
	KindAdvertise:    func() Op { return new(Advertise) },
	KindForeign:      func() Op { return new(Foreign) },
}

var kindText = map[OpKind]string{
	KindInit: "init", KindRemember: "remember", KindCorrect: "correct", KindForget: "forget",
	KindReinforce: "reinforce", KindRelate: "relate", KindUnrelate: "unrelate", KindClaim: "claim",
	KindAlias: "alias", KindSessionStart: "session_start", KindSessionEnd: "session_end",
	KindAbandon: "session_abandon", KindCreateDB: "create_database", KindDropDB: "drop_database",
	KindCreateToken: "create_token", KindRevokeToken: "revoke_token", KindSetQuota: "set_quota",
	KindAdvertise: "advertise", KindForeign: "foreign",
}

func (k OpKind) String() string { return kindText[k] }

// A Result is what one operation came to. Which fields are set depends on the operation.
type Result struct {
	ID      string          `msgpack:"id,omitempty"` // rid, edge, claim or session id
	Num     uint64          `msgpack:"n,omitempty"`  // dense sequence, database number, count
	Changed bool            `msgpack:"c,omitempty"`  // found, added, created: the state is not what it was
	Session *SessionSummary `msgpack:"s,omitempty"`
}

// SessionSummary is what a session amounted to when it ended.
type SessionSummary struct {
	ID       string   `msgpack:"id"`
	Started  Time     `msgpack:"st"`
	Ended    Time     `msgpack:"en"`
	Memories uint64   `msgpack:"m"`
	Valence  float64  `msgpack:"v,omitempty"` // mean over the session's memories
	Topics   []string `msgpack:"t,omitempty"`
}
