package wire

// ClusterHello opens a connection between peers.
type ClusterHello struct {
	NodeID          uint32     `wire:"node_id"`
	Role            string     `wire:"role"` // voter, read_replica, witness
	CurrentTerm     uint64     `wire:"current_term"`
	ClusterSecret   string     `wire:"cluster_secret"`
	AdvertiseAddr   string     `wire:"advertise_addr"`
	ProtocolVersion uint32     `wire:"protocol_version,defaulted"` // 0 counts as 1
	Raft            *RaftHello `wire:"raft,extension"`
}

// ClusterHelloOK answers CLUSTER_HELLO.
type ClusterHelloOK struct {
	NodeID          uint32     `wire:"node_id"`
	Role            string     `wire:"role"`
	CurrentTerm     uint64     `wire:"current_term"`
	LeaderID        *uint32    `wire:"leader_id,optional"`
	ProtocolVersion uint32     `wire:"protocol_version,defaulted"`
	Raft            *RaftHello `wire:"raft,extension"`
}

// OplogPull requests operations after a cursor.
type OplogPull struct {
	Database     string  `wire:"database,defaulted"`
	SinceHLC     []byte  `wire:"since_hlc,optional,octets"`
	SinceOpID    *string `wire:"since_op_id,optional"`
	Limit        int     `wire:"limit"`
	ExcludeActor *string `wire:"exclude_actor,optional"`
}

func (m *OplogPull) preset() { m.Database = "default" }

// MaxOps limits the operations in a frame.
const MaxOps = 10_000

// OplogEntry is one operation as peers exchange it.
type OplogEntry struct {
	OpID          string  `wire:"op_id"`
	OpType        string  `wire:"op_type"`
	Timestamp     float64 `wire:"timestamp"`
	TargetRID     *string `wire:"target_rid,optional"`
	Payload       JSON    `wire:"payload"`
	ActorID       string  `wire:"actor_id"`
	HLC           []byte  `wire:"hlc,octets"`
	EmbeddingHash []byte  `wire:"embedding_hash,optional,octets"`
	OriginActor   string  `wire:"origin_actor"`
	FormatVersion uint32  `wire:"format_version,defaulted"`
	Embedding     []byte  `wire:"embedding,extension,octets"` // extension: little-endian float32
}

func (OplogEntry) most() uint32 { return MaxOps }

// OplogPullResult answers OPLOG_PULL.
type OplogPullResult struct {
	Ops     []OplogEntry `wire:"ops"`
	HasMore bool         `wire:"has_more"`
}

// OplogPush sends operations or, with Raft set, is Raft's AppendEntries.
type OplogPush struct {
	Database string       `wire:"database,defaulted"`
	Ops      []OplogEntry `wire:"ops"`
	Raft     *RaftAppend  `wire:"raft,extension"`
}

func (m *OplogPush) preset() { m.Database = "default" }

// OplogPushOK answers OPLOG_PUSH.
type OplogPushOK struct {
	Applied  uint64           `wire:"applied"`
	LastHLC  []byte           `wire:"last_hlc,octets"`
	LastOpID string           `wire:"last_op_id"`
	Raft     *RaftAppendReply `wire:"raft,extension"`
	Refused  []RefusedOp      `wire:"refused,extension"` // extension: operations that can never be stored; all others were stored
}

// RefusedOp is a rejected operation of a push, with the reason. A long id is truncated.
type RefusedOp struct {
	OpID    string `wire:"op_id"`
	Code    Code   `wire:"code"`
	Message string `wire:"message"`
}

// Heartbeat names the leader or, with Raft set, is an AppendEntries without entries.
type Heartbeat struct {
	Term           uint64      `wire:"term"`
	LeaderID       uint32      `wire:"leader_id"`
	LeaderLastHLC  []byte      `wire:"leader_last_hlc,octets"`
	LeaderLastOpID string      `wire:"leader_last_op_id"`
	Raft           *RaftAppend `wire:"raft,extension"`
}

// HeartbeatAck answers HEARTBEAT.
type HeartbeatAck struct {
	Term             uint64           `wire:"term"`
	FollowerID       uint32           `wire:"follower_id"`
	FollowerRole     string           `wire:"follower_role"`
	FollowerLastHLC  []byte           `wire:"follower_last_hlc,octets"`
	FollowerLastOpID string           `wire:"follower_last_op_id"`
	LagSeconds       float64          `wire:"lag_seconds"`
	Raft             *RaftAppendReply `wire:"raft,extension"`
}

// RequestVote requests a vote or, with Raft set, is Raft's RequestVote or RequestPreVote.
type RequestVote struct {
	Term        uint64    `wire:"term"`
	CandidateID uint32    `wire:"candidate_id"`
	LastLogHLC  []byte    `wire:"last_log_hlc,octets"`
	LastLogOpID string    `wire:"last_log_op_id"`
	Raft        *RaftVote `wire:"raft,extension"`
}

// Vote is the payload of VOTE_GRANTED and VOTE_DENIED.
type Vote struct {
	Term    uint64         `wire:"term"`
	VoterID uint32         `wire:"voter_id"`
	Granted bool           `wire:"granted"`
	Reason  *string        `wire:"reason,optional"`
	Raft    *RaftVoteReply `wire:"raft,extension"`
}

// PeerStatus is a row of CLUSTER_STATUS_RESULT.
type PeerStatus struct {
	NodeID          uint32  `wire:"node_id"`
	Addr            string  `wire:"addr"`
	Role            string  `wire:"role"`
	Reachable       bool    `wire:"reachable"`
	CurrentTerm     uint64  `wire:"current_term"`
	LastSeenSecsAgo float64 `wire:"last_seen_secs_ago"` // +Inf: never
	LagSeconds      float64 `wire:"lag_seconds"`
}

// ClusterStatusResult is the state of the cluster as the answering node sees it.
type ClusterStatusResult struct {
	CurrentTerm uint64       `wire:"current_term"`
	LeaderID    *uint32      `wire:"leader_id,optional"`
	SelfID      uint32       `wire:"self_id"`
	SelfRole    string       `wire:"self_role"`
	Peers       []PeerStatus `wire:"peers"`
	QuorumSize  uint32       `wire:"quorum_size"`
	Healthy     bool         `wire:"healthy"`
	Node        JSON         `wire:"node,extension"` // extension: the node's own status report
}

// DatabaseList answers CLUSTER_DATABASE_LIST.
type DatabaseList struct {
	Databases []string `wire:"databases"`
}
