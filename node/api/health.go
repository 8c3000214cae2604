package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// The health of a node. It needs no token, because load balancers have none.
var (
	Alive = row[Nothing, AliveAnswer](Op{Name: "health", Bound: Free, Node: true,
		Does: "Whether the process is alive; always 200.", HTTP: "GET /v1/health"})
	DeepHealth = row[Nothing, DeepHealthAnswer](Op{Name: "health_deep", Bound: Free, Node: true, HTTP: "GET /v1/health/deep",
		Does: "Whether state, index and quorum answer; 503 when one does not. The embedder's state is included but does not count."})
	Ready = row[Nothing, ReadyAnswer](Op{Name: "health_ready", Bound: Free, Node: true, HTTP: "GET /v1/health/ready",
		Does: "Whether the node has caught up since its start and is not far behind; 503 when not. A node that loses its leader stays ready, because it still answers reads. behind is null while it hears no leader."})

	Embedding = row[EmbeddingRequest, EmbeddingAnswer](Op{Name: "embedding",
		Does:  "A database's embedder, the number of memories with a vector, and the state of this node's embedder.",
		Scope: Read, HTTP: "GET /v1/admin/databases/{name}/embedding"})
	Reembed = row[ReembedRequest, Reembedding](Op{Name: "reembed",
		Does:  "Change a database's embedder and embed its memories again, in the background; old vectors serve until it is done.",
		Scope: Admin, Writes: true, HTTP: "POST /v1/admin/databases/{name}/embedding"})
)

type AliveAnswer struct {
	Status       string      `json:"status" doc:"ok."`
	Databases    int         `json:"engines_loaded" doc:"Number of databases."`
	NodeID       uint32      `json:"node_id" doc:"The node that answers."`
	Version      string      `json:"version" doc:"The version that it runs."`
	Applied      oplog.Index `json:"applied_index" doc:"Log index that it has applied."`
	Writable     bool        `json:"writable" doc:"Whether this node is the leader and accepts writes itself."`
	Condition    string      `json:"condition" doc:"Condition of the cluster: healthy, degraded or not healthy, with the reason."`
	Capabilities []string    `json:"capabilities" doc:"Features that clients may rely on."`
	Cluster      *Health     `json:"cluster,omitempty" doc:"The node as a member; absent on one without peers."`
}

// Health describes a node as a member of its cluster.
type Health struct {
	NodeID        uint32      `json:"node_id" doc:"The node that answers."`
	Role          string      `json:"role" doc:"Leader, Follower or Candidate."`
	RoleLabel     string      `json:"role_label" doc:"The same in lower case."`
	Term          uint64      `json:"term" doc:"Its Raft term."`
	Leader        *uint32     `json:"leader" doc:"The node that leads; null while none is known."`
	AcceptsWrites bool        `json:"accepts_writes" doc:"Whether this node accepts writes itself."`
	Healthy       bool        `json:"healthy" doc:"Whether a leader is known."`
	LastIndex     uint64      `json:"last_log_index" doc:"Last index in its log."`
	Applied       oplog.Index `json:"last_applied_index" doc:"Log index that it has applied."`
	Lag           *uint64     `json:"replication_lag_log_entries" doc:"Acknowledged log entries that it lacks; null while it hears no leader."`
}

type DeepHealthAnswer struct {
	Status string  `json:"status" is:"string{healthy,degraded}" doc:"ok, or degraded when a deciding check failed."`
	Checks []Check `json:"checks" doc:"The checks."`
}

// A Check is the result of one check.
type Check struct {
	Check     string  `json:"check" doc:"The name of the check."`
	Pass      bool    `json:"pass" doc:"Whether the check passed."`
	Millis    float64 `json:"latency_ms" doc:"Duration in milliseconds."`
	Error     string  `json:"error,omitempty" doc:"What is wrong with it."`
	Databases *int    `json:"databases,omitempty" doc:"control_db: the number of databases."`
	Required  *bool   `json:"required,omitempty" doc:"false: the check does not decide the node's health."`
	*Health
	*EmbedderState
}

type ReadyAnswer struct {
	Ready   bool        `json:"ready" doc:"Whether readers may be sent to this node."`
	Behind  *uint64     `json:"behind" doc:"Acknowledged log entries that its search index lacks; null while it hears no leader."`
	Applied oplog.Index `json:"applied_index" doc:"Log index up to which its search index is complete."`
}

// An Embedder describes the model that makes vectors of texts on a node.
type Embedder struct {
	Name string `json:"name" doc:"Its kind, its model and its dimension."`
	EmbedderState
}

// EmbedderState is the state of an embedder and the number of memories that wait for it.
type EmbedderState struct {
	Up          bool     `json:"up" doc:"Whether it answered the last request."`
	Queue       uint64   `json:"queue" doc:"Number of memories without a vector in the databases that it embeds; the leader embeds them, or a follower that has the model."`
	Failures    uint64   `json:"failures" doc:"Number of failures since this node started."`
	LastError   *string  `json:"last_error" doc:"Why it failed last; null for never."`
	LastErrorAt *float64 `json:"last_error_at" is:"time" doc:"When it last failed, in Unix seconds."`
}

type EmbeddingRequest struct {
	Name string `json:"name" in:"path" doc:"The database's name." example:"work"`
	Fresh
}

// EmbeddingAnswer reports how many of a database's memories have vectors of its embedder.
type EmbeddingAnswer struct {
	Database  string   `json:"database" doc:"The database's name."`
	Embedder  *string  `json:"embedder" doc:"The embedder of its memories; null: clients send the vectors."`
	ChangesTo *string  `json:"changes_to" doc:"The embedder that it is changing to, whose vectors serve once all are made; null: no change is under way."`
	Rebound   bool     `json:"reembedding" doc:"true: the database is changing its embedder; done, of, missing and up are about the new one."`
	Done      uint64   `json:"done" doc:"Number of memories with a vector."`
	Of        uint64   `json:"of" doc:"Number of memories that are not forgotten."`
	Missing   uint64   `json:"missing" doc:"Number of memories that still need a vector."`
	Has       []string `json:"has" doc:"The embedders that this node can use."`
	*EmbedderState
}

type ReembedRequest struct {
	Name     string `json:"name" in:"path" doc:"The database's name." example:"work"`
	Embedder string `json:"embedder" doc:"The model: the name of its directory in HOME/models, its full name as in the answer's embedder, builtin, or none for no vectors. Default: the model in the node's configuration."`
	Cancel   bool   `json:"cancel" doc:"true: cancel the change that is under way; the database keeps its current embedder."`
}

type Reembedding struct {
	EmbeddingAnswer
	Index   field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Lacking []uint32    `json:"lacking,omitempty" doc:"Members that do not have the embedder: they answer recalls by words alone."`
}
