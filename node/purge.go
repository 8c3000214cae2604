package node

import (
	"context"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A PurgeFilter says which memories are to be erased; empty fields do not filter. Before is required.
type PurgeFilter struct {
	Before    time.Time // created before, not at
	Tier      string
	Owner     string
	Namespace string
}

// Purge erases memories: texts, vectors and revisions too. It returns how many were live. It proposes as many
// entries as it takes; when one fails, those before it stand.
func (s *Service) Purge(ctx context.Context, c Caller, p PurgeFilter) (purged uint64, w Written, err error) {
	if p.Before.IsZero() {
		return 0, w, oplog.Errorf(oplog.Invalid, "a purge needs a time before which memories go")
	}
	op := oplog.Purge{Before: oplog.At(p.Before), Tier: p.Tier, Owner: p.Owner, Namespace: p.Namespace, At: oplog.At(time.Now())}
	for {
		next := op
		if w, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{&next}}); err != nil {
			return purged, w, err
		}
		purged += w.Results[0].Num
		if op.From = w.Results[0].ID; op.From == "" {
			return purged, w, nil
		}
	}
}
