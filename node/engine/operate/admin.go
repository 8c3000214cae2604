package operate

import (
	"context"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// AdminConfig holds what administering needs. All fields are needed.
type AdminConfig struct {
	State        *state.State
	Commit       *commit.Log
	Access       *access.Control
	NodeID       uint32
	Wire, HTTP   string // where clients are sent to
	MaxDatabases int    // that the tokens of one database may make; negative for no bound

	// CatchUp returns when this node has all that was acknowledged, by whichever node.
	CatchUp func(ctx context.Context) error
	// Write proposes in the caller's database, and returns when this node finds what was written.
	Write func(ctx context.Context, c api.Caller, ops ...oplog.Op) (at oplog.Index, first oplog.Result, err error)
}

// Admin administers databases with their quotas and policies, tokens and consents, and tells who did what. The door has
// asked for the right of each operation; what a caller may give, see or end beyond that is decided here.
type Admin struct {
	cfg      AdminConfig
	changing chan struct{} // full while alone
}

// NewAdmin returns the Admin of a node.
func NewAdmin(cfg AdminConfig) *Admin { return &Admin{cfg: cfg, changing: make(chan struct{}, 1)} }

// beginExclusive begins a read-modify-write of settings. It waits until this node has applied every acknowledged
// write, and excludes other such changes on this node. Of two made at once on two nodes, the later one wins as a
// whole.
func (ad *Admin) beginExclusive(ctx context.Context) (done func(), err error) {
	select {
	case ad.changing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	done = func() { <-ad.changing }
	if err := ad.cfg.CatchUp(ctx); err != nil {
		done()
		return nil, err
	}
	return done, nil
}

// propose proposes operations on the cluster: the entry belongs to no database.
func (ad *Admin) propose(ctx context.Context, c api.Caller, ops ...oplog.Op) (oplog.Index, oplog.Result, error) {
	c.DB = 0
	return ad.cfg.Write(ctx, c, ops...)
}
