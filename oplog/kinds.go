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
	KindExpect       OpKind = 14
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
	KindPartition    OpKind = 93
)

// kinds is what this version reads: an operation's name, and an empty one for the decoder.
var kinds = map[OpKind]struct {
	name string
	make func() Op
}{
	KindInit:         {"init", func() Op { return new(Init) }},
	KindRemember:     {"remember", func() Op { return new(Remember) }},
	KindCorrect:      {"correct", func() Op { return new(Correct) }},
	KindForget:       {"forget", func() Op { return new(Forget) }},
	KindReinforce:    {"reinforce", func() Op { return new(Reinforce) }},
	KindExpect:       {"expect", func() Op { return new(Expect) }},
	KindRelate:       {"relate", func() Op { return new(Relate) }},
	KindUnrelate:     {"unrelate", func() Op { return new(Unrelate) }},
	KindClaim:        {"claim", func() Op { return new(Claim) }},
	KindAlias:        {"alias", func() Op { return new(Alias) }},
	KindAssert:       {"assert", func() Op { return new(Assert) }},
	KindStated:       {"stated", func() Op { return new(Stated) }},
	KindLinked:       {"linked", func() Op { return new(Linked) }},
	KindHandOn:       {"hand_on", func() Op { return new(HandOn) }},
	KindSessionStart: {"session_start", func() Op { return new(SessionStart) }},
	KindSessionEnd:   {"session_end", func() Op { return new(SessionEnd) }},
	KindAbandon:      {"session_abandon", func() Op { return new(Abandon) }},
	KindEvent:        {"event", func() Op { return new(Event) }},
	KindEventMark:    {"event_mark", func() Op { return new(EventMark) }},
	KindIdentity:     {"identity", func() Op { return new(Identity) }},
	KindReceipt:      {"receipt", func() Op { return new(Receipt) }},
	KindGrant:        {"grant", func() Op { return new(Grant) }},
	KindRevoke:       {"revoke", func() Op { return new(Revoke) }},
	KindPurgeGrants:  {"purge_grants", func() Op { return new(PurgeGrants) }},
	KindCognition:    {"cognition", func() Op { return new(Cognition) }},
	KindResolve:      {"resolve", func() Op { return new(Resolve) }},
	KindTriggerMove:  {"trigger", func() Op { return new(TriggerMove) }},
	KindFeedback:     {"feedback", func() Op { return new(Feedback) }},
	KindSetSettings:  {"set_settings", func() Op { return new(SetSettings) }},
	KindPurge:        {"purge", func() Op { return new(Purge) }},
	KindCreateDB:     {"create_database", func() Op { return new(CreateDB) }},
	KindDropDB:       {"drop_database", func() Op { return new(DropDB) }},
	KindCreateToken:  {"create_token", func() Op { return new(CreateToken) }},
	KindRevokeToken:  {"revoke_token", func() Op { return new(RevokeToken) }},
	KindSetQuota:     {"set_quota", func() Op { return new(SetQuota) }},
	KindAdvertise:    {"advertise", func() Op { return new(Advertise) }},
	KindSetEmbedder:  {"set_embedder", func() Op { return new(SetEmbedder) }},
	KindSetLimit:     {"set_limit", func() Op { return new(SetLimit) }},
	KindAudit:        {"audit", func() Op { return new(Audit) }},
	KindUses:         {"token_uses", func() Op { return new(Uses) }},
	KindForeign:      {"foreign", func() Op { return new(Foreign) }},
	KindRebind:       {"rebind", func() Op { return new(Rebind) }},
	KindEmbed:        {"embed", func() Op { return new(Embed) }},
	KindPartition:    {"partition", func() Op { return new(Partition) }},
}

func (k OpKind) String() string { return kinds[k].name }

// New makes an empty operation of a kind; nil for one that this version does not read.
func (k OpKind) New() Op {
	known, ok := kinds[k]
	if !ok {
		return nil
	}
	return known.make()
}

// What kind each operation is.

func (*Init) Kind() OpKind         { return KindInit }
func (*Remember) Kind() OpKind     { return KindRemember }
func (*Correct) Kind() OpKind      { return KindCorrect }
func (*Forget) Kind() OpKind       { return KindForget }
func (*Reinforce) Kind() OpKind    { return KindReinforce }
func (*Expect) Kind() OpKind       { return KindExpect }
func (*Relate) Kind() OpKind       { return KindRelate }
func (*Unrelate) Kind() OpKind     { return KindUnrelate }
func (*Claim) Kind() OpKind        { return KindClaim }
func (*Alias) Kind() OpKind        { return KindAlias }
func (*Assert) Kind() OpKind       { return KindAssert }
func (*Stated) Kind() OpKind       { return KindStated }
func (*Linked) Kind() OpKind       { return KindLinked }
func (*HandOn) Kind() OpKind       { return KindHandOn }
func (*SessionStart) Kind() OpKind { return KindSessionStart }
func (*SessionEnd) Kind() OpKind   { return KindSessionEnd }
func (*Abandon) Kind() OpKind      { return KindAbandon }
func (*Event) Kind() OpKind        { return KindEvent }
func (*EventMark) Kind() OpKind    { return KindEventMark }
func (*Identity) Kind() OpKind     { return KindIdentity }
func (*Receipt) Kind() OpKind      { return KindReceipt }
func (*Grant) Kind() OpKind        { return KindGrant }
func (*Revoke) Kind() OpKind       { return KindRevoke }
func (*PurgeGrants) Kind() OpKind  { return KindPurgeGrants }
func (*Cognition) Kind() OpKind    { return KindCognition }
func (*Resolve) Kind() OpKind      { return KindResolve }
func (*TriggerMove) Kind() OpKind  { return KindTriggerMove }
func (*Feedback) Kind() OpKind     { return KindFeedback }
func (*SetSettings) Kind() OpKind  { return KindSetSettings }
func (*Purge) Kind() OpKind        { return KindPurge }
func (*CreateDB) Kind() OpKind     { return KindCreateDB }
func (*DropDB) Kind() OpKind       { return KindDropDB }
func (*CreateToken) Kind() OpKind  { return KindCreateToken }
func (*RevokeToken) Kind() OpKind  { return KindRevokeToken }
func (*SetQuota) Kind() OpKind     { return KindSetQuota }
func (*Advertise) Kind() OpKind    { return KindAdvertise }
func (*SetEmbedder) Kind() OpKind  { return KindSetEmbedder }
func (*SetLimit) Kind() OpKind     { return KindSetLimit }
func (*Audit) Kind() OpKind        { return KindAudit }
func (*Uses) Kind() OpKind         { return KindUses }
func (*Foreign) Kind() OpKind      { return KindForeign }
func (*Rebind) Kind() OpKind       { return KindRebind }
func (*Embed) Kind() OpKind        { return KindEmbed }
func (*Partition) Kind() OpKind    { return KindPartition }
