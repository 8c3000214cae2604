// Package reads implements the reads of this host's dialects. Each answer comes from one view of the state, so its
// parts are consistent. The engine calls these functions behind the door. They read only the caller's database.
package reads

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A Read answers a request of an operation from the state of a database.
type Read func(ctx context.Context, s *state.State, db oplog.DB, request any) (answer any, err error)

// dbView is a view of the state, limited to one database.
type dbView struct {
	*state.View
	ctx context.Context // long walks stop when it ends
	db  oplog.DB
}

// All maps each operation to its function.
var All = map[*api.Op]Read{
	api.EdgesOf.Op:     readOf(api.EdgesOf, edgesOf),
	api.Numbered.Op:    readOf(api.Numbered, numbered),
	api.Neighbours.Op:  readOf(api.Neighbours, neighbours),
	api.Workspace.Op:   readOf(api.Workspace, workspace),
	api.KnownEvents.Op: readOf(api.KnownEvents, knownEvents),
	api.Captures.Op:    readOf(api.Captures, captures),
	api.Alike.Op:       readOf(api.Alike, alike),
	api.Owned.Op:       readOf(api.Owned, owned),
	api.Receipts.Op:    readOf(api.Receipts, receipts),
	api.Grants.Op:      readOf(api.Grants, grants),
	api.Identified.Op:  readOf(api.Identified, identified),
	api.Census.Op:      readOf(api.Census, census),
	api.Recent.Op:      readOf(api.Recent, recent),
	api.LookUp.Op:      readOf(api.LookUp, lookUp),
	api.Tiers.Op:       readOf(api.Tiers, tiers),
}

// readOf adapts the function of an operation to a Read.
func readOf[Q, A any](_ api.Of[Q, A], f func(dbView, *Q) *A) Read {
	return func(ctx context.Context, s *state.State, db oplog.DB, request any) (a any, err error) {
		err = s.Read(func(v *state.View) error {
			a = f(dbView{v, ctx, db}, request.(*Q))
			return ctx.Err()
		})
		return a, err
	}
}

// withEvent returns a memory with its event and, on request, its vector.
func (v dbView) withEvent(m *oplog.Memory, vectors bool) api.Kept {
	k := api.Kept{Memory: m, Event: v.EventOf(v.db, m.RID)}
	if vectors {
		k.Vector = v.Vector(v.db, m.Seq).Floats()
	}
	return k
}

func numbered(v dbView, q *api.NumberedRequest) *api.NumberedMemories {
	a := &api.NumberedMemories{}
	for _, seq := range q.Seqs {
		if m, ok := v.MemoryAt(v.db, seq); ok && !m.Expired() {
			a.Memories = append(a.Memories, v.withEvent(m, q.Vectors))
		}
	}
	return a
}
