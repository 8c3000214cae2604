package thinking

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of the relations and of the claims that one round reads.
const (
	statementsPerRow = 10 // relations, and claims, for each memory of Config.Rows
	partnersBySource = 50 // oldest claims or relations that are read for each subject
)

// gatherStatements reads relations and claims. Relations belong to no namespace, so a round of one namespace reads
// none.
func (r *round) gatherStatements(ctx context.Context) (err error) {
	if r.q.Namespace == "" {
		r.snap.Edges, err = gatherTable(ctx, r, r.snap.Stats.Edges, (*state.View).EdgesBack, func(v *state.View, src string) []oplog.Edge {
			return v.Edges(r.c.DB, src, partnersBySource)
		}, func(e *oplog.Edge) (id, src string, wanted bool) { return e.ID, e.Src, true })
	}
	if err != nil {
		return err
	}
	reach := oplog.Reach{Name: r.q.Namespace}
	r.snap.Claims, err = gatherTable(ctx, r, r.snap.Stats.Claims, (*state.View).ClaimsBack, func(v *state.View, src string) []oplog.StoredClaim {
		return v.Claims(r.c.DB, src, reach, partnersBySource)
	}, func(c *oplog.StoredClaim) (id, src string, wanted bool) { return c.ID, c.Src, reach.Has(c.Namespace) })
	return err
}

// gatherTable reads the wanted rows of a table in the order of their ids, which is the order of creation. If the table
// has more rows than a round may read, it reads the newest rows up to half of the limit, and then older rows about the
// same subjects, so that every row is compared while it is new. It looks for wanted rows until the round's deadline.
func gatherTable[T any](ctx context.Context, r *round, total uint64, newestFirst func(*state.View, oplog.DB, string, func(T) bool), bySubject func(v *state.View, src string) []T,
	keys func(*T) (id, src string, wanted bool)) (list []T, err error) {
	limit := statementsPerRow * r.th.cfg.Rows
	newest := limit
	if total > uint64(limit) {
		newest = limit / 2
	}
	listed, sources := map[string]bool{}, []string(nil)
	if err := inSlices(ctx, r, "", newestFirst, func(_ *state.View, x T) (string, bool) {
		id, src, wanted := keys(&x)
		if !wanted {
			return id, !time.Now().After(r.deadline)
		}
		list, listed[id] = append(list, x), true
		sources = append(sources, src)
		return id, len(list) < newest
	}); err != nil || newest == limit {
		slices.Reverse(list)
		return list, err
	}
	seen := map[string]bool{}
	sources = slices.DeleteFunc(sources, func(src string) bool {
		twice := seen[src]
		seen[src] = true
		return twice
	})
	for chunk := range slices.Chunk(sources, rowsPerSlice) {
		if err := r.th.cfg.State.Inspect(func(v *state.View) {
			for _, src := range chunk {
				for _, x := range bySubject(v, src) {
					if id, _, _ := keys(&x); !listed[id] && len(list) < limit {
						list, listed[id] = append(list, x), true
					}
				}
			}
		}); cmp.Or(err, ctx.Err()) != nil || len(list) == limit || time.Now().After(r.deadline) {
			return list, cmp.Or(err, ctx.Err())
		}
		r.snap.Yield()
	}
	return list, nil
}
