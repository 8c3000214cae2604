package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// learnShare is the part of the time that learning may take: purges, each of which ends how vectors are divided, come many in a row, and a database
// that is filled has twice as many again and again.
const learnShare = 20

// learnPartitions is the task that learns how the vectors of large databases are divided, so that a question compares a few of them. The leader
// does it; all nodes take from the log what it has learned, and answer alike.
func (s *Service) learnPartitions(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Background.Partition)
	defer tick.Stop()
	rested := map[oplog.DB]time.Time{} // from when on a database is looked at again
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		s.eachDatabase(ctx, "partition", func(ctx context.Context, c api.Caller) error {
			begun := time.Now()
			if begun.Before(rested[c.DB]) {
				return nil
			}
			op, err := s.index.Learn(ctx, c.DB)
			if op == nil || err != nil {
				return err
			}
			rested[c.DB] = time.Now().Add(learnShare * time.Since(begun))
			if _, err := s.write(ctx, c, write{ops: []oplog.Op{op}}); err != nil {
				return err
			}
			p := op.Partitions
			s.log.Info("vectors divided into partitions", "database", c.Database, "vectors", p.Rows, "partitions", p.Count(), "took", time.Since(begun))
			return nil
		})
	}
}
