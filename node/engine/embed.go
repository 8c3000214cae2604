package engine

import (
	"context"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// How long a caller waits for the embedder. A memory is stored without a vector when it takes longer, and gets it afterwards; a
// question is answered by its words.
const (
	writeWait = 250 * time.Millisecond
	askWait   = 500 * time.Millisecond
)

// embed makes vectors for texts with the database's embedder, for as many as there is time for. What is left without one is found
// by its words, and by meaning once the leader has embedded it: an embedder that fails never keeps a memory from being stored.
func (s *Service) embed(ctx context.Context, c api.Caller, texts []string) ([]oplog.Vector, error) {
	out := make([]oplog.Vector, len(texts))
	if s.embedder == nil || len(texts) == 0 {
		return out, nil
	}
	if ours, err := s.bind(ctx, c); err != nil || !ours {
		return out, err
	}
	vecs, err := s.embedder.Embed(ctx, writeWait, texts)
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

// identity is the configured embedder as the state names it.
func (s *Service) identity() oplog.Embedder {
	i := s.embedder.Identity()
	return oplog.Embedder{Name: i.Name, Version: i.Version, Dim: uint32(i.Dim)}
}

// bind ties a database without vectors to this node's embedder. A database whose vectors come from its clients is left alone; one
// whose vectors another embedder made is refused, for vectors of two embedders cannot be compared.
func (s *Service) bind(ctx context.Context, c api.Caller) (ours bool, err error) {
	self := s.identity()
	d, err := s.databaseInfo(c.DB)
	switch {
	case err != nil:
		return false, err
	case d.Embedder == nil && d.Dim == 0:
		_, err := s.write(ctx, c, write{ops: []oplog.Op{&oplog.SetEmbedder{Embedder: self}}})
		return err == nil, err
	case d.Embedder == nil:
		return false, nil
	case *d.Embedder != self:
		return false, oplog.Errorf(oplog.Conflict, "database %s is embedded by %s, this node embeds by %s; cairn embed use changes that", d.Name, d.Embedder, &self)
	}
	return true, nil
}

func (s *Service) databaseInfo(db oplog.DB) (d oplog.Database, err error) {
	d, _, ok, err := s.state.Database(db)
	if err == nil && !ok {
		err = oplog.ErrNoDatabase
	}
	return d, err
}

// embedsFor says whether a database's vectors are this node's embedder's.
func (s *Service) embedsFor(d oplog.Database) bool {
	return s.embedder != nil && d.Embedder != nil && *d.Embedder == s.identity()
}

// embedQuestion gives a question the vector of its text, if the database's vectors are this node's embedder's.
func (s *Service) embedQuestion(ctx context.Context, db oplog.DB, q *index.Query) error {
	if s.embedder == nil || len(q.Vector) > 0 || q.Text == "" {
		return nil
	}
	d, err := s.databaseInfo(db)
	if err != nil || !s.embedsFor(d) {
		return err
	}
	vec, err := s.embedder.Question(ctx, askWait, q.Text)
	if err != nil {
		s.log.Debug("question not embedded, answered by words alone", "err", err)
		return ctx.Err()
	}
	q.Vector, q.Hashed = vec, d.Embedder.Name == "builtin"
	return nil
}
