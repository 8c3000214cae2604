package oplog

// OpKind is an operation's number in the log. Numbers are for ever: append, never renumber.
type OpKind uint8

// The operations. Each subject has a range of numbers: memories from 10, relations 20, sessions 30, raw events 40,
// covenants 50, cognition 70, the control plane 80, strangers 90.
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
	KindAssert       OpKind = 24
	KindStated       OpKind = 25
	KindLinked       OpKind = 26
	KindHandOn       OpKind = 27
	KindSessionStart OpKind = 30
	KindSessionEnd   OpKind = 31
	KindAbandon      OpKind = 32
	KindEvent        OpKind = 40
	KindEventMark    OpKind = 41
	KindIdentity     OpKind = 50
	KindReceipt      OpKind = 51
	KindGrant        OpKind = 52
	KindRevoke       OpKind = 53
	KindPurgeGrants  OpKind = 54
	KindCognition    OpKind = 70
	KindResolve      OpKind = 71
	KindTriggerMove  OpKind = 72
	KindFeedback     OpKind = 73
	KindSetSettings  OpKind = 74
	KindPurge        OpKind = 75
	KindCreateDB     OpKind = 80
	KindDropDB       OpKind = 81
	KindCreateToken  OpKind = 82
	KindRevokeToken  OpKind = 83
	KindSetQuota     OpKind = 84
	KindAdvertise    OpKind = 85
	KindSetEmbedder  OpKind = 86
	KindSetLimit     OpKind = 87
	KindAudit        OpKind = 88
	KindUses         OpKind = 89
	KindForeign      OpKind = 90
	KindRebind       OpKind = 91
	KindEmbed        OpKind = 92
)

// An Op is one thing that happens to memory.
type Op interface {
	// Kind is the operation's number.
	Kind() OpKind
}

// family lists the operations of one subject; it stands beside them.
type family []struct {
	kind OpKind
	name string
	make func() Op // an empty one, for the decoder
}

// families is what this version can read.
var families = []family{memoryFamily, graphFamily, foundFamily, sessionFamily, eventFamily, covenantFamily, mindFamily, controlFamily, embedFamily, limitFamily, auditFamily, foreignFamily}

type kindInfo struct {
	name string
	make func() Op
}

var kinds = func() map[OpKind]kindInfo {
	m := map[OpKind]kindInfo{}
	for _, f := range families {
		for _, k := range f {
			m[k.kind] = kindInfo{k.name, k.make}
		}
	}
	return m
}()

func (k OpKind) String() string { return kinds[k].name }

// A Result is what one operation came to. Which fields are set depends on the operation.
type Result struct {
	ID      string          `msgpack:"id,omitempty"` // rid, edge, claim or session id
	Num     uint64          `msgpack:"n,omitempty"`  // dense sequence, database number, count
	Changed bool            `msgpack:"c,omitempty"`  // found, added, created: the state is not what it was
	Session *SessionSummary `msgpack:"s,omitempty"`
	Thought *Thought        `msgpack:"g,omitempty"`
	Rows    []string        `msgpack:"r,omitempty"` // memories it touched that the operation itself does not name
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

// New makes an empty operation of a kind; nil for one that this version does not read.
func (k OpKind) New() Op {
	known, ok := kinds[k]
	if !ok {
		return nil
	}
	return known.make()
}
