package engine

import (
	"crypto/ed25519"
	"log/slog"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/index/rerank"
	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/node/disk"
	"github.com/cairndb/cairn/node/engine/operate"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/large"
)

// Config holds the engine's dependencies: packages of the node that are open already, and the operator's settings. All
// fields but those that say so are needed; package node fills in the defaults.
type Config struct {
	Logger *slog.Logger
	State  *state.State
	Commit *commit.Log
	Access *access.Control
	Disk   *disk.Space
	Keys   *seal.Ring    // nil: files are plain
	Budget *large.Shares // of the bytes of requests and answers
	Home   Home

	Member     operate.Member
	Scheme     string // of this cluster's gateways: http:// or https://
	Limits     Limits
	Slow       time.Duration // an operation that takes as long is logged; negative for none
	Background Background
	Backup     operate.BackupPlan // none without a directory
	Embedder   embed.Embedder     // nil: none is configured
	Reranker   *rerank.Reranker   // nil: the order is the index's own
}

// Limits bound what a request may take.
type Limits struct {
	ApplyTimeout time.Duration // from proposal to applied
	MaxDatabases int           // that the tokens of one database may make; negative for no bound
}

// Home describes the node's home directory.
type Home struct {
	Dir          string                          // files are named from it
	Models       string                          // a directory for each model that cairn embed fetch brought
	Spool        string                          // where backups wait to be downloaded; emptied at the start
	Leftovers    func() api.Leftovers            // what the operator may want to remove
	Identity     ed25519.PrivateKey              // its key, which members know it by
	Certificates func() map[string]operate.Shown // by the side that sees it: clients, peers
	Ports        func() []api.Port               // that the node listens on
}
