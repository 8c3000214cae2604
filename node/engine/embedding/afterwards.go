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

// How a node embeds what has no vector: memories that were stored while the embedder failed or was too slow, and all of
// a database that changes to another embedder.
const (
	embedBatch       = 64   // texts at once, at most
	scanLimit        = 2000 // memories looked at for them
	rescanEvery      = time.Hour
	embedTimeout     = 10 * time.Second // for the embedder's answer
	maxStalledRounds = 15               // rounds in which the leader gets no farther, after which a follower embeds
)

// Backfill embeds the memories that wait for a vector.
type Backfill struct {
	v             *Vectors
	batch         int                    // texts at once: fewer while the embedder is too slow for more
	withoutVector map[oplog.DB]int       // memories that had no vector in the index after the last look at all of them
	scannedAt     map[oplog.DB]time.Time // when that was
	stalls        map[oplog.DB]stall
	answering     map[*embed.Guard]bool // whether an embedder answers, asked once a round
}

// A stall records how far a database is embedded, and the number of rounds without progress.
type stall struct {
	first  oplog.Seq
	rounds int
}

// NewBackfill returns the work that a node does in the background.
func (v *Vectors) NewBackfill() *Backfill {
	return &Backfill{v: v, batch: embedBatch, withoutVector: map[oplog.DB]int{}, scannedAt: map[oplog.DB]time.Time{},
		stalls: map[oplog.DB]stall{}}
}

// Round begins a round over the databases, and returns the function that embeds one of them. Every node asks an
// embedder whether it is back when it was not.
func (a *Backfill) Round() func(context.Context, api.Caller) error {
	a.answering = map[*embed.Guard]bool{}
	return a.embedDatabase
}

// embedsHere reports whether this node embeds a database's memories: the leader does, and a follower when the leader
// has made no progress for maxStalledRounds, for example because it lacks the model or its embedder.
// Two nodes that embed the same memory do no harm: Apply skips the second vector.
func (a *Backfill) embedsHere(db oplog.DB, first oplog.Seq) bool {
	if a.v.cfg.Leads() {
		delete(a.stalls, db)
		return true
	}
	now := a.stalls[db]
	if now.first != first {
		now = stall{first: first}
	}
	now.rounds++
	a.stalls[db] = now
	return now.rounds > maxStalledRounds
}

// ready returns an embedder that answers; nil when it does not, or when this node does not have it.
func (a *Backfill) ready(ctx context.Context, id *oplog.Embedder) *embed.Guard {
	if id == nil {
		return nil
	}
	g, _ := a.v.models.get(*id)
	if g == nil {
		return nil
	}
	up, asked := a.answering[g]
	if !asked {
		if up = !g.State().Down; !up {
			if _, err := g.Embed(ctx, embedTimeout, []string{"ready"}); err == nil {
				a.v.cfg.Logger.Info("the embedder answers again", "embedder", id.String())
				up = true
			}
		}
		a.answering[g] = up
	}
	if !up {
		return nil
	}
	return g
}

// embedDatabase embeds what a database lacks. It stops at an embedder's first failure; the next round goes on.
func (a *Backfill) embedDatabase(ctx context.Context, c api.Caller) error {
	is, err := a.v.cfg.State.Current(c.DB)
	if err != nil {
		return err
	}
	d, now := is.Database, is.Embedding
	c.Forward = true // a follower's vectors go to the leader
	var errs []error
	switch {
	case now.Pending != nil:
		if g := a.ready(ctx, now.Pending); g != nil && a.embedsHere(c.DB, now.Next) {
			errs = append(errs, a.change(ctx, c, g))
		}
	case now.Next != 0 && a.v.cfg.Leads():
		errs = append(errs, a.v.removeFormer(ctx, c, *d.Embedder))
	}
	if g := a.ready(ctx, d.Embedder); g != nil {
		errs = append(errs, a.embedMissing(ctx, c, g))
	}
	return errors.Join(errs...)
}

// change embeds a database's memories with the embedder that it changes to, until it has changed over.
func (a *Backfill) change(ctx context.Context, c api.Caller, g *embed.Guard) error {
	id, led := identity(g), a.v.cfg.Leads()
	for told := time.Now(); ; {
		var now oplog.Embedding
		var list []*oplog.Memory
		var next oplog.Seq
		if err := a.v.cfg.State.Inspect(func(view *state.View) {
			if now = view.Embedding(c.DB); now.Pending != nil {
				list, next = view.Unembedded(c.DB, true, now.Next, a.batch, scanLimit)
			}
		}); err != nil {
			return err
		}
		if now.Pending == nil || *now.Pending != id {
			return nil
		}
		vectors, err := a.vectors(ctx, g, list)
		if err != nil {
			return err
		}
		op := &oplog.Embed{Embedder: id, From: now.Next, Next: min(next, now.Next+scanLimit), Vectors: vectors}
		if _, err := a.v.cfg.Write(ctx, c, op); err != nil {
			return err
		}
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			a.v.cfg.Logger.Info("embedding memories", "database", c.Database, "at", uint64(op.Next), "embedder", id.String())
		}
		if ctx.Err() != nil || a.v.cfg.Leads() != led {
			return ctx.Err()
		}
	}
}

// embedMissing embeds the memories of a database that have no vector.
func (a *Backfill) embedMissing(ctx context.Context, c api.Caller, g *embed.Guard) error {
	have, of := a.v.cfg.Index.WithVectors(c.DB)
	if missing := of - have; missing == 0 || missing == a.withoutVector[c.DB] && time.Since(a.scannedAt[c.DB]) < rescanEvery {
		delete(a.stalls, c.DB)
		return nil
	}
	first, _ := a.v.cfg.Index.NextWithoutVector(c.DB, 1)
	if !a.embedsHere(c.DB, first) {
		return nil
	}
	led := a.v.cfg.Leads()
	started := time.Now()
	for from, told := first, started; ; {
		have, of := a.v.cfg.Index.WithVectors(c.DB) // before the look: what is stored meanwhile is for another one
		next, err := a.embedSome(ctx, c, g, from)
		if err != nil {
			return err
		}
		if next == 0 {
			a.withoutVector[c.DB], a.scannedAt[c.DB] = of-have, started
			return nil
		}
		if from = next; time.Since(told) > 10*time.Second {
			told = time.Now()
			a.v.cfg.Logger.Info("embedding memories", "database", c.Database, "at", uint64(from))
		}
		if ctx.Err() != nil || a.v.cfg.Leads() != led {
			return ctx.Err()
		}
	}
}

// embedSome embeds the first memories without a vector at or after from. It says where to go on, 0 for nowhere.
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

// vectors embeds memories. When the embedder is too slow for so many, the next attempt is at half as many; when it
// rejects them, each is tried alone.
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
			one, err := a.vectors(ctx, g, list[i:i+1])
			if err != nil {
				return nil, err
			}
			out = append(out, one...)
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
