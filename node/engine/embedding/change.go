package embedding

import (
	"context"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// selectDatabase selects the database that a request names for the caller, and reads the database.
func (v *Vectors) selectDatabase(c api.Caller, name string) (target api.Caller, current state.Current, err error) {
	if target, err = v.cfg.Select(c, name); err == nil {
		current, err = v.cfg.State.Current(target.DB)
	}
	return target, current, err
}

// Progress reports how many memories of a database are embedded. During a change of embedder it counts the vectors of
// the new one.
func (v *Vectors) Progress(_ context.Context, c api.Caller, q *api.EmbeddingRequest) (*api.EmbeddingAnswer, error) {
	target, current, err := v.selectDatabase(c, q.Name)
	if err != nil {
		return nil, err
	}
	database, progress := current.Database, current.Embedding
	a := &api.EmbeddingAnswer{Database: q.Name, Has: v.models.names()}
	embedded, total := v.cfg.Index.WithVectors(target.DB)
	a.Done, a.Of = uint64(embedded), uint64(total)
	embedder := database.Embedder
	if embedder != nil {
		a.Embedder = new(embedder.String())
		if *embedder != oplog.NoEmbedder {
			a.Missing = a.Of - a.Done
		}
	}
	if progress.Pending != nil {
		embedder = progress.Pending
		a.ChangesTo, a.Rebound, a.Of = new(embedder.String()), true, current.Stats.NextSeq
		a.Done = min(uint64(progress.Next)-1, a.Of)
		a.Missing = a.Of - a.Done
	}
	g := v.models.configured
	if embedder != nil {
		g, _ = v.models.get(*embedder)
	}
	if g != nil {
		a.EmbedderState = new(v.stateOf(g))
	}
	return a, nil
}

// Change switches a database to an embedder that this node has, or cancels a change. The background task embeds the
// memories again, and until it is done the old vectors serve.
func (v *Vectors) Change(ctx context.Context, c api.Caller, q *api.ReembedRequest) (*api.Reembedding, error) {
	target, current, err := v.selectDatabase(c, q.Name)
	if err != nil {
		return nil, err
	}
	database, progress := current.Database, current.Embedding
	id := oplog.NoEmbedder
	switch {
	case q.Cancel && progress.Pending == nil:
		return nil, oplog.Errorf(oplog.Conflict, "database %s does not change its embedder: there is nothing to end", database.Name)
	case q.Cancel:
		id = *database.Embedder
	case q.Embedder != id.Name:
		g, err := v.models.byName(q.Embedder)
		if err != nil {
			return nil, err
		}
		id = identity(g)
	}
	if progress.Pending == nil && progress.Next != 0 {
		if err := v.removeFormer(ctx, target, *database.Embedder); err != nil {
			return nil, err
		}
	}
	var op oplog.Op = &oplog.Rebind{Embedder: id}
	if database.Embedder == nil && database.Dim == 0 { // it has no vectors yet
		op = &oplog.SetEmbedder{Embedder: id}
	}
	at, err := v.cfg.Write(ctx, target, op)
	if err != nil {
		return nil, err
	}
	a, err := v.Progress(ctx, c, &api.EmbeddingRequest{Name: q.Name})
	if err != nil {
		return nil, err
	}
	return &api.Reembedding{EmbeddingAnswer: *a, Index: field.Token(at), Lacking: v.membersLacking(ctx, id)}, nil
}

// removeFormer removes the vectors of the database's previous embedder, because a change must begin without any.
func (v *Vectors) removeFormer(ctx context.Context, c api.Caller, embedder oplog.Embedder) error {
	for {
		current, err := v.cfg.State.Current(c.DB)
		progress := current.Embedding
		if err != nil || progress.Pending != nil || progress.Next == 0 {
			return err
		}
		if _, err := v.cfg.Write(ctx, c,
			&oplog.Embed{Embedder: embedder, From: progress.Next, Next: min(progress.Next+scanLimit, progress.Last+1)}); err != nil {
			return err
		}
	}
}

// membersLacking returns the reachable members that lack an embedder. They answer questions by words alone.
func (v *Vectors) membersLacking(ctx context.Context, id oplog.Embedder) (nodes []uint32) {
	if id == oplog.NoEmbedder {
		return nil
	}
	name := v.models.nameOf(id)
	for _, p := range v.cfg.Peers(ctx) {
		if p.Reachable && id.Name != "builtin" && !slices.Contains(p.Models, name) && !slices.Contains(p.Models, id.String()) {
			nodes = append(nodes, p.NodeID)
		}
	}
	return nodes
}
