package operate

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/node/past"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
)

// ClusterConfig configures a Cluster. All fields are required unless their comments say otherwise.
type ClusterConfig struct {
	Logger    *slog.Logger
	State     *state.State
	Commit    *commit.Log
	Disk      *disk.Space
	Keys      *seal.Ring // nil: files are plain
	Member    Member
	Scheme    string // scheme of the gateways: http:// or https://
	Home      string // damaged files are reported relative to it
	Key       string // public key of the home; "" if none
	Leftovers func() api.Leftovers

	Certificates func() map[string]Shown // this node's certificates, by audience
	Ports        func() []api.Port       // ports that the node listens on
	// The answers of all other members, in a caller's name; nil for members that did not answer in time.
	OthersKeys func(context.Context, api.Caller, *api.KeysRequest) map[uint32]*api.KeysAnswer
	OthersPast func(context.Context, api.Caller, *api.PastRequest) map[uint32]*api.PastAnswer

	IndexDamage func() []damage.File
	Models      func() []string          // the embedders of this node
	Embedder    func() *api.Embedder     // the configured one; nil: none
	Check       func() (api.Check, bool) // the embedder's check for DeepHealth
}

// Member identifies this node in its cluster.
type Member struct {
	NodeID     uint32
	Role       string // as configured
	Version    string
	Wire, HTTP string        // addresses for clients
	Clustered  bool          // other members are configured
	Election   time.Duration // a member that was silent for twice as long is unreachable
}

// Cluster reports the state of this node and its cluster, monitors the other members, and changes the membership.
type Cluster struct {
	cfg  ClusterConfig
	raft *raft.Node // set by Start

	// For /metrics.
	Started     time.Time
	Agreed      atomic.Int64 // last comparison of the members' states: 1 equal, 0 unknown, -1 different
	DamageFound atomic.Int64 // scrubs of the state that found damage

	Recent  Recent // counters for the node's past
	lastDay *past.Ring

	lastPoll   atomic.Pointer[pollResult] // result of the last poll of the other members
	scrubClean atomic.Bool                // the last scrub of the state found no damage
	logged     sync.Map                   // set of api.LostRecords that were logged
}

// NewCluster returns the reports of a node. Methods that use Raft may be called only after Start.
func NewCluster(cfg ClusterConfig) *Cluster {
	return &Cluster{cfg: cfg, Started: time.Now(), lastDay: past.New()}
}

// Start sets the Raft node.
func (cl *Cluster) Start(r *raft.Node) { cl.raft = r }
