package embedding

import (
	"context"
	"errors"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/index/modelserver"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Bounds of the background work that embeds memories without a vector: those stored while the embedder failed or was
// too slow, and all memories of a database that changes to another embedder.
const (
	embedBatch       = 64   // maximum number of texts in a request to the embedder
	scanLimit        = 2000 // maximum number of memories that are scanned for a batch
	rescanEvery      = time.Hour
	embedTimeout     = 10 * time.Second // timeout of a request to the embedder
	maxStalledRounds = 15               // rounds without progress of the leader, after which a follower embeds
)

// A Backfill embeds the memories that wait for a vector.
type Backfill struct {
	v             *Vectors
	batch         int                    // texts in the next request; fewer while the embedder is slow
	withoutVector map[oplog.DB]int       // number of memories without a vector after the last complete scan
	scannedAt     map[oplog.DB]time.Time // time of the last complete scan
	stalls        map[oplog.DB]stall
	answering     map[*embed.Guard]bool // whether an embedder answers; checked once a round
}

// A stall records the first memory of a database that waits for a vector, and the number of rounds without progress.
type stall struct {
	first  oplog.Seq
	rounds int
}

// NewBackfill returns the background task of a node.
func (v *Vectors) NewBackfill() *Backfill {
	return &Backfill{v: v, batch: embedBatch, withoutVector: map[oplog.DB]int{}, scannedAt: map[oplog.DB]time.Time{},
		stalls: map[oplog.DB]stall{}}
}

// Round begins a round over the databases, and returns the function that embeds one of them. In each round every node
// tests the embedders that did not answer before.
func (a *Backfill) Round() func(context.Context, api.Caller) error {
	a.answering = map[*embed.Guard]bool{}
	return a.embedDatabase
}

// embedsHere reports whether this node embeds a database's memories. The leader does. A follower does if the leader
// has made no progress for maxStalledRounds, for example because it lacks the model or its embedder fails. Two nodes
// may embed the same memory, because Apply skips the second vector.
func (a *Backfill) embedsHere(db oplog.DB, first oplog.Seq) bool {
	if a.v.cfg.Leads() {
		delete(a.stalls, db)
		return true
	}
	current := a.stalls[db]
	if current.first != first {
		current = stall{first: first}
	}
	current.rounds++
	a.stalls[db] = current
	return current.rounds > maxStalledRounds
}

// ready returns an embedder, or nil if it does not answer or this node does not have it.
func (a *Backfill) ready(ctx context.Context, id *oplog.Embedder) *embed.Guard {
	if id == nil {
		return nil
	}
	g, _ := a.v.models.get(*id)
	if g == nil {
		return nil
	}
	healthy, checked := a.answering[g]
	if !checked {
		if healthy = !g.State().Down; !healthy {
			if _, err := g.Embed(ctx, embedTimeout, []string{"ready"}); err == nil {
				a.v.cfg.Logger.Info("the embedder answers again", "embedder", id.String())
				healthy = true
			}
		}
		a.answering[g] = healthy
	}
	if !healthy {
		return nil
	}
	return g
}

// embedDatabase embeds the memories of a database that wait for a vector. It stops at an embedder's first failure,
// and the next round continues.
func (a *Backfill) embedDatabase(ctx context.Context, c api.Caller) error {
	current, err := a.v.cfg.State.Current(c.DB)
	if err != nil {
		return err
	}
	database, progress := current.Database, current.Embedding
	c.Forward = true // a follower forwards its vectors to the leader
	var errs []error
	switch {
	case progress.Pending != nil:
		if g := a.ready(ctx, progress.Pending); g != nil && a.embedsHere(c.DB, progress.Next) {
			errs = append(errs, a.change(ctx, c, g))
		}
	case progress.Next != 0 && a.v.cfg.Leads():
		errs = append(errs, a.v.removeFormer(ctx, c, *database.Embedder))
	}
	if g := a.ready(ctx, database.Embedder); g != nil {
		errs = append(errs, a.embedMissing(ctx, c, g))
	}
	return errors.Join(errs...)
}

// change embeds a database's memories with the embedder that it changes to, until the change is complete.
func (a *Backfill) change(ctx context.Context, c api.Caller, g *embed.Guard) error {
	id, wasLeader := identity(g), a.v.cfg.Leads()
	for lastLogged := time.Now(); ; {
		var progress oplog.Embedding
		var memories []*oplog.Memory
		var next oplog.Seq
		if err := a.v.cfg.State.Inspect(func(view *state.View) {
			if progress = view.Embedding(c.DB); progress.Pending != nil {
				memories, next = view.Unembedded(c.DB, true, progress.Next, a.batch, scanLimit)
			}
		}); err != nil {
			return err
		}
		if progress.Pending == nil || *progress.Pending != id {
			return nil
		}
		vectors, err := a.vectors(ctx, g, memories)
		if err != nil {
			return err
		}
		op := &oplog.Embed{Embedder: id, From: progress.Next, Next: min(next, progress.Next+scanLimit), Vectors: vectors}
		if _, err := a.v.cfg.Write(ctx, c, op); err != nil {
			return err
		}
		if time.Since(lastLogged) > 10*time.Second {
			lastLogged = time.Now()
			a.v.cfg.Logger.Info("embedding memories", "database", c.Database, "at", uint64(op.Next), "embedder", id.String())
		}
		if ctx.Err() != nil || a.v.cfg.Leads() != wasLeader {
			return ctx.Err()
		}
	}
}

// embedMissing embeds the memories of a database that have no vector.
func (a *Backfill) embedMissing(ctx context.Context, c api.Caller, g *embed.Guard) error {
	embedded, total := a.v.cfg.Index.WithVectors(c.DB)
	if missing := total - embedded; missing == 0 || missing == a.withoutVector[c.DB] && time.Since(a.scannedAt[c.DB]) < rescanEvery {
		delete(a.stalls, c.DB)
		return nil
	}
	first, _ := a.v.cfg.Index.NextWithoutVector(c.DB, 1)
	if !a.embedsHere(c.DB, first) {
		return nil
	}
	wasLeader := a.v.cfg.Leads()
	started := time.Now()
	for from, lastLogged := first, started; ; {
		embedded, total := a.v.cfg.Index.WithVectors(c.DB) // count before the scan: later memories are left to another one
		next, err := a.embedSome(ctx, c, g, from)
		if err != nil {
			return err
		}
		if next == 0 {
			a.withoutVector[c.DB], a.scannedAt[c.DB] = total-embedded, started
			return nil
		}
		if from = next; time.Since(lastLogged) > 10*time.Second {
			lastLogged = time.Now()
			a.v.cfg.Logger.Info("embedding memories", "database", c.Database, "at", uint64(from))
		}
		if ctx.Err() != nil || a.v.cfg.Leads() != wasLeader {
			return ctx.Err()
		}
	}
}

// embedSome embeds the first memories without a vector at or after from. It returns the number to continue from, or 0
// at the end.
func (a *Backfill) embedSome(ctx context.Context, c api.Caller, g *embed.Guard, from oplog.Seq) (next oplog.Seq, err error) {
	seq, ok := a.v.cfg.Index.NextWithoutVector(c.DB, from)
	if !ok {
		return 0, nil
	}
	var list []*oplog.Memory
	if err := a.v.cfg.State.Inspect(func(view *state.View) {
		list, next = view.Unembedded(c.DB, false, seq, a.batch, scanLimit)
	}); err != nil {
		return 0, err
	}
	vectors, err := a.vectors(ctx, g, list)
	if err != nil {
		return 0, err
	}
	if len(vectors) > 0 {
		_, err = a.v.cfg.Write(ctx, c, &oplog.Embed{Embedder: identity(g), Vectors: vectors})
	}
	return next, err
}

// vectors embeds memories. If the embedder fails, the next batch is half as large. If it rejects the batch, vectors
// tries each memory alone and skips those that it rejects.
func (a *Backfill) vectors(ctx context.Context, g *embed.Guard, list []*oplog.Memory) (out []oplog.Embedded, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	vecs, err := g.Embed(ctx, embedTimeout, api.Each(list, func(m *oplog.Memory) string { return m.Text }))
	switch {
	case err == nil:
		a.batch = min(2*a.batch, embedBatch)
	case !errors.Is(err, modelserver.ErrRefused):
		a.batch = max(a.batch/2, 1)
		return nil, err
	case len(list) == 1:
		return nil, nil
	default:
		for i := range list {
			single, err := a.vectors(ctx, g, list[i:i+1])
			if err != nil {
				return nil, err
			}
			out = append(out, single...)
		}
		return out, nil
	}
	for i, v := range vecs {
		if v := oplog.MakeVector(v); len(v) > 0 { // a text may have nothing to embed
			out = append(out, oplog.Embedded{Seq: list[i].Seq, Revision: list[i].Revision, Vector: v})
		}
	}
	return out, nil
}
