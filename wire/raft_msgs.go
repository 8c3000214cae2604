package wire

// The `raft` maps carry Raft itself inside the seed's messages: a peer that is not a member sends none and is
// answered without. Byte strings are msgpack bin.

// RaftHello is the part of a hello between members, and of its answer.
type RaftHello struct {
	ClusterID string `wire:"cluster_id,defaulted"` // empty while the sender belongs to no cluster
	Purpose   string `wire:"purpose,defaulted"`    // heartbeat, append, snapshot or forward: the use of the connection
	// the sender has records, votes or a state beyond a founding that no vote has followed yet
	HasState    bool   `wire:"has_state,defaulted"`
	EntryMin    uint32 `wire:"entry_min,defaulted"` // versions of log records it reads
	EntryMax    uint32 `wire:"entry_max,defaulted"`
	Wire        string `wire:"wire,defaulted"` // where its clients find it
	HTTP        string `wire:"http,defaulted"`
	Version     string `wire:"version,defaulted"`   // of the binary
	StateMin    uint32 `wire:"state_min,extension"` // formats of snapshots it reads, down to the least that it sends
	StateMax    uint32 `wire:"state_max,extension"`
	Reads       []byte `wire:"reads,extension"`    // numbers of the operations it reads, in order
	Needs       []byte `wire:"needs,extension"`    // those of its log that not every version reads
	AckTerm     uint64 `wire:"ack_term,extension"` // the last record that the sender knows the receiver to have acknowledged; 0 for none
	AckIndex    uint64 `wire:"ack_index,extension"`
	Receipt     string `wire:"receipt,extension"`     // the receiver's own proof of that
	CommitTerm  uint64 `wire:"commit_term,extension"` // the last record that the sender knows to be committed; 0 for none
	CommitIndex uint64 `wire:"commit_index,extension"`
	// chosen by the sender: the mac of the other side proves the secret over it, and the last answer signs it
	Nonce     []byte `wire:"nonce,extension"`
	Key       string `wire:"key,extension"`       // the public key, in hex, of the sender's home
	Addr      string `wire:"addr,extension"`      // where the sender is to be reached, as it signs it
	Proof     []byte `wire:"proof,extension"`     // the key's signature
	Stateless bool   `wire:"stateless,extension"` // the sender has no state and gives no vote until a leader has taken it in again
	// proves the cluster secret; of a first answer: one for each secret that the sender accepts
	MAC []byte `wire:"mac,extension"`
	// of the hello without it, and frames behind it end with theirs; 0 when the sender has none
	Checksum uint32 `wire:"checksum,extension"`
}

// RaftEntry is one log entry.
type RaftEntry struct {
	Index      uint64 `wire:"i"`
	Term       uint64 `wire:"t"`
	Type       uint8  `wire:"k"`
	Data       []byte `wire:"d,optional"`
	Extensions []byte `wire:"x,extension"`
	AppendedAt int64  `wire:"a,extension"` // unix nanoseconds; 0 for none
}

// maxEntries limits the records of an append: more than the library sends.
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

	// all records that were acknowledged are at or below it; 0 when the leader cannot tell yet
	Acknowledged uint64 `wire:"acknowledged,extension"`
	Clock        uint64 `wire:"clock,extension"` // the leader's time, in Unix microseconds; 0 when it sends none
	// the mark of the follower's last answer that the leader had when it sent this; 0 for none
	Heard uint64      `wire:"heard,extension"`
	Last  []RaftPlace `wire:"last,extension"` // in heartbeats: the last records that the members are known to have acknowledged
}

// RaftPlace is the last record that a member is known to have acknowledged. Receipt proves that to the member itself:
// no other one can make it.
type RaftPlace struct {
	Node    uint32 `wire:"n"`
	Term    uint64 `wire:"t"`
	Index   uint64 `wire:"i"`
	Receipt string `wire:"r,extension"`
}

// RaftAppendReply answers it.
type RaftAppendReply struct {
	Term           uint64 `wire:"term"`
	LastLog        uint64 `wire:"last_log"`
	Success        bool   `wire:"success"`
	NoRetryBackoff bool   `wire:"no_retry_backoff"`
	Clock          uint64 `wire:"clock,extension"` // the follower's time, in Unix microseconds; 0 when it sends none
	Mark           uint64 `wire:"mark,extension"`  // when the follower answered, by a clock of its own that the leader gives back as heard

	Acked *RaftPlace `wire:"acked,extension"` // the last record of the request, when the follower's disk has it
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

// RaftVoteReply answers it.
type RaftVoteReply struct {
	Term    uint64 `wire:"term"`
	Granted bool   `wire:"granted"`
}

// SnapshotBegin opens an InstallSnapshot: chunks follow on the same connection. Size is about how many bytes they hold.
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

// SnapshotChunk is a piece of a snapshot; the last one carries the SHA-256 of all.
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

// TimeoutNow tells a member to campaign at once: the leader hands over.
type TimeoutNow struct {
	Leader     uint32 `wire:"leader"`
	LeaderAddr string `wire:"leader_addr"`
}

// Asker is the caller that asked for a change, for the audit that the leader writes.
type Asker struct {
	By    string `wire:"by,defaulted"`    // as the audit names it; empty: the node itself
	Label string `wire:"label,defaulted"` // of the token
}

// Forward brings an entry to the leader, or asks a member for an operation.
type Forward struct {
	Entry []byte `wire:"entry"`
	Asker

	// Extensions: an operation of the HTTP reference, in the name of a caller that the sender has let in. There is no
	// entry then.
	Operation string `wire:"operation,extension"`
	Request   JSON   `wire:"request,extension"`
	Database  string `wire:"database,extension"`
	Token     string `wire:"token,extension"` // hash of the caller's token; blank: By says who it is
}

// ForwardOK brings back the outcome of a forwarded entry, or the answer of an operation.
type ForwardOK struct {
	Outcome []byte `wire:"outcome"`
}

// ReadIndexOK answers READ_INDEX: everything acknowledged before the question is at or below Index.
type ReadIndexOK struct {
	Index uint64 `wire:"index"`
	Term  uint64 `wire:"term"`
}

// Compare asks a member what it holds.
type Compare struct {
	Index uint64 `wire:"index"` // of a record; 0 asks for the state's hashes alone
}

// CompareOK answers it. A member that does not know that the record is committed, or has no state, says nothing about
// it.
type CompareOK struct {
	Applied uint64     `wire:"applied"`          // the last record that it knows to be committed
	Term    uint64     `wire:"term,extension"`   // of the record that it has at the index; 0: it cannot tell
	Sum     []byte     `wire:"sum,extension"`    // SHA-256 of that record
	States  []StateSum `wire:"states,extension"` // hashes of its state at the indexes that it has come to last
}

// StateSum is the hash of a state at an index.
type StateSum struct {
	Index uint64 `wire:"i"`
	Sum   []byte `wire:"s"`
}

// Membership asks the leader to change the members of the cluster.
type Membership struct {
	Action        string `wire:"action"` // join, rejoin, remove, promote, transfer; form, from the founder to the other founding members
	NodeID        uint32 `wire:"node_id,defaulted"`
	Addr          string `wire:"addr,defaulted"`          // for join: the peer address of the node
	Role          string `wire:"role,defaulted"`          // for join: voter or read_replica
	Configuration []byte `wire:"configuration,extension"` // for form: the founding members, as the Raft library writes them
	Force         bool   `wire:"force,extension"`         // skip the checks that protect availability
	Asker
}

// MembershipOK says which change was made.
type MembershipOK struct {
	Message string `wire:"message"`
	Index   uint64 `wire:"index,defaulted"` // for rejoin: where in the log the vote was taken away
	Term    uint64 `wire:"term,defaulted"`  // of the leader that did it
}
