package embedding

import (
	"context"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// selectDatabase puts a caller into the database that a request names, and reads the database.
func (v *Vectors) selectDatabase(c api.Caller, name string) (target api.Caller, is state.Current, err error) {
	if target, err = v.cfg.Select(c, name); err == nil {
		is, err = v.cfg.State.Current(target.DB)
	}
	return target, is, err
}

// Progress says how far a database's memories are embedded: by the embedder that it changes to, where it does.
func (v *Vectors) Progress(_ context.Context, c api.Caller, q *api.EmbeddingRequest) (*api.EmbeddingAnswer, error) {
	target, is, err := v.selectDatabase(c, q.Name)
	if err != nil {
		return nil, err
	}
	d, now := is.Database, is.Embedding
	a := &api.EmbeddingAnswer{Database: q.Name, Has: v.models.names()}
	have, of := v.cfg.Index.WithVectors(target.DB)
	a.Done, a.Of = uint64(have), uint64(of)
	maker := d.Embedder
	if maker != nil {
		a.Embedder = new(maker.String())
		if *maker != oplog.NoEmbedder {
			a.Missing = a.Of - a.Done
		}
	}
	if now.Pending != nil {
		maker = now.Pending
		a.ChangesTo, a.Rebound, a.Of = new(maker.String()), true, is.Stats.NextSeq
		a.Done = min(uint64(now.Next)-1, a.Of)
		a.Missing = a.Of - a.Done
	}
	g := v.models.configured
	if maker != nil {
		g, _ = v.models.get(*maker)
	}
	if g != nil {
		a.EmbedderState = new(v.stateOf(g))
	}
	return a, nil
}

// Change switches a database to an embedder that this node has, or cancels the change that is under way. Its memories
// are embedded again in the background; meanwhile the old vectors serve.
func (v *Vectors) Change(ctx context.Context, c api.Caller, q *api.ReembedRequest) (*api.Reembedding, error) {
	target, is, err := v.selectDatabase(c, q.Name)
	if err != nil {
		return nil, err
	}
	d, now := is.Database, is.Embedding
	id := oplog.NoEmbedder
	switch {
	case q.Cancel && now.Pending == nil:
		return nil, oplog.Errorf(oplog.Conflict, "database %s does not change its embedder: there is nothing to end", d.Name)
	case q.Cancel:
		id = *d.Embedder
	case q.Embedder != id.Name:
		g, err := v.models.byName(q.Embedder)
		if err != nil {
			return nil, err
		}
		id = identity(g)
	}
	if now.Pending == nil && now.Next != 0 {
		if err := v.removeFormer(ctx, target, *d.Embedder); err != nil {
			return nil, err
		}
	}
	var op oplog.Op = &oplog.Rebind{Embedder: id}
	if d.Embedder == nil && d.Dim == 0 { // it has no vectors yet
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

// removeFormer removes the vectors of the embedder that a database had before the one that it has: a change begins
// without any.
func (v *Vectors) removeFormer(ctx context.Context, c api.Caller, has oplog.Embedder) error {
	for {
		is, err := v.cfg.State.Current(c.DB)
		now := is.Embedding
		if err != nil || now.Pending != nil || now.Next == 0 {
			return err
		}
		if _, err := v.cfg.Write(ctx, c,
			&oplog.Embed{Embedder: has, From: now.Next, Next: min(now.Next+scanLimit, now.Last+1)}); err != nil {
			return err
		}
	}
}

// membersLacking are the members that are up and do not have an embedder: they answer questions by words alone.
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
