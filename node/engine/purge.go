package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// purge erases memories: texts, vectors and revisions too. It proposes as many entries as it takes; when one fails, those before it
// stand.
func (s *Service) purge(ctx context.Context, c api.Caller, q *api.PurgeRequest) (*api.Purged, error) {
	if q.Before.IsZero() {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'before'")
	}
	op := oplog.Purge{Before: oplog.At(q.Before.Time), Tier: q.Tier, Owner: q.Owner, Namespace: q.Namespace, At: oplog.At(time.Now())}
	a := &api.Purged{}
	for {
		next := op
		w, err := s.write(ctx, c, write{ops: []oplog.Op{&next}})
		if err != nil {
			return nil, err
		}
		a.Count, a.Index = a.Count+w.Results[0].Num, w.Index
		if op.From = w.Results[0].ID; op.From == "" {
			a.Held = stillHolds(w.Index)
			return a, nil
		}
	}
}

// stillHolds lists the places that still hold purged text when the purge answers, and until when.
func stillHolds(at oplog.Index) []string {
	return []string{
		fmt.Sprintf("logs and snapshots of the members, until each has applied record %d and taken a snapshot, within seconds", at),
		"files of state and index of each member, until it has rewritten them after that; its status says hold_purge until then",
		"files of members that are down, until they are up and have done the same, and files moved aside (*.corrupt-*), until you remove them",
		"backups and copies that were taken before: remove them yourself",
	}
}
