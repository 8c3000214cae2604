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

// ClusterConfig holds what reports about this node and its cluster are made of. All fields but those that say so are
// needed.
type ClusterConfig struct {
	Logger    *slog.Logger
	State     *state.State
	Commit    *commit.Log
	Disk      *disk.Space
	Keys      *seal.Ring // nil: files are plain
	Member    Member
	Scheme    string // of this cluster's gateways: http:// or https://
	Home      string // files are named from it
	Key       string // the public key of the home; blank for none
	Leftovers func() api.Leftovers

	Certificates func() map[string]Shown // of this node, by the side that sees it
	Ports        func() []api.Port       // that it listens on
	// What all other members answer in a caller's name; nil for one that did not in time.
	OthersKeys func(context.Context, api.Caller, *api.KeysRequest) map[uint32]*api.KeysAnswer
	OthersPast func(context.Context, api.Caller, *api.PastRequest) map[uint32]*api.PastAnswer

	IndexDamage func() []damage.File
	Models      func() []string          // the embedders of this node
	Embedder    func() *api.Embedder     // the configured one; nil: none
	Check       func() (api.Check, bool) // of the embedder, in the deep health
}

// Member identifies this node in its cluster.
type Member struct {
	NodeID     uint32
	Role       string // as configured
	Version    string
	Wire, HTTP string        // where clients are sent to
	Clustered  bool          // other members are configured
	Election   time.Duration // a member that was not heard of for twice as long is not reachable
}

// Cluster reports how this node and its cluster are, watches the other members, and changes who belongs to them.
type Cluster struct {
	cfg  ClusterConfig
	raft *raft.Node // since Start

	// For /metrics.
	Started     time.Time
	Agreed      atomic.Int64 // 1: the members' states were equal at the last comparison; 0: that is not known; -1: they differ
	DamageFound atomic.Int64 // scrubs of the state that found damage

	Recent  Recent // for the node's past
	lastDay *past.Ring

	lastPoll   atomic.Pointer[pollResult] // the other members, at the last look
	scrubClean atomic.Bool                // the last scrub of the state found what was written
	logged     sync.Map                   // the api.LostRecords that were logged
}

// NewCluster returns the reports of a node. What asks Raft is for after Start.
func NewCluster(cfg ClusterConfig) *Cluster {
	return &Cluster{cfg: cfg, Started: time.Now(), lastDay: past.New()}
}

// Start gives it the log.
func (cl *Cluster) Start(r *raft.Node) { cl.raft = r }
