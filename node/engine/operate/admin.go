package operate

import (
	"context"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// AdminConfig configures an Admin. All fields are required.
type AdminConfig struct {
	State        *state.State
	Commit       *commit.Log
	Access       *access.Control
	NodeID       uint32
	Wire, HTTP   string // addresses for clients
	MaxDatabases int    // databases that the tokens of one database may create; negative: no bound

	// CatchUp returns once this node has applied everything that any node acknowledged.
	CatchUp func(ctx context.Context) error
	// Write proposes in the caller's database, and returns once this node finds what was written.
	Write func(ctx context.Context, c api.Caller, ops ...oplog.Op) (at oplog.Index, results []oplog.Result, err error)
}

// Admin administers databases with their quotas and policies, tokens and consents, and lists the audit. The door has
// checked the right to each operation. Admin decides which tokens and databases a caller may create, see or end.
type Admin struct {
	cfg       AdminConfig
	exclusive chan struct{} // a semaphore: held during an exclusive change
}

// NewAdmin returns the Admin of a node.
func NewAdmin(cfg AdminConfig) *Admin { return &Admin{cfg: cfg, exclusive: make(chan struct{}, 1)} }

// beginExclusive begins a read-modify-write of settings. It waits until this node has applied every acknowledged
// write, and excludes other such changes on this node. Of two concurrent changes on two nodes, the later one wins
// completely.
func (ad *Admin) beginExclusive(ctx context.Context) (done func(), err error) {
	select {
	case ad.exclusive <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done = func() { <-ad.exclusive }
	if err := ad.cfg.CatchUp(ctx); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// propose proposes operations on the cluster, in an entry without a database.
func (ad *Admin) propose(ctx context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, oplog.Result, error) {
	c.DB = 0
	at, results, err := ad.cfg.Write(ctx, c, ops...)
	if err != nil {
		return at, oplog.Result{}, err
	}
	return at, results[0], nil
}
