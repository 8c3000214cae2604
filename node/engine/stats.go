package engine

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// stats are a database's counters.
func (s *Service) stats(ctx context.Context, c api.Caller, q *api.StatsRequest) (*api.Counters, error) {
	a := &api.Counters{}
	err := s.state.Read(func(v *state.View) error {
		st := v.Stats(c.DB)
		*a = api.Counters{Active: st.Active, Consolidated: st.Consolidated, Tombstoned: st.Tombstoned, Edges: st.Edges, Entities: st.Entities, Operations: st.Operations,
			Conflicts: st.OpenConflicts, Triggers: st.PendingTriggers}
		if q.Namespace != "" {
			named := v.NamespaceStats(c.DB, q.Namespace)
			a.Active, a.Consolidated, a.Tombstoned = named.Active, named.Consolidated, named.Tombstoned
		}
		if q.Verbose {
			a.MoreCounters = &api.MoreCounters{Resolved: closedConflicts(v, c.DB), Patterns: seenPatterns(v, c.DB), Claims: st.Claims}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if more := a.MoreCounters; more != nil {
		size := s.index.Size(c.DB)
		more.Rows, more.Vectors = size.Rows, size.Vectors
		more.Applied, more.Indexed = uint64(s.commit.Applied()), uint64(s.commit.Indexed())
	}
	return a, nil
}

// maxCounted bounds what is counted one by one for those who want to know more.
const maxCounted = 10_000

func closedConflicts(v *state.View, db oplog.DB) (n int) {
	v.Conflicts(db, []oplog.ConflictStatus{oplog.ConflictResolved, oplog.ConflictDismissed}, func(oplog.ConflictRow) bool {
		n++
		return n < maxCounted
	})
	return n
}

func seenPatterns(v *state.View, db oplog.DB) (n int) {
	v.Patterns(db, func(oplog.Pattern) bool {
		n++
		return n < maxCounted
	})
	return n
}
