package node

import (
	"context"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Recall asks the index with all that it can be asked.
func (s *Service) Recall(ctx context.Context, c api.Caller, q index.Query, f commit.Freshness) (Answer, error) {
	return s.search(ctx, c, q, f)
}

// Commit proposes operations of a test's own making.
func (s *Service) Commit(ctx context.Context, c api.Caller, key string, ops ...oplog.Op) (Written, error) {
	return s.writeOps(ctx, c, key, ops...)
}

// Remembered is what became of drafts.
type Remembered = stored

// Remember stores drafts as if the door had let the caller in.
func (s *Service) Remember(ctx context.Context, c api.Caller, key string, drafts ...Draft) (Remembered, error) {
	return s.store(ctx, c, key, drafts...)
}

// View reads the state.
func (s *Service) View(ctx context.Context, c api.Caller, f commit.Freshness, read func(*state.View) error) error {
	if err := s.commit.Fresh(ctx, f); err != nil {
		return err
	}
	return s.state.Read(read)
}
