package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// The cluster and its members.
var (
	Cluster = row[Nothing, ClusterStatus](Op{Name: "cluster", Node: true,
		Does: "The cluster as this node sees it. Without a token: whether the node is alive and ready.",
		HTTP: "GET /v1/cluster", Wire: wire.OpClusterStatus})
	Up = row[Nothing, UpAnswer](Op{Name: "up", Bound: Free, Node: true,
		Does: "Whether this node is alive and ready, and nothing else; needs no token."})

	Topology = row[Nothing, TopologyAnswer](Op{Name: "cluster_topology", Node: true,
		Does: "The members of the cluster and where each is reached.", Scope: Read, HTTP: "GET /v1/cluster/topology"})
	Raft = row[Nothing, RaftState](Op{Name: "cluster_raft", Node: true, Does: "Raft as this node knows it.", Scope: Read,
		HTTP: "GET /v1/cluster/raft"})

	ChangeMembers = row[ChangeMembersRequest, MembersChanged](Op{Name: "cluster_change", Node: true, Scope: Admin,
		HTTP: "POST /v1/cluster/{verb}", Confirm: "verb",
		Does: "Change the cluster's members: join, leave, remove, promote, transfer. promote without a node_id requests leadership for this node."})
	ControlSnapshot = row[ReadRequest, Control](Op{Name: "control_snapshot",
		Does: "The replicated databases and tokens; for tokens with the scope admin only.", Scope: Read,
		HTTP: "GET /v1/admin/control-snapshot"})
)

type UpAnswer struct {
	Alive bool `json:"alive" doc:"Always true."`
	Ready bool `json:"ready" doc:"Whether readers may be sent to this node."`
}

// ClusterStatus is the cluster as one node sees it: flat, as its JSON is.
type ClusterStatus struct {
	Clustered      bool    `json:"clustered" doc:"false: this node is the only member."`
	Message        string  `json:"message,omitempty" doc:"A message for people: this node has no peers."`
	NodeID         uint32  `json:"node_id" doc:"The node that answers."`
	Role           string  `json:"role" doc:"Leader, Follower or Candidate. A node leads once it has applied everything committed before its term."`
	RoleLabel      string  `json:"role_label" doc:"The same in lower case."`
	ConfiguredRole string  `json:"configured_role" doc:"voter or readreplica."`
	Voter          bool    `json:"voter" doc:"Whether this node votes; a read replica that was promoted does, whatever its configured_role."`
	CurrentTerm    uint64  `json:"current_term" doc:"The term of the last election that the node knows of."`
	LeaderID       *uint32 `json:"leader_id" doc:"The node that leads; null while none is known."`
	LeaderAddr     string  `json:"leader_addr" doc:"Its wire port; blank while it is not known."`
	LeaderHTTP     string  `json:"leader_http" doc:"Its gateway; blank while it is not known."`
	AcceptsWrites  bool    `json:"accepts_writes" doc:"Whether this node is the leader and accepts writes itself."`
	Removed        bool    `json:"removed,omitempty" doc:"true: this node is not a member of the cluster, which has removed it. It receives no new writes."`
	Healthy        bool    `json:"healthy" doc:"Whether the cluster accepts writes: a leader is known and a majority of the voters answers."`
	Condition      string  `json:"condition" doc:"healthy, degraded or not healthy, and why: \"degraded: node 3 unreachable\"."`
	QuorumSize     int     `json:"quorum_size" doc:"Number of voters that a decision needs."`
	VotedFor       *uint32 `json:"voted_for" doc:"Always null: votes are not shown."`
	Cluster        string  `json:"cluster_id" doc:"The cluster's id."`
	Addr           string  `json:"addr" doc:"The node's port for its peers."`
	Wire           string  `json:"wire" doc:"Its wire port."`
	HTTP           string  `json:"http" doc:"Its gateway."`
	Commit         uint64  `json:"commit_index" doc:"Log index that a majority is known to have."`
	Lag            *uint64 `json:"lag_entries" doc:"Acknowledged log entries not applied here; null while this node hears no leader."`
	Agreement      string  `json:"state_agreement" is:"string{agree,diverged,unknown}" doc:"Result of comparing it with the peers' hashes."`
	Peers          []Peer  `json:"peers" doc:"The other members, by number."`
	Vitals
	Store    Store     `json:"store" doc:"The files of this node's state."`
	Embedder *Embedder `json:"embedder,omitempty" doc:"This node's embedder; absent where it has none."`

	Voters    int `json:"-"`
	Answering int `json:"-"` // voters that answer, including this node if it is one
}

// Members returns all nodes of the cluster, the node that answers first.
func (s *ClusterStatus) Members() []Peer {
	return append([]Peer{{NodeID: s.NodeID, State: s.Role, Voter: s.Voter, Reachable: true, Wire: s.Wire, HTTP: s.HTTP,
		LagEntries: s.Lag, Vitals: s.Vitals, Store: &s.Store}}, s.Peers...)
}

// Vitals is a node's report about itself, in its own status and to the other members.
type Vitals struct {
	Applied     oplog.Index `json:"applied_index" doc:"Log index that it has applied."`
	SumIndex    oplog.Index `json:"state_hash_index" doc:"The index at which state_hash was taken."`
	Sum         string      `json:"state_hash" doc:"Hash of its state: equal on all replicas at the same index."`
	ClockOffset float64     `json:"clock_offset_ms" doc:"Offset of its clock from the median of the members' clocks, in milliseconds."`
	ClockOff    bool        `json:"clock_off" doc:"Whether the offset is over the limit; a leader over the limit hands leadership over."`
	Version     string      `json:"version" doc:"The version that it runs."`
	Key         string      `json:"node_key" doc:"Ed25519 key of its home, in hex. It signs the node's statements about erased memories."`
	UptimeSecs  float64     `json:"uptime_secs" doc:"Seconds since the node started."`
	DiskFull    bool        `json:"disk_full,omitempty" doc:"true: the disk of its home is full, so that it rejects writes."`
	Damaged     []Damage    `json:"damaged,omitempty" doc:"The first files in which it found damage since it started."`
	Disputes    []Dispute   `json:"disputes,omitempty" doc:"Messages from other members that it rejected or disputed in the last minutes."`
	Models      []string    `json:"models" doc:"The embedders that it can use: the full name of the configured one, the directory names of the models in its home, and builtin."`
	Leftovers
}

// Leftovers lists files of a node's home that may need its operator.
type Leftovers struct {
	SetAside  []string      `json:"set_aside,omitempty" doc:"States, logs and snapshots that the node moved aside, because they were damaged or differed from what a majority of the voters holds."`
	Lost      []LostRecords `json:"lost_records,omitempty" doc:"Records that the cluster lacks, in logs that the node moved aside: \"cairn recover --import-lost\" imports them."`
	HoldPurge bool          `json:"hold_purge,omitempty" doc:"true: its files may hold purged text; the node is rewriting them."`
	OldKeys   []string      `json:"old_keys,omitempty" doc:"Parts of its home that are not yet rewritten under its active data key."`
}

// LostRecords are records that a node keeps and the cluster lacks.
type LostRecords struct {
	Log          string `json:"log" doc:"The name of the log's directory in the node's home."`
	First        uint64 `json:"first" doc:"Log index of the first."`
	Last         uint64 `json:"last" doc:"Log index of the last."`
	Acknowledged uint64 `json:"acknowledged" doc:"Number of these records that are known to be acknowledged."`
}

// A Damage is a file of a node's home whose content is not what was written to it.
type Damage struct {
	Kind     string `json:"kind" is:"string{state,log,snapshot,index}" doc:"The damaged part: the state, records that the log keeps for its readers, a snapshot or a search index."`
	Database string `json:"database,omitempty" doc:"The database, when a search index is damaged."`
	File     string `json:"file" doc:"Its path in the node's home."`
	Times    int64  `json:"times" doc:"How often damage was found in it since the node started."`
	Healed   bool   `json:"healed" doc:"true once repaired."`
	Heals    string `json:"heals" doc:"How it is repaired, and what an operator should do."`
}

// A Dispute is a message of another member that a node rejected, because it contradicts what the node has applied or is
// no message that a member sends.
type Dispute struct {
	Peer    uint32 `json:"peer" doc:"The member that sent it."`
	Index   uint64 `json:"log_index,omitempty" doc:"Log index on which the two members disagree; absent when the message has no index."`
	Says    string `json:"says" doc:"What was rejected, and why."`
	Times   uint64 `json:"times" doc:"Number of times."`
	Verdict string `json:"verdict,omitempty" doc:"What the other voters hold; absent while too few have answered."`
}

// A Store is the files of a node's state.
type Store struct {
	Bytes    int64 `json:"disk_bytes" doc:"Size on the disk."`
	Tables   int64 `json:"tables" doc:"Number of tables."`
	Unmerged int64 `json:"unmerged_bytes" doc:"How far compaction is behind: bytes of tables above the lowest level."`
	Damaged  int64 `json:"damaged_blocks" doc:"Number of damaged blocks read since the node started; nothing is returned from them."`
}

// A Peer is another member.
type Peer struct {
	NodeID          uint32   `json:"node_id" doc:"Its number."`
	Addr            string   `json:"addr" doc:"Its port for its peers."`
	Wire            string   `json:"wire" doc:"Its wire port."`
	HTTP            string   `json:"http" doc:"Its gateway."`
	Role            string   `json:"role" doc:"voter or readreplica."`
	State           string   `json:"state" doc:"Leader, Follower, Candidate or unreachable."`
	Voter           bool     `json:"voter" doc:"Whether it votes."`
	Reachable       bool     `json:"reachable" doc:"Whether it answers."`
	CurrentTerm     uint64   `json:"current_term" doc:"Its Raft term."`
	LastSeenSecsAgo *float64 `json:"last_seen_secs_ago" doc:"Seconds since it was last heard; null for never."`
	LagEntries      *uint64  `json:"lag_entries" doc:"Acknowledged log entries that it lacks; null when it does not answer or hears no leader."`
	Vitals
	Store *Store `json:"store,omitempty" doc:"The files of its state; absent when it does not answer."`

	Through uint64 `json:"-"` // like Applied, but also counts the log's own entries
	Whole   bool   `json:"-"` // its state was checked and is intact, and it has its vote
	Omits   bool   `json:"-"` // it leads a cluster of which the asking node is not a member
}

// TopologyAnswer describes the members. It is the same on all nodes: the one that answers is listed like the others.
type TopologyAnswer struct {
	Cluster    string   `json:"cluster_id" doc:"The cluster's id."`
	NodeID     uint32   `json:"node_id" doc:"The node that answers."`
	LeaderID   *uint32  `json:"leader_id" doc:"The node that leads; null while none is known."`
	Term       uint64   `json:"term" doc:"The term of the last election that the node knows of."`
	QuorumSize int      `json:"quorum_size" doc:"Number of voters that a decision needs."`
	Nodes      []Member `json:"nodes" doc:"All members, by number."`
}

// A Member is one node of the cluster.
type Member struct {
	NodeID    uint32      `json:"node_id" doc:"Its number."`
	Role      string      `json:"role" doc:"voter or readreplica."`
	State     string      `json:"state" doc:"Leader, Follower, Candidate or unreachable."`
	Voter     bool        `json:"voter" doc:"Whether it votes."`
	Reachable bool        `json:"reachable" doc:"Whether it answers."`
	IsLeader  bool        `json:"is_leader" doc:"Whether it leads."`
	Addr      string      `json:"addr" doc:"Its port for its peers."`
	Wire      string      `json:"wire" doc:"Its wire port."`
	HTTP      *string     `json:"http" doc:"Its gateway as a URL; null while its address is not known."`
	Applied   oplog.Index `json:"applied_index" doc:"Log index that it has applied."`
	Version   string      `json:"version" doc:"The version that it runs."`
}

type RaftState struct {
	NodeID       uint32       `json:"node_id" doc:"The node that answers."`
	State        string       `json:"state" doc:"leader, follower or candidate."`
	Term         uint64       `json:"current_term" doc:"Its Raft term."`
	Leader       *uint32      `json:"current_leader" doc:"The node that leads; null while none is known."`
	LastIndex    uint64       `json:"last_log_index" doc:"Last index in its log."`
	Applied      oplog.Index  `json:"last_applied_index" doc:"Log index that it has applied."`
	Snapshot     uint64       `json:"snapshot_index" doc:"Log index of its newest snapshot."`
	SinceContact *int64       `json:"millis_since_quorum_ack" doc:"Milliseconds since it heard the leader; null on the leader, and before it has heard one."`
	Members      []RaftMember `json:"members" doc:"The members by its configuration."`
	Healthy      bool         `json:"healthy" doc:"Whether a leader is known."`
}

type RaftMember struct {
	NodeID uint32 `json:"node_id" of:"ID" doc:"Its number."`
	Addr   string `json:"addr" doc:"Its port for its peers."`
	Voter  bool   `json:"is_voter" doc:"Whether it votes."`
}

// MemberVerbs lists the changes of members that clients can request.
var MemberVerbs = []string{"join", "leave", "remove", "promote", "transfer"}

type ChangeMembersRequest struct {
	Verb   string `json:"verb" in:"path" doc:"The change: join, leave, remove, promote or transfer." example:"promote"`
	NodeID uint32 `json:"node_id" doc:"The node to change; leave removes the node that receives the request, and is rejected if this names another."`
	Addr   string `json:"addr" doc:"For join: the node's port for its peers."`
	Role   string `json:"role" doc:"For join: voter (the default) or read_replica."`
	Force  bool   `json:"force" doc:"true: do it even if the cluster may lose its majority."`
}

type MembersChanged struct {
	Status  string `json:"status" doc:"ok, already_leader or election_started."`
	Message string `json:"message" doc:"A message for people."`
	NodeID  uint32 `json:"node_id,omitempty" doc:"The node that was promoted."`
	Term    uint64 `json:"term,omitempty" doc:"The term in which it leads already."`
	From    uint64 `json:"current_term,omitempty" doc:"The term of the election that it started."`
}

type Control struct {
	Databases []KeptDatabase `json:"databases" doc:"By number."`
	Tokens    []KeptToken    `json:"tokens" doc:"Valid ones, oldest first."`
}

type KeptDatabase struct {
	ID      oplog.DB `json:"id" doc:"Its number."`
	Name    string   `json:"name" doc:"Its name."`
	Path    string   `json:"path" doc:"The same."`
	Created string   `json:"created_at" doc:"When it was made, as YYYY-MM-DD hh:mm:ss in UTC."`
}

type KeptToken struct {
	Hash    string   `json:"hash" doc:"The hash of its text."`
	DB      oplog.DB `json:"database_id" doc:"The database that the token is for."`
	Label   string   `json:"label" doc:"Its purpose."`
	Created string   `json:"created_at" doc:"When it was made, as YYYY-MM-DD hh:mm:ss in UTC."`
}
