package node

import (
	"context"
	"net/http"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// How the leader embeds what has no vector: memories that were stored while the embedder failed, and all of a database that was
// given another embedder.
const (
	embedBatch = 64   // texts at once
	embedLook  = 2000 // memories looked at for them
	embedAgain = time.Hour
	embedDoubt = time.Minute // longer than a write takes
)

// An Embedding is how far a database's memories have vectors of its embedder.
type Embedding struct {
	Embedder *oplog.Embedder // nil: its clients bring their vectors
	Rebound  bool            // it was given another embedder, and not all memories have been gone through
	Done, Of uint64          // memories gone through; Done is Of when it is not Rebound
}

// Embedding says how far a database's memories are embedded.
func (s *Service) Embedding(ctx context.Context, c Caller, database string) (e Embedding, err error) {
	target, err := s.Select(c, database)
	if err != nil {
		return e, err
	}
	err = s.read(ctx, c, Stale, func(v *oplog.View) error {
		d, ok := v.Database(target.DB)
		if !ok {
			return oplog.ErrNoDatabase
		}
		at := v.Embedding(target.DB)
		e.Embedder, e.Rebound = d.Embedder, at.Next != 0
		if e.Of = v.Stats(target.DB).NextSeq; e.Rebound {
			e.Of = uint64(at.Last)
		}
		if e.Done = e.Of; e.Rebound {
			e.Done = uint64(at.Next) - 1
		}
		return nil
	})
	return e, err
}

// Reembed gives a database to the embedder this node is configured with. Its memories are embedded anew in the background;
// meanwhile words find all of them, and vectors those that are done.
func (s *Service) Reembed(ctx context.Context, c Caller, database string) (Written, error) {
	if s.cfg.Embedder == nil {
		return Written{}, oplog.Errorf(oplog.Conflict, "this node has no embedder")
	}
	target, err := s.Select(c, database)
	if err != nil {
		return Written{}, err
	}
	w, err := s.write(ctx, target, write{scope: Admin, ops: []oplog.Op{&oplog.Rebind{Embedder: s.identity()}}})
	if err == nil {
		s.wantEmbedding()
	}
	return w, err
}

// wantEmbedding has the background look for memories without vectors soon.
func (s *Service) wantEmbedding() {
	select {
	case s.owed <- struct{}{}:
	default: // it is known
	}
}

// embedder is the background's memory of what there is to embed.
type embedder struct {
	led  bool
	last time.Time
	till time.Time // there may be something new until then: a memory whose embedding failed is stored a moment later
}

// due says, at a tick, whether to go through the databases.
func (e *embedder) due(leads bool) bool {
	newly := leads && !e.led
	e.led = leads
	return leads && (newly || time.Now().Before(e.till) || time.Since(e.last) >= embedAgain)
}

// embedAll goes through all databases.
func (s *Service) embedAll(ctx context.Context, e *embedder) {
	e.last = time.Now()
	s.eachDatabase(ctx, "embed", func(ctx context.Context, c Caller) error {
		err := s.embedMissing(ctx, c)
		if err != nil {
			e.till = time.Now().Add(embedDoubt)
		}
		return err
	})
}

// embedMissing goes through a database and embeds what has no vector. It stops at the embedder's first failure, to go on later.
func (s *Service) embedMissing(ctx context.Context, c Caller) error {
	if s.cfg.Embedder == nil {
		return nil
	}
	d, err := s.databaseInfo(c.DB)
	if err != nil || d.Embedder == nil || *d.Embedder != s.identity() {
		return err
	}
	for from, told := oplog.Seq(0), time.Now(); ; {
		next, done, err := s.embedSome(ctx, c, from)
		if err != nil || done {
			return err
		}
		if from = next; time.Since(told) > 10*time.Second {
			told = time.Now()
			s.log.Info("embedding memories", "database", d.Name, "at", uint64(from))
		}
		if ctx.Err() != nil || !s.machine.leads() {
			return ctx.Err()
		}
	}
}

// embedSome embeds the first memories without a vector at or after from, and says where to go on.
func (s *Service) embedSome(ctx context.Context, c Caller, from oplog.Seq) (next oplog.Seq, done bool, err error) {
	var list []*oplog.Memory
	var at oplog.Embedding
	if err := s.state.Read(func(v *oplog.View) error {
		if at = v.Embedding(c.DB); at.Next > from {
			from = at.Next
		}
		list, next = v.Unembedded(c.DB, from, embedBatch, embedLook)
		return nil
	}); err != nil {
		return 0, false, err
	}
	op := &oplog.Embed{Embedder: s.identity(), From: from, Next: next}
	if done = next == 0; done {
		op.Next = at.Last + 1
	}
	if len(list) > 0 {
		texts := make([]string, len(list))
		for i, m := range list {
			texts[i] = m.Text
		}
		wait, cancel := context.WithTimeout(ctx, embedWait)
		defer cancel()
		vecs, err := s.cfg.Embedder.Embed(wait, texts)
		if err != nil {
			return 0, false, err
		}
		for i, v := range vecs {
			if len(v) > 0 { // a text may have nothing to embed
				op.Vectors = append(op.Vectors, oplog.Embedded{Seq: list[i].Seq, Revision: list[i].Revision, Vector: oplog.MakeVector(v)})
			}
		}
	}
	if len(op.Vectors) > 0 || at.Next != 0 {
		_, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{op}})
	}
	return next, done, err
}

func embeddingRow(name string, e Embedding) map[string]any {
	row := map[string]any{"database": name, "embedder": nil, "reembedding": e.Rebound, "done": e.Done, "of": e.Of}
	if e.Embedder != nil {
		row["embedder"] = e.Embedder.String()
	}
	return row
}

func getEmbedding(g *gateway, q *request) (any, error) {
	name := q.r.PathValue("name")
	e, err := g.s.Embedding(q.r.Context(), q.c, name)
	if err != nil {
		return nil, err
	}
	return embeddingRow(name, e), nil
}

func reembed(g *gateway, q *request) (any, error) {
	name := q.r.PathValue("name")
	w, err := g.s.Reembed(q.r.Context(), q.c, name)
	if err != nil {
		return nil, err
	}
	e, err := g.s.Embedding(q.r.Context(), q.c, name)
	if err != nil {
		return nil, err
	}
	row := embeddingRow(name, e)
	row["log_index"] = w.Index
	return row, nil
}

var embeddingRoutes = []route{
	{name: "embedding", method: http.MethodGet, path: "/v1/admin/databases/{name}/embedding", scope: Read, handle: getEmbedding,
		summary: "What embeds a database's memories, and how many it has gone through", result: embeddingKeys},
	{name: "reembed", method: http.MethodPost, path: "/v1/admin/databases/{name}/embedding", scope: Admin, write: true, handle: reembed,
		summary: "Give a database to this node's embedder and embed its memories anew, in the background", result: embeddingKeys + " log_index:integer!"},
}

const embeddingKeys = "database:string! embedder:string? reembedding:boolean! done:integer! of:integer!"
