package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

const ImportRows = importRows

// Remember stores drafts as if the door had let the caller in.
func (s *Service) Remember(ctx context.Context, c api.Caller, drafts ...api.Draft) error {
	_, err := s.store(ctx, c, "", drafts...)
	return err
}

// Propose proposes operations of a test's own making.
func (s *Service) Propose(ctx context.Context, c api.Caller, ops ...oplog.Op) error {
	_, err := s.writeOps(ctx, c, "", ops...)
	return err
}

// Marks compares a statement with those of its namespace.
func (s *Service) Marks(ctx context.Context, db oplog.DB, text string) ([]oplog.Mark, error) {
	now := oplog.At(time.Now())
	return s.findMarks(ctx, db,
		&oplog.Memory{Content: oplog.Content{RID: "new", Text: text, Namespace: "default", Created: now}}, now, now)
}

// ThinkAlone runs one background round of the leader.
func (s *Service) ThinkAlone(ctx context.Context, c api.Caller) error {
	return s.thinker.RunBackground(ctx, c)
}

// Abandon ends the sessions that no client has ended.
func (s *Service) Abandon(ctx context.Context, c api.Caller) error { return s.abandon(ctx, c) }

// WaitIndexed waits until searches find everything that was applied.
func (s *Service) WaitIndexed(ctx context.Context) error {
	return s.commit.WaitIndexed(ctx, s.commit.Applied())
}

// Returned records the hits of a recall.
func (s *Service) Returned(db oplog.DB, hits []index.Hit, at time.Time) {
	s.reinforcer.noteRecall(db, hits, at)
}

// Flush makes the reinforcer write the recorded hits to the log now.
func (s *Service) Flush() {
	select {
	case s.reinforcer.kick <- struct{}{}:
	default:
	}
}
