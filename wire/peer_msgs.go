package wire

// ClusterHello opens a connection between peers.
type ClusterHello struct {
	NodeID          uint32
	Role            string // voter, read_replica, witness
	CurrentTerm     uint64
	ClusterSecret   string
	AdvertiseAddr   string
	ProtocolVersion uint32 // 0 counts as 1
	Raft            *RaftHello
}

func (m *ClusterHello) fields(c *codec) {
	uintField(c, "node_id", &m.NodeID, required)
	c.str("role", &m.Role, required)
	uintField(c, "current_term", &m.CurrentTerm, required)
	c.str("cluster_secret", &m.ClusterSecret, required)
	c.str("advertise_addr", &m.AdvertiseAddr, required)
	uintField(c, "protocol_version", &m.ProtocolVersion, defaulted)
	sub(c, "raft", &m.Raft, extension)
}

// ClusterHelloOK answers it.
type ClusterHelloOK struct {
	NodeID          uint32
	Role            string
	CurrentTerm     uint64
	LeaderID        *uint32
	ProtocolVersion uint32
	Raft            *RaftHello
}

func (m *ClusterHelloOK) fields(c *codec) {
	uintField(c, "node_id", &m.NodeID, required)
	c.str("role", &m.Role, required)
	uintField(c, "current_term", &m.CurrentTerm, required)
	optUint(c, "leader_id", &m.LeaderID, optional)
	uintField(c, "protocol_version", &m.ProtocolVersion, defaulted)
	sub(c, "raft", &m.Raft, extension)
}

// OplogPull asks for operations behind a cursor.
type OplogPull struct {
	Database     string
	SinceHLC     []byte
	SinceOpID    *string
	Limit        int
	ExcludeActor *string
}

func (m *OplogPull) fields(c *codec) {
	if c.mode == decoding {
		m.Database = "default"
	}
	c.str("database", &m.Database, defaulted)
	c.octets("since_hlc", &m.SinceHLC, optional)
	c.optStr("since_op_id", &m.SinceOpID, optional)
	c.integer("limit", &m.Limit, required)
	c.optStr("exclude_actor", &m.ExcludeActor, optional)
}

// MaxOps is how many operations a frame may bring.
const MaxOps = 10_000

// OplogEntry is one operation as peers exchange it.
type OplogEntry struct {
	OpID          string
	OpType        string
	Timestamp     float64
	TargetRID     *string
	Payload       JSON
	ActorID       string
	HLC           []byte
	EmbeddingHash []byte
	OriginActor   string
	FormatVersion uint32
	Embedding     []byte // extension: little-endian float32
}

func (m *OplogEntry) fields(c *codec) {
	c.str("op_id", &m.OpID, required)
	c.str("op_type", &m.OpType, required)
	c.f64("timestamp", &m.Timestamp, required)
	c.optStr("target_rid", &m.TargetRID, optional)
	c.json("payload", &m.Payload, required)
	c.str("actor_id", &m.ActorID, required)
	c.octets("hlc", &m.HLC, required)
	c.octets("embedding_hash", &m.EmbeddingHash, optional)
	c.str("origin_actor", &m.OriginActor, required)
	uintField(c, "format_version", &m.FormatVersion, defaulted)
	c.octets("embedding", &m.Embedding, extension)
}

// OplogPullResult answers OPLOG_PULL.
type OplogPullResult struct {
	Ops     []OplogEntry
	HasMore bool
}

func (m *OplogPullResult) fields(c *codec) {
	listUpTo(c, "ops", &m.Ops, required, MaxOps)
	c.boolean("has_more", &m.HasMore, required)
}

// OplogPush brings operations, or, with Raft set, is Raft's AppendEntries.
type OplogPush struct {
	Database string
	Ops      []OplogEntry
	Raft     *RaftAppend
}

func (m *OplogPush) fields(c *codec) {
	if c.mode == decoding {
		m.Database = "default"
	}
	c.str("database", &m.Database, defaulted)
	listUpTo(c, "ops", &m.Ops, required, MaxOps)
	sub(c, "raft", &m.Raft, extension)
}

// OplogPushOK answers OPLOG_PUSH.
type OplogPushOK struct {
	Applied  uint64
	LastHLC  []byte
	LastOpID string
	Raft     *RaftAppendReply
}

func (m *OplogPushOK) fields(c *codec) {
	uintField(c, "applied", &m.Applied, required)
	c.octets("last_hlc", &m.LastHLC, required)
	c.str("last_op_id", &m.LastOpID, required)
	sub(c, "raft", &m.Raft, extension)
}

// Heartbeat names the leader or, with Raft set, is an AppendEntries without entries.
type Heartbeat struct {
	Term           uint64
	LeaderID       uint32
	LeaderLastHLC  []byte
	LeaderLastOpID string
	Raft           *RaftAppend
}

func (m *Heartbeat) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "leader_id", &m.LeaderID, required)
	c.octets("leader_last_hlc", &m.LeaderLastHLC, required)
	c.str("leader_last_op_id", &m.LeaderLastOpID, required)
	sub(c, "raft", &m.Raft, extension)
}

// HeartbeatAck answers it.
type HeartbeatAck struct {
	Term             uint64
	FollowerID       uint32
	FollowerRole     string
	FollowerLastHLC  []byte
	FollowerLastOpID string
	LagSeconds       float64
	Raft             *RaftAppendReply
}

func (m *HeartbeatAck) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "follower_id", &m.FollowerID, required)
	c.str("follower_role", &m.FollowerRole, required)
	c.octets("follower_last_hlc", &m.FollowerLastHLC, required)
	c.str("follower_last_op_id", &m.FollowerLastOpID, required)
	c.f64("lag_seconds", &m.LagSeconds, required)
	sub(c, "raft", &m.Raft, extension)
}

// RequestVote asks for a vote, or, with Raft set, is Raft's RequestVote or RequestPreVote.
type RequestVote struct {
	Term        uint64
	CandidateID uint32
	LastLogHLC  []byte
	LastLogOpID string
	Raft        *RaftVote
}

func (m *RequestVote) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "candidate_id", &m.CandidateID, required)
	c.octets("last_log_hlc", &m.LastLogHLC, required)
	c.str("last_log_op_id", &m.LastLogOpID, required)
	sub(c, "raft", &m.Raft, extension)
}

// Vote is the payload of VOTE_GRANTED and VOTE_DENIED.
type Vote struct {
	Term    uint64
	VoterID uint32
	Granted bool
	Reason  *string
	Raft    *RaftVoteReply
}

func (m *Vote) fields(c *codec) {
	uintField(c, "term", &m.Term, required)
	uintField(c, "voter_id", &m.VoterID, required)
	c.boolean("granted", &m.Granted, required)
	c.optStr("reason", &m.Reason, optional)
	sub(c, "raft", &m.Raft, extension)
}

// PeerStatus is a row of CLUSTER_STATUS_RESULT.
type PeerStatus struct {
	NodeID          uint32
	Addr            string
	Role            string
	Reachable       bool
	CurrentTerm     uint64
	LastSeenSecsAgo float64 // +Inf: never
	LagSeconds      float64
}

func (m *PeerStatus) fields(c *codec) {
	uintField(c, "node_id", &m.NodeID, required)
	c.str("addr", &m.Addr, required)
	c.str("role", &m.Role, required)
	c.boolean("reachable", &m.Reachable, required)
	uintField(c, "current_term", &m.CurrentTerm, required)
	c.f64("last_seen_secs_ago", &m.LastSeenSecsAgo, required)
	c.f64("lag_seconds", &m.LagSeconds, required)
}

// ClusterStatusResult is the cluster as a node sees it.
type ClusterStatusResult struct {
	CurrentTerm uint64
	LeaderID    *uint32
	SelfID      uint32
	SelfRole    string
	Peers       []PeerStatus
	QuorumSize  uint32
	Healthy     bool
	Node        JSON // extension: what the node says of itself
}

func (m *ClusterStatusResult) fields(c *codec) {
	uintField(c, "current_term", &m.CurrentTerm, required)
	optUint(c, "leader_id", &m.LeaderID, optional)
	uintField(c, "self_id", &m.SelfID, required)
	c.str("self_role", &m.SelfRole, required)
	list(c, "peers", &m.Peers, required)
	uintField(c, "quorum_size", &m.QuorumSize, required)
	c.boolean("healthy", &m.Healthy, required)
	c.json("node", &m.Node, extension)
}

// DatabaseList answers CLUSTER_DATABASE_LIST.
type DatabaseList struct{ Databases []string }

func (m *DatabaseList) fields(c *codec) { c.strs("databases", &m.Databases, required) }
