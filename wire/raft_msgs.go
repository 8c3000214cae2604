package wire

// The `raft` maps transport Raft's messages inside messages of the original protocol. A peer that is not a member
// sends no such map and receives none. Byte strings are msgpack bin.

// RaftHello is the `raft` map of a hello between members, and of its answer.
type RaftHello struct {
	ClusterID string `wire:"cluster_id,defaulted"` // blank if the sender belongs to no cluster
	Purpose   string `wire:"purpose,defaulted"`    // use of the connection: heartbeat, append, snapshot or forward
	// the sender has records, votes or a state, other than those of a founding without any vote since
	HasState    bool   `wire:"has_state,defaulted"`
	EntryMin    uint32 `wire:"entry_min,defaulted"` // supported versions of log records
	EntryMax    uint32 `wire:"entry_max,defaulted"`
	Wire        string `wire:"wire,defaulted"` // addresses for the sender's clients
	HTTP        string `wire:"http,defaulted"`
	Version     string `wire:"version,defaulted"`   // of the sender's binary
	StateMin    uint32 `wire:"state_min,extension"` // supported snapshot formats
	StateMax    uint32 `wire:"state_max,extension"`
	Reads       []byte `wire:"reads,extension"`    // numbers of the supported operations, in order
	Needs       []byte `wire:"needs,extension"`    // numbers of operations in its log that not every version supports
	AckTerm     uint64 `wire:"ack_term,extension"` // last record that the receiver has acknowledged, as the sender knows; 0: none
	AckIndex    uint64 `wire:"ack_index,extension"`
	Receipt     string `wire:"receipt,extension"`     // the receiver's own proof of that acknowledgement
	CommitTerm  uint64 `wire:"commit_term,extension"` // last record that the sender knows is committed; 0: none
	CommitIndex uint64 `wire:"commit_index,extension"`
	// random, from the sender: the other side's mac and proof include it
	Nonce     []byte `wire:"nonce,extension"`
	Key       string `wire:"key,extension"`       // the public key, in hex, of the sender's home
	Addr      string `wire:"addr,extension"`      // the sender's address, which the proof signs
	Proof     []byte `wire:"proof,extension"`     // the key's signature
	Stateless bool   `wire:"stateless,extension"` // the sender has no state, and does not vote until a leader has readmitted it
	// proves the cluster secret; in a first answer, one for each accepted secret
	MAC []byte `wire:"mac,extension"`
	// checksum of the hello without this field; announces checksums in later frames; 0: none
	Checksum uint32 `wire:"checksum,extension"`
}

// RaftEntry is one log entry.
type RaftEntry struct {
	Index      uint64 `wire:"i"`
	Term       uint64 `wire:"t"`
	Type       uint8  `wire:"k"`
	Data       []byte `wire:"d,optional"`
	Extensions []byte `wire:"x,extension"`
	AppendedAt int64  `wire:"a,extension"` // Unix nanoseconds; 0: none
}

// maxEntries limits the entries of an append, above the number that the Raft library sends.
const maxEntries = 4096

func (RaftEntry) most() uint32 { return maxEntries }

// RaftAppend is an AppendEntries request.
type RaftAppend struct {
	Term       uint64      `wire:"term"`
	Leader     uint32      `wire:"leader"`
	LeaderAddr string      `wire:"leader_addr"`
	PrevIndex  uint64      `wire:"prev_index"`
	PrevTerm   uint64      `wire:"prev_term"`
	Commit     uint64      `wire:"commit"`
	Entries    []RaftEntry `wire:"entries,extension"`

	// index at or above all acknowledged records; 0: the leader does not know yet
	Acknowledged uint64 `wire:"acknowledged,extension"`
	Clock        uint64 `wire:"clock,extension"` // the leader's time in Unix microseconds; 0: none
	// Mark of the follower's last answer that the leader had received; 0: none
	Heard uint64      `wire:"heard,extension"`
	Last  []RaftPlace `wire:"last,extension"` // in heartbeats: the last acknowledged record of each member, as far as known
}

// RaftPlace is the last record that a member has acknowledged, as far as known. Receipt proves that to the member
// itself, which is the only one that can create it.
type RaftPlace struct {
	Node    uint32 `wire:"n"`
	Term    uint64 `wire:"t"`
	Index   uint64 `wire:"i"`
	Receipt string `wire:"r,extension"`
}

// RaftAppendReply answers a RaftAppend.
type RaftAppendReply struct {
	Term           uint64 `wire:"term"`
	LastLog        uint64 `wire:"last_log"`
	Success        bool   `wire:"success"`
	NoRetryBackoff bool   `wire:"no_retry_backoff"`
	Clock          uint64 `wire:"clock,extension"` // the follower's time in Unix microseconds; 0: none
	Mark           uint64 `wire:"mark,extension"`  // time of the answer by the follower's own clock; the leader returns it as Heard

	Acked *RaftPlace `wire:"acked,extension"` // the last record of the request, once it is on the follower's disk
}

// RaftVote is a RequestVote or, with PreVote, a RequestPreVote.
type RaftVote struct {
	Term      uint64 `wire:"term"`
	Candidate uint32 `wire:"candidate"`
	Addr      string `wire:"addr"`
	LastIndex uint64 `wire:"last_index"`
	LastTerm  uint64 `wire:"last_term"`
	Transfer  bool   `wire:"transfer,extension"`
	PreVote   bool   `wire:"pre_vote,extension"`
}

// RaftVoteReply answers a RaftVote.
type RaftVoteReply struct {
	Term    uint64 `wire:"term"`
	Granted bool   `wire:"granted"`
}

// SnapshotBegin begins an InstallSnapshot. Chunks follow on the same connection; Size is their approximate total
// size.
type SnapshotBegin struct {
	Term               uint64 `wire:"term"`
	Leader             uint32 `wire:"leader"`
	LeaderAddr         string `wire:"leader_addr"`
	LastIndex          uint64 `wire:"last_index"`
	LastTerm           uint64 `wire:"last_term"`
	Configuration      []byte `wire:"configuration"`
	ConfigurationIndex uint64 `wire:"configuration_index"`
	Size               uint64 `wire:"size"`
}

// SnapshotChunk is a piece of a snapshot. The last one has the SHA-256 of all.
type SnapshotChunk struct {
	Offset uint64 `wire:"offset"`
	Data   []byte `wire:"data"`
	Sum    []byte `wire:"sum,extension"`
}

// SnapshotOK answers the last chunk.
type SnapshotOK struct {
	Term    uint64 `wire:"term"`
	Success bool   `wire:"success"`
}

// TimeoutNow makes a member start an election at once, to transfer leadership to it.
type TimeoutNow struct {
	Leader     uint32 `wire:"leader"`
	LeaderAddr string `wire:"leader_addr"`
}

// Asker is the caller that requested a change, for the audit that the leader writes.
type Asker struct {
	By    string `wire:"by,defaulted"`    // name in the audit; blank: the node itself
	Label string `wire:"label,defaulted"` // of the token
}

// Forward sends an entry to the leader, or an operation to a member.
type Forward struct {
	Entry []byte `wire:"entry"`
	Asker

	// Extensions: instead of an entry, an operation of the HTTP reference, on behalf of a caller that the sender has
	// authenticated.
	Operation string `wire:"operation,extension"`
	Request   JSON   `wire:"request,extension"`
	Database  string `wire:"database,extension"`
	Token     string `wire:"token,extension"` // hash of the caller's token; blank: By identifies the caller
}

// ForwardOK returns the outcome of a forwarded entry, or the answer of an operation.
type ForwardOK struct {
	Outcome []byte `wire:"outcome"`
}

// ReadIndexOK answers READ_INDEX. Everything acknowledged before the request is at or below Index.
type ReadIndexOK struct {
	Index uint64 `wire:"index"`
	Term  uint64 `wire:"term"`
}

// Compare requests the hashes of a record and of a member's state.
type Compare struct {
	Index uint64 `wire:"index"` // of the record; 0: only the state's hashes
}

// CompareOK answers a Compare. Hashes are absent if the member does not know that the record is committed, or has no
// state.
type CompareOK struct {
	Applied uint64     `wire:"applied"`          // the last record that the member knows is committed
	Term    uint64     `wire:"term,extension"`   // term of the record at the index; 0: unknown
	Sum     []byte     `wire:"sum,extension"`    // SHA-256 of the record
	States  []StateSum `wire:"states,extension"` // hashes of its state at recent indexes
}

// StateSum is the hash of a state at an index.
type StateSum struct {
	Index uint64 `wire:"i"`
	Sum   []byte `wire:"s"`
}

// Membership requests a change of the cluster's members from the leader.
type Membership struct {
	Action        string `wire:"action"` // join, rejoin, remove, promote, transfer; or form, from the founder to the other founding members
	NodeID        uint32 `wire:"node_id,defaulted"`
	Addr          string `wire:"addr,defaulted"`          // for join: the peer address of the node
	Role          string `wire:"role,defaulted"`          // for join: voter or read_replica
	Configuration []byte `wire:"configuration,extension"` // for form: the founding members, in the Raft library's encoding
	Force         bool   `wire:"force,extension"`         // skip the checks that protect availability
	Asker
}

// MembershipOK reports the change that was made.
type MembershipOK struct {
	Message string `wire:"message"`
	Index   uint64 `wire:"index,defaulted"` // for rejoin: log index at which the member lost its vote
	Term    uint64 `wire:"term,defaulted"`  // term of that leader
}
