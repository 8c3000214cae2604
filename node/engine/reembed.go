package engine

import (
	"context"
	"errors"
	"time"

	"github.com/cairndb/cairn/index/modelserver"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// How a node embeds what has no vector: memories that were stored while the embedder failed or was too slow, and all of a
// database that was given another embedder.
const (
	embedBatch = 64   // texts at once, at most
	embedLook  = 2000 // memories looked at for them
	embedAgain = time.Hour
	embedWait  = 10 * time.Second // for the embedder's answer
	embedStill = 15               // rounds in which the leader gets no farther, after which a follower embeds
)

// embedding says how far a database's memories are embedded.
func (s *Service) embedding(_ context.Context, c api.Caller, q *api.EmbeddingRequest) (*api.EmbeddingAnswer, error) {
	target, err := s.access.Select(c, q.Name)
	if err != nil {
		return nil, err
	}
	a := &api.EmbeddingAnswer{Database: q.Name}
	err = s.state.Read(func(v *state.View) error {
		d, ok := v.Database(target.DB)
		if !ok {
			return oplog.ErrNoDatabase
		}
		if d.Embedder != nil {
			name := d.Embedder.String()
			a.Embedder = &name
		}
		a.Rebound = v.Embedding(target.DB).Next != 0
		return nil
	})
	have, of := s.index.WithVectors(target.DB)
	if a.Embedder != nil {
		a.Missing = uint64(of - have)
	}
	a.Done, a.Of = uint64(have), uint64(of)
	if is := s.embedderStatus(); is != nil {
		a.EmbedderState = &is.EmbedderState
	}
	return a, err
}

// reembed gives a database to the embedder this node is configured with. Its memories are embedded anew in the background;
// meanwhile words find all of them, and vectors those that are done.
func (s *Service) reembed(ctx context.Context, c api.Caller, q *api.ReembedRequest) (*api.Reembedding, error) {
	if s.embedder == nil {
		return nil, oplog.Errorf(oplog.Conflict, "this node has no embedder: name one in its configuration, [embedding] strategy and path, or start `cairn dev` with --embed")
	}
	self := s.identity()
	if q.Embedder != "" && q.Embedder != self.String() {
		return nil, oplog.Errorf(oplog.Conflict, "asked for %s, and this node embeds by %s: name the model's directory in the configuration of the nodes, [embedding] path, or start `cairn dev` with --embed", q.Embedder, &self)
	}
	target, err := s.access.Select(c, q.Name)
	if err != nil {
		return nil, err
	}
	d, err := s.databaseInfo(target.DB)
	if err != nil {
		return nil, err
	}
	var op oplog.Op = &oplog.Rebind{Embedder: self}
	if d.Embedder == nil && d.Dim == 0 { // it has no vectors yet
		op = &oplog.SetEmbedder{Embedder: self}
	}
	w, err := s.write(ctx, target, write{ops: []oplog.Op{op}})
	if err != nil {
		return nil, err
	}
	a, err := s.embedding(ctx, c, &api.EmbeddingRequest{Name: q.Name})
	if err != nil {
		return nil, err
	}
	return &api.Reembedding{EmbeddingAnswer: *a, Index: w.Index}, nil
}

// afterwards is what the task knows of the memories that wait for a vector.
type afterwards struct {
	s       *Service
	batch   int                    // texts at once: fewer while the embedder is too slow for more
	refused map[oplog.DB]int       // memories that it made no vector of, at the last look at all of them
	all     map[oplog.DB]time.Time // when that was
	stuck   map[oplog.DB]standstill
}

// A standstill is how far a database is embedded, and for how many rounds it has been no farther.
type standstill struct {
	first  oplog.Seq
	rounds int
}

// embedsHere says whether this node embeds what a database lacks: the leader does, and a follower where the leader does not, which may
// be without the embedder or without an answer of it. Two nodes that embed the same memory do no harm: the second vector is passed over.
func (a *afterwards) embedsHere(db oplog.DB, first oplog.Seq) bool {
	if a.s.commit.Leads() {
		delete(a.stuck, db)
		return true
	}
	now := a.stuck[db]
	if now.first != first {
		now = standstill{first: first}
	}
	now.rounds++
	a.stuck[db] = now
	return now.rounds > embedStill
}

// embedAfterwards is the task that embeds what was stored without a vector. Every node asks its embedder whether it is back when it
// was not.
func (s *Service) embedAfterwards(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Background.Embed)
	defer tick.Stop()
	a := &afterwards{s: s, batch: embedBatch, refused: map[oplog.DB]int{}, all: map[oplog.DB]time.Time{}, stuck: map[oplog.DB]standstill{}}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if s.embedder == nil {
			continue
		}
		if s.embedder.State().Down {
			if _, err := s.embedder.Embed(ctx, embedWait, []string{"ready"}); err != nil {
				continue
			}
			s.log.Info("the embedder answers again")
		}
		s.everyDatabase(ctx, "embed", func() bool { return true }, a.embedMissing)
	}
}

// embedMissing goes through a database and embeds what has no vector. It stops at the embedder's first failure, to go on later.
func (a *afterwards) embedMissing(ctx context.Context, c api.Caller) error {
	d, err := a.s.databaseInfo(c.DB)
	if err != nil || !a.s.embedsFor(d) {
		return err
	}
	var at oplog.Embedding
	if err := a.s.state.Read(func(v *state.View) error {
		at = v.Embedding(c.DB)
		return nil
	}); err != nil {
		return err
	}
	have, of := a.s.index.WithVectors(c.DB)
	if missing := of - have; at.Next == 0 && (missing == 0 || missing == a.refused[c.DB] && time.Since(a.all[c.DB]) < embedAgain) {
		delete(a.stuck, c.DB)
		return nil
	}
	first := at.Next
	if first == 0 {
		first, _ = a.s.index.NextWithoutVector(c.DB, 1)
	}
	if !a.embedsHere(c.DB, first) {
		return nil
	}
	c.Forward = true // a follower's vectors go to the leader
	led := a.s.commit.Leads()
	refused, started := 0, time.Now()
	for from, told := oplog.Seq(1), started; ; {
		next, none, err := a.embedSome(ctx, c, from)
		refused += none
		if err != nil {
			return err
		}
		if next == 0 {
			a.refused[c.DB], a.all[c.DB] = refused, started
			return nil
		}
		if from = next; time.Since(told) > 10*time.Second {
			told = time.Now()
			a.s.log.Info("embedding memories", "database", d.Name, "at", uint64(from))
		}
		if ctx.Err() != nil || a.s.commit.Leads() != led {
			return ctx.Err()
		}
	}
}

// embedSome embeds the first memories without a vector at or after from. It says where to go on, 0 for nowhere, and of how many the
// embedder made no vector.
func (a *afterwards) embedSome(ctx context.Context, c api.Caller, from oplog.Seq) (next oplog.Seq, none int, err error) {
	var list []*oplog.Memory
	var at oplog.Embedding
	if err := a.s.state.Read(func(v *state.View) error {
		if at = v.Embedding(c.DB); at.Next != 0 {
			from = max(from, at.Next)
		} else if seq, ok := a.s.index.NextWithoutVector(c.DB, from); ok {
			from = seq
		} else {
			return nil
		}
		list, next = v.Unembedded(c.DB, from, a.batch, embedLook)
		return nil
	}); err != nil {
		return 0, 0, err
	}
	vectors, err := a.vectors(ctx, list)
	if err != nil {
		return 0, 0, err
	}
	op := &oplog.Embed{Embedder: a.s.identity(), From: from, Next: next, Vectors: vectors}
	if next == 0 {
		op.Next = at.Last + 1
	}
	if len(op.Vectors) > 0 || at.Next != 0 {
		_, err = a.s.write(ctx, c, write{ops: []oplog.Op{op}})
	}
	return next, len(list) - len(vectors), err
}

// vectors embeds memories. When the embedder is too slow for so many, the next attempt is at half as many; when it refuses them, each
// is tried alone.
func (a *afterwards) vectors(ctx context.Context, list []*oplog.Memory) (out []oplog.Embedded, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.Text
	}
	vecs, err := a.s.embedder.Embed(ctx, embedWait, texts)
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
			one, err := a.vectors(ctx, list[i:i+1])
			if err != nil {
				return nil, err
			}
			out = append(out, one...)
		}
		return out, nil
	}
	for i, v := range vecs {
		if len(v) > 0 { // a text may have nothing to embed
			out = append(out, oplog.Embedded{Seq: list[i].Seq, Revision: list[i].Revision, Vector: oplog.MakeVector(v)})
		}
	}
	return out, nil
}
