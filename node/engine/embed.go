package engine

import (
	"context"
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// How long a caller waits for the embedder. A memory is stored without a vector when it takes longer, and gets it
// afterwards; a question is answered by its words.
const (
	writeWait = 250 * time.Millisecond
	askWait   = 500 * time.Millisecond
)

// addVectors embeds the memories that have no vector of their client's.
func (s *Service) addVectors(ctx context.Context, c api.Caller, ops []*oplog.Remember) error {
	bare := slices.DeleteFunc(slices.Clone(ops), func(op *oplog.Remember) bool { return len(op.Vector) > 0 || op.Unsearchable || op.Held })
	vecs, err := s.embed(ctx, c, each(bare, func(op *oplog.Remember) string { return op.Text }))
	if err != nil {
		return err
	}
	for i, op := range bare {
		op.Vector = vecs[i]
	}
	return nil
}

// embed makes vectors for texts with the database's embedder, for as many as there is time for. What is left without
// one is found by its words, and by meaning once it is embedded afterwards: an embedder that fails never keeps a memory
// from being stored.
func (s *Service) embed(ctx context.Context, c api.Caller, texts []string) ([]oplog.Vector, error) {
	out := make([]oplog.Vector, len(texts))
	if len(texts) == 0 {
		return out, nil
	}
	g, err := s.bind(ctx, c)
	if g == nil || err != nil {
		return out, err
	}
	vecs, err := g.Embed(ctx, writeWait, texts)
	if err != nil {
		s.log.Debug("stored before it is embedded", "memories", len(texts), "err", err)
	}
	for i, v := range vecs {
		if len(v) > 0 {
			out[i] = oplog.MakeVector(v)
		}
	}
	return out, nil
}

// bind returns what embeds the memories that this node stores, nil for nothing, and ties a database without vectors to
// the configured embedder. A database whose vectors come from its clients is left alone; one whose embedder this
// configured node cannot open is refused, unless it changes to this node's: vectors of two embedders cannot be
// compared.
func (s *Service) bind(ctx context.Context, c api.Caller) (*embed.Guard, error) {
	now, err := s.state.Current(c.DB)
	d, configured := now.Database, s.embedders.configured
	switch {
	case err != nil:
		return nil, err
	case d.Embedder == nil && d.Dim == 0 && configured != nil:
		_, err := s.write(ctx, c, &oplog.SetEmbedder{Embedder: identity(configured)})
		return configured, err
	case d.Embedder == nil || *d.Embedder == oplog.NoEmbedder:
		return nil, nil
	}
	g, opening := s.embedders.get(*d.Embedder)
	if g != nil || opening || configured == nil {
		return g, nil
	}
	self := identity(configured)
	if p := now.Embedding.Pending; p != nil && *p == self {
		return nil, nil
	}
	return nil, oplog.Errorf(oplog.Conflict, "database %s is embedded by %s, this node embeds by %s; cairn embed use changes that", d.Name, d.Embedder, &self)
}

// embedsFor returns what makes a database's vectors, nil when this node cannot, or not yet.
func (s *Service) embedsFor(d oplog.Database) *embed.Guard {
	if d.Embedder == nil {
		return nil
	}
	g, _ := s.embedders.get(*d.Embedder)
	return g
}

// embedQuestion gives a question the vector of its text, if this node has the database's embedder.
func (s *Service) embedQuestion(ctx context.Context, now state.Current, q *index.Query) error {
	g := s.embedsFor(now.Database)
	if g == nil || len(q.Vector) > 0 || q.Text == "" || slices.Contains(q.Without, "vector") {
		return nil
	}
	vec, err := g.Question(ctx, askWait, q.Text)
	if err != nil {
		s.log.Debug("question not embedded, answered by words alone", "err", err)
		return ctx.Err()
	}
	q.Vector, q.Hashed, q.Epoch = vec, now.Database.Embedder.Name == "builtin", &now.Embedding.Epoch
	return nil
}
