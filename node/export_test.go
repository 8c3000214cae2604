package node

import (
	"context"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
)

// Recall asks the index with all that it can be asked.
func (s *Service) Recall(ctx context.Context, c api.Caller, q index.Query, f commit.Freshness) (Answer, error) {
	return s.search(ctx, c, q, f)
}

// Commit proposes operations of a test's own making.
func (s *Service) Commit(ctx context.Context, c api.Caller, key string, ops ...oplog.Op) (Written, error) {
	return s.writeOps(ctx, c, key, ops...)
}

// View reads the state.
func (s *Service) View(ctx context.Context, c api.Caller, f commit.Freshness, read func(*oplog.View) error) error {
	return s.read(ctx, c, f, read)
}
