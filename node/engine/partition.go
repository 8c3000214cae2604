package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// learnAgain is how long vectors are left as they are divided: purges, each of which ends that, come many in a row.
const learnAgain = 10 * time.Minute

// learnPartitions is the task that learns how the vectors of large databases are divided, so that a question compares a few of them. The leader
// does it; all nodes take from the log what it has learned, and answer alike.
func (s *Service) learnPartitions(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Background.Partition)
	defer tick.Stop()
	learned := map[oplog.DB]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		s.eachDatabase(ctx, "partition", func(ctx context.Context, c api.Caller) error {
			if time.Since(learned[c.DB]) < learnAgain {
				return nil
			}
			begun := time.Now()
			op, err := s.index.Learn(ctx, c.DB)
			if op == nil || err != nil {
				return err
			}
			learned[c.DB] = time.Now()
			if _, err := s.write(ctx, c, write{ops: []oplog.Op{op}}); err != nil {
				return err
			}
			p := op.Partitions
			s.log.Info("vectors divided into partitions", "database", c.Database, "vectors", p.Rows, "partitions", p.Count(), "took", time.Since(begun))
			return nil
		})
	}
}
