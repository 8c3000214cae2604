package wire

// The `raft` maps carry Raft itself inside the seed's messages: a peer that is no member sends none and is
// answered without. Byte strings are msgpack bin.

// RaftHello is what members tell each other when they connect.
type RaftHello struct {
	ClusterID string // empty while the sender belongs to no cluster
	Purpose   string // heartbeat, append, snapshot or forward: what the connection will carry
	HasState  bool   // the sender has records, votes or a state beyond a founding that no vote has followed yet
	EntryMin  uint32 // versions of log records it reads
	EntryMax  uint32
	Wire      string // where its clients find it
	HTTP      string
	Version   string // of the binary
	StateMin  uint32 // formats of snapshots it reads, down to the least that it sends
	StateMax  uint32
	Reads     []byte // numbers of the operations it reads, in order; none told: those of the first release
	Needs     []byte // those of its log that not every version reads
	AckTerm   uint64 // the last record that the sender knows the receiver to have acknowledged; 0 for none
	AckIndex  uint64
	Nonce     []byte // chosen by the dialing side: the answer signs it
	Key       string // of the answer: the public key, in hex, of the node's home
	Addr      string // of the answer: where the node is to be reached
	Proof     []byte // of the answer: the key's signature
	Checksum  uint32 // of the hello without it, and frames behind it end with theirs; 0 when the sender has none
}

func (m *RaftHello) fields(c *codec) {
	c.str("cluster_id", &m.ClusterID, defaulted)
	c.str("purpose", &m.Purpose, defaulted)
	c.boolean("has_state", &m.HasState, defaulted)
	uintField(c, "entry_min", &m.EntryMin, defaulted)
	uintField(c, "entry_max", &m.EntryMax, defaulted)
	c.str("wire", &m.Wire, defaulted)
	c.str("http", &m.HTTP, defaulted)
	c.str("version", &m.Version, defaulted)
	uintField(c, "state_min", &m.StateMin, extension)
	uintField(c, "state_max", &m.StateMax, extension)
	c.bin("reads", &m.Reads, extension)
	c.bin("needs", &m.Needs, extension)
	uintField(c, "ack_term", &m.AckTerm, extension)
	uintField(c, "ack_index", &m.AckIndex, extension)
	c.bin("nonce", &m.Nonce, extension)
	c.str("key", &m.Key, extension)
	c.str("addr", &m.Addr, extension)
	c.bin("proof", &m.Proof, extension)
	uintField(c, "checksum", &m.Checksum, extension)
}

// RaftEntry is one log entry.
type RaftEntry struct {
	Index      uint64
	Term       uint64
	Type       uint8
	Data       []byte
	Extensions []byte
	AppendedAt int64 // unix nanoseconds; 0 for none
}

func (m *RaftEntry) fields(c *codec) {
	uintField(c, "i", &m.Index, required)
	uintField(c, "t", &m.Term, required)
	uintField(c, "k", &m.Type, required)
	c.bin("d", &m.Data, optional)
	c.bin("x", &m.Extensions, extension)
	at := int(m.AppendedAt)
	c.integer("a", &at, extension)
	m.AppendedAt = int64(at)
}

// maxEntries is how many records an append may bring: more than the library sends.
const maxEntries = 4096

// RaftAppend is an AppendEntries request.
type RaftAppend struct {
	Term       uint64
	Leader     uint32
	LeaderAddr string
	PrevIndex  uint64
	PrevTerm   uint64
	Commit     uint64
	Entries    []RaftEntry

	Acknowledged uint64      // all records that were acknowledged are at or below it; 0 when the leader cannot tell yet
	Clock        uint64      // what the leader takes the time to be, in Unix microseconds; 0 when it does not say
	Chain        []byte      // in heartbeats: origin, index and hash of the records the leader has applied; see raft/recovery/chain.go
	Heard        uint64      // the mark of the follower's last answer that the leader had when it sent this; 0 for none
	Last         []RaftPlace // in heartbeats: the last records that the members are known to have acknowledged
}

// RaftPlace is the last record that a member is known to have acknowledged.
type RaftPlace struct {
	Node  uint32
	Term  uint64
	Index uint64
}

func (m *RaftPlace) fields(c *codec) {
	uintField(c, "n", &m.Node, required)
	uintField(c, "t", &m.Term, required)
	uintField(c, "i", &m.Index, required)
}

func (m *RaftAppend) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "leader", &m.Leader, required)
	c.str("leader_addr", &m.LeaderAddr, required)
	uintField(c, "prev_index", &m.PrevIndex, required)
	uintField(c, "prev_term", &m.PrevTerm, required)
	uintField(c, "commit", &m.Commit, required)
	listUpTo(c, "entries", &m.Entries, extension, maxEntries)
	uintField(c, "acknowledged", &m.Acknowledged, extension)
	uintField(c, "clock", &m.Clock, extension)
	uintField(c, "heard", &m.Heard, extension)
	list(c, "last", &m.Last, extension)
	c.bin("chain", &m.Chain, extension)
}

// RaftAppendReply answers it.
type RaftAppendReply struct {
	Term           uint64
	LastLog        uint64
	Success        bool
	NoRetryBackoff bool
	Clock          uint64 // the follower's, in Unix microseconds; 0 when it does not say
	Mark           uint64 // when the follower answered, by a clock of its own that the leader gives back as heard
}

func (m *RaftAppendReply) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "last_log", &m.LastLog, required)
	c.boolean("success", &m.Success, required)
	c.boolean("no_retry_backoff", &m.NoRetryBackoff, required)
	uintField(c, "clock", &m.Clock, extension)
	uintField(c, "mark", &m.Mark, extension)
}

// RaftVote is a RequestVote or, with PreVote, a RequestPreVote.
type RaftVote struct {
	Term      uint64
	Candidate uint32
	Addr      string
	LastIndex uint64
	LastTerm  uint64
	Transfer  bool
	PreVote   bool
}

func (m *RaftVote) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "candidate", &m.Candidate, required)
	c.str("addr", &m.Addr, required)
	uintField(c, "last_index", &m.LastIndex, required)
	uintField(c, "last_term", &m.LastTerm, required)
	c.boolean("transfer", &m.Transfer, extension)
	c.boolean("pre_vote", &m.PreVote, extension)
}

// RaftVoteReply answers it.
type RaftVoteReply struct {
	Term    uint64
	Granted bool
}

func (m *RaftVoteReply) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	c.boolean("granted", &m.Granted, required)
}

// SnapshotBegin opens an InstallSnapshot: chunks of Size bytes in all follow on the same connection.
type SnapshotBegin struct {
	Term               uint64
	Leader             uint32
	LeaderAddr         string
	LastIndex          uint64
	LastTerm           uint64
	Configuration      []byte
	ConfigurationIndex uint64
	Size               uint64
}

func (m *SnapshotBegin) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "leader", &m.Leader, required)
	c.str("leader_addr", &m.LeaderAddr, required)
	uintField(c, "last_index", &m.LastIndex, required)
	uintField(c, "last_term", &m.LastTerm, required)
	c.bin("configuration", &m.Configuration, required)
	uintField(c, "configuration_index", &m.ConfigurationIndex, required)
	uintField(c, "size", &m.Size, required)
}

// SnapshotChunk is a piece of a snapshot; the last one carries the SHA-256 of all.
type SnapshotChunk struct {
	Offset uint64
	Data   []byte
	Sum    []byte
}

func (m *SnapshotChunk) fields(c *codec) {
	uintField(c, "offset", &m.Offset, required)
	c.bin("data", &m.Data, required)
	c.bin("sum", &m.Sum, extension)
}

// SnapshotOK answers the last chunk.
type SnapshotOK struct {
	Term    uint64
	Success bool
}

func (m *SnapshotOK) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	c.boolean("success", &m.Success, required)
}

// TimeoutNow tells a member to campaign at once: the leader hands over.
type TimeoutNow struct {
	Leader     uint32
	LeaderAddr string
}

func (m *TimeoutNow) fields(c *codec) {
	uintField(c, "leader", &m.Leader, required)
	c.str("leader_addr", &m.LeaderAddr, required)
}

// Asker is the caller that asked for a change, for the audit that the leader writes.
type Asker struct {
	By    string // as the audit names it; empty: the node itself
	Label string // of the token
}

func (m *Asker) fields(c *codec) {
	c.str("by", &m.By, defaulted)
	c.str("label", &m.Label, defaulted)
}

// Forward brings an entry to the leader.
type Forward struct {
	Entry []byte
	Asker
}

func (m *Forward) fields(c *codec) {
	c.bin("entry", &m.Entry, required)
	m.Asker.fields(c)
}

// ForwardOK brings back what became of it.
type ForwardOK struct{ Outcome []byte }

func (m *ForwardOK) fields(c *codec) { c.bin("outcome", &m.Outcome, required) }

// ReadIndexOK answers READ_INDEX: everything acknowledged before the question is at or below Index.
type ReadIndexOK struct {
	Index uint64
	Term  uint64
}

func (m *ReadIndexOK) fields(c *codec) {
	uintField(c, "index", &m.Index, required)
	uintField(c, "term", &m.Term, required)
}

// Membership asks the leader to change the members of the cluster.
type Membership struct {
	Action        string // join, rejoin, remove, promote, transfer; form, from the founder to the other founding members
	NodeID        uint32
	Addr          string // for join: the peer address of the node
	Role          string // for join: voter or read_replica
	Configuration []byte // for form: the founding members, as the Raft library writes them
	Force         bool   // skip the checks that protect availability
	Asker
}

func (m *Membership) fields(c *codec) {
	c.str("action", &m.Action, required)
	uintField(c, "node_id", &m.NodeID, defaulted)
	c.str("addr", &m.Addr, defaulted)
	c.str("role", &m.Role, defaulted)
	c.bin("configuration", &m.Configuration, extension)
	c.boolean("force", &m.Force, extension)
	m.Asker.fields(c)
}

// MembershipOK says what was done.
type MembershipOK struct {
	Message string
	Index   uint64 // for rejoin: where in the log the vote was taken away
}

func (m *MembershipOK) fields(c *codec) {
	c.str("message", &m.Message, required)
	uintField(c, "index", &m.Index, defaulted)
}
