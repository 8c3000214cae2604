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

// from is the view that an answer comes from.
type from struct {
	*state.View
	ctx context.Context // a long walk ends with it
	db  oplog.DB
}

// All holds the function of each row.
var All = map[*api.Op]Read{
	api.EdgesOf.Op:     on(api.EdgesOf, edgesOf),
	api.Numbered.Op:    on(api.Numbered, numbered),
	api.Neighbours.Op:  on(api.Neighbours, neighbours),
	api.Workspace.Op:   on(api.Workspace, workspace),
	api.KnownEvents.Op: on(api.KnownEvents, knownEvents),
	api.Captures.Op:    on(api.Captures, captures),
	api.Alike.Op:       on(api.Alike, alike),
	api.Owned.Op:       on(api.Owned, owned),
	api.Receipts.Op:    on(api.Receipts, receipts),
	api.Grants.Op:      on(api.Grants, grants),
	api.Identified.Op:  on(api.Identified, identified),
	api.Census.Op:      on(api.Census, census),
	api.Recent.Op:      on(api.Recent, recent),
	api.LookUp.Op:      on(api.LookUp, lookUp),
	api.Tiers.Op:       on(api.Tiers, tiers),
}

// on makes a row's function one of the state.
func on[Q, A any](_ api.Of[Q, A], f func(from, *Q) *A) Read {
	return func(ctx context.Context, s *state.State, db oplog.DB, request any) (a any, err error) {
		err = s.Read(func(v *state.View) error {
			a = f(from{v, ctx, db}, request.(*Q))
			return ctx.Err()
		})
		return a, err
	}
}

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
		if m, ok := v.MemoryAt(v.db, seq); ok && !m.Expired() {
			a.Memories = append(a.Memories, v.kept(m, q.Vectors))
		}
	}
	return a
}
