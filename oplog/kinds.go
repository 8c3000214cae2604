package oplog

// OpKind is an operation's number in the log. Numbers are for ever: append, never renumber.
type OpKind uint8

// The kind of each operation. Each subject has a range of numbers: memories from 10, relations 20, sessions 30, raw
// events 40, covenants 50, cognition 70, the control plane 80, foreign peers 90.

func (*Init) Kind() OpKind         { return 1 }
func (*Remember) Kind() OpKind     { return 10 }
func (*Correct) Kind() OpKind      { return 11 }
func (*Forget) Kind() OpKind       { return 12 }
func (*Reinforce) Kind() OpKind    { return 13 }
func (*Expect) Kind() OpKind       { return 14 }
func (*Sweep) Kind() OpKind        { return 15 }
func (*Keyed) Kind() OpKind        { return 16 }
func (*Recast) Kind() OpKind       { return 17 }
func (*TakeBack) Kind() OpKind     { return 18 }
func (*Relate) Kind() OpKind       { return 20 }
func (*Unrelate) Kind() OpKind     { return 21 }
func (*Claim) Kind() OpKind        { return 22 }
func (*Alias) Kind() OpKind        { return 23 }
func (*Assert) Kind() OpKind       { return 24 }
func (*Stated) Kind() OpKind       { return 25 }
func (*Linked) Kind() OpKind       { return 26 }
func (*HandOn) Kind() OpKind       { return 27 }
func (*Supersede) Kind() OpKind    { return 28 }
func (*SessionStart) Kind() OpKind { return 30 }
func (*SessionEnd) Kind() OpKind   { return 31 }
func (*Abandon) Kind() OpKind      { return 32 }
func (*Event) Kind() OpKind        { return 40 }
func (*EventMark) Kind() OpKind    { return 41 }
func (*Identity) Kind() OpKind     { return 50 }
func (*Receipt) Kind() OpKind      { return 51 }
func (*Grant) Kind() OpKind        { return 52 }
func (*Revoke) Kind() OpKind       { return 53 }
func (*PurgeGrants) Kind() OpKind  { return 54 }
func (*Cognition) Kind() OpKind    { return 70 }
func (*Resolve) Kind() OpKind      { return 71 }
func (*TriggerMove) Kind() OpKind  { return 72 }
func (*Feedback) Kind() OpKind     { return 73 }
func (*SetSettings) Kind() OpKind  { return 74 }
func (*Purge) Kind() OpKind        { return 75 }
func (*CreateDB) Kind() OpKind     { return 80 }
func (*DropDB) Kind() OpKind       { return 81 }
func (*CreateToken) Kind() OpKind  { return 82 }
func (*RevokeToken) Kind() OpKind  { return 83 }
func (*SetQuota) Kind() OpKind     { return 84 }
func (*Advertise) Kind() OpKind    { return 85 }
func (*SetEmbedder) Kind() OpKind  { return 86 }
func (*SetLimit) Kind() OpKind     { return 87 }
func (*Audit) Kind() OpKind        { return 88 }
func (*Uses) Kind() OpKind         { return 89 }
func (*Foreign) Kind() OpKind      { return 90 }
func (*Rebind) Kind() OpKind       { return 91 }
func (*Embed) Kind() OpKind        { return 92 }
func (*Partition) Kind() OpKind    { return 93 }
func (*Erase) Kind() OpKind        { return 94 }
func (*CreateBound) Kind() OpKind  { return 95 }
func (*Consent) Kind() OpKind      { return 96 }
func (*Renew) Kind() OpKind        { return 97 }

// KindOf returns the kind of operations of a type: KindOf[Remember]() returns the Kind of a *Remember.
func KindOf[T any, O pointer[T]]() OpKind { return O(nil).Kind() } // Kind reads no field

type pointer[T any] interface {
	*T
	Op
}

// A kindInfo describes a kind that this version reads.
type kindInfo struct {
	kind         OpKind
	name         string
	make         func() Op // an empty one, for the decoder
	firstRelease bool      // the first release reads it too, so every member does
}

// firstRelease describes a kind that the first release reads; newer describes one that it does not.
func firstRelease[T any, O pointer[T]](name string) kindInfo {
	return kindInfo{KindOf[T, O](), name, func() Op { return O(new(T)) }, true}
}

func newer[T any, O pointer[T]](name string) kindInfo {
	r := firstRelease[T, O](name)
	r.firstRelease = false
	return r
}

// kinds holds the kinds that this version reads, by number.
var kinds = func(all ...kindInfo) (by [1 << 8]kindInfo) {
	for _, r := range all {
		if by[r.kind].make != nil {
			panic("oplog: two kinds have the number of " + r.name)
		}
		by[r.kind] = r
	}
	return by
}(
	firstRelease[Init]("init"),
	firstRelease[Remember]("remember"),
	firstRelease[Correct]("correct"),
	firstRelease[Forget]("forget"),
	firstRelease[Reinforce]("reinforce"),
	newer[Expect]("expect"),
	newer[Sweep]("sweep"),
	newer[Keyed]("keyed"),
	newer[Recast]("recast"),
	newer[TakeBack]("take_back"),
	firstRelease[Relate]("relate"),
	firstRelease[Unrelate]("unrelate"),
	firstRelease[Claim]("claim"),
	firstRelease[Alias]("alias"),
	newer[Assert]("assert"),
	newer[Stated]("stated"),
	newer[Linked]("linked"),
	newer[HandOn]("hand_on"),
	newer[Supersede]("supersede"),
	firstRelease[SessionStart]("session_start"),
	firstRelease[SessionEnd]("session_end"),
	firstRelease[Abandon]("session_abandon"),
	firstRelease[Event]("event"),
	firstRelease[EventMark]("event_mark"),
	firstRelease[Identity]("identity"),
	firstRelease[Receipt]("receipt"),
	firstRelease[Grant]("grant"),
	firstRelease[Revoke]("revoke"),
	firstRelease[PurgeGrants]("purge_grants"),
	firstRelease[Cognition]("cognition"),
	firstRelease[Resolve]("resolve"),
	firstRelease[TriggerMove]("trigger"),
	firstRelease[Feedback]("feedback"),
	firstRelease[SetSettings]("set_settings"),
	firstRelease[Purge]("purge"),
	firstRelease[CreateDB]("create_database"),
	firstRelease[DropDB]("drop_database"),
	firstRelease[CreateToken]("create_token"),
	firstRelease[RevokeToken]("revoke_token"),
	firstRelease[SetQuota]("set_quota"),
	firstRelease[Advertise]("advertise"),
	firstRelease[SetEmbedder]("set_embedder"),
	newer[SetLimit]("set_limit"),
	newer[Audit]("audit"),
	newer[Uses]("token_uses"),
	firstRelease[Foreign]("foreign"),
	newer[Rebind]("rebind"),
	newer[Embed]("embed"),
	newer[Partition]("partition"),
	newer[Erase]("erase"),
	newer[CreateBound]("create_bound_token"),
	newer[Consent]("consent"),
	newer[Renew]("renew_consent"),
)

func (k OpKind) String() string { return kinds[k].name }

// New makes an empty operation of a kind; nil for one that this version does not read.
func (k OpKind) New() Op {
	if kinds[k].make == nil {
		return nil
	}
	return kinds[k].make()
}
