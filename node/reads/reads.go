// Package reads answers what the dialects of this host read of their database. Each answer comes from one view, so its
// parts fit together. The engine puts these functions behind the door; they read the caller's database alone.
package reads

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A Read answers a row's request from the state, for a database.
type Read func(ctx context.Context, s *state.State, db oplog.DB, request any) (answer any, err error)

// A row is an operation with its function.
type row struct {
	op   *api.Op
	read Read
}

// from is the view that an answer comes from.
type from struct {
	*state.View
	ctx context.Context // a long walk ends with it
	db  oplog.DB
}

// on puts a function behind a row.
func on[Q, A any](of api.Of[Q, A], f func(from, *Q) *A) row {
	return row{of.Op, func(ctx context.Context, s *state.State, db oplog.DB, request any) (any, error) {
		var a *A
		err := s.Read(func(v *state.View) error {
			a = f(from{v, ctx, db}, request.(*Q))
			return ctx.Err()
		})
		return a, err
	}}
}

// All holds the function of each row.
var All = func() map[*api.Op]Read {
	all := map[*api.Op]Read{}
	for _, r := range []row{
		on(api.Numbered, numbered),
		on(api.Neighbours, neighbours),
		on(api.Workspace, workspace),
		on(api.KnownEvents, knownEvents),
		on(api.Owned, owned),
		on(api.Receipts, receipts),
		on(api.Grants, grants),
		on(api.Identified, identified),
		on(api.Census, census),
		on(api.Missing, missing),
		on(api.Recent, recent),
		on(api.Moment, moment),
		on(api.LookUp, lookUp),
		on(api.Tiers, tiers),
	} {
		all[r.op] = r.read
	}
	return all
}()

// kept returns a memory with its event and, on request, its vector.
func (v from) kept(m *oplog.Memory, vectors bool) api.Kept {
	k := api.Kept{Memory: m, Event: v.EventOf(v.db, m.RID)}
	if vectors {
		k.Vector = v.Vector(v.db, m.Seq).Floats()
	}
	return k
}

func numbered(v from, q *api.NumberedRequest) *api.NumberedMemories {
	a := &api.NumberedMemories{}
	for _, seq := range q.Seqs {
		if m, ok := v.MemoryAt(v.db, seq); ok {
			a.Memories = append(a.Memories, v.kept(m, q.Vectors))
		}
	}
	return a
}
