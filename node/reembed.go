package node

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/oplog"
)

// How the leader embeds what has no vector: memories that were stored while the embedder failed or was too slow, and all of a
// database that was given another embedder.
const (
	embedBatch = 64   // texts at once, at most
	embedLook  = 2000 // memories looked at for them
	embedAgain = time.Hour
	embedWait  = 10 * time.Second // for the embedder's answer
)

// An Embedding is how far a database's memories have vectors of its embedder.
type Embedding struct {
	Embedder *oplog.Embedder // nil: its clients bring their vectors
	Rebound  bool            // it was given another embedder, and not all memories have been gone through
	Done, Of uint64          // memories that have a vector, of all that are not forgotten
	Missing  uint64          // those that the embedder still has to make vectors for
	State    *EmbedderStatus // of this node's embedder; nil when it has none
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
		e.Embedder, e.Rebound = d.Embedder, v.Embedding(target.DB).Next != 0
		return nil
	})
	have, of := s.index.WithVectors(target.DB)
	if e.Embedder != nil {
		e.Missing = uint64(of - have)
	}
	e.Done, e.Of, e.State = uint64(have), uint64(of), s.embedderStatus()
	return e, err
}

// Reembed gives a database to the embedder this node is configured with. Its memories are embedded anew in the background;
// meanwhile words find all of them, and vectors those that are done.
func (s *Service) Reembed(ctx context.Context, c Caller, database string) (Written, error) {
	if s.embedder == nil {
		return Written{}, oplog.Errorf(oplog.Conflict, "this node has no embedder")
	}
	target, err := s.Select(c, database)
	if err != nil {
		return Written{}, err
	}
	return s.write(ctx, target, write{scope: Admin, ops: []oplog.Op{&oplog.Rebind{Embedder: s.identity()}}})
}

// afterwards is the task's memory of what there is to embed.
type afterwards struct {
	s       *Service
	batch   int                    // texts at once: fewer while the embedder is too slow for more
	refused map[oplog.DB]int       // memories that it made no vector of, at the last look at all of them
	all     map[oplog.DB]time.Time // when that was
}

// embedAfterwards is the task that embeds what was stored without a vector. Every node asks its embedder whether it is back when it
// was not; the leader alone embeds.
func (s *Service) embedAfterwards(ctx context.Context) error {
	tick := time.NewTicker(s.cfg.Background.Embed)
	defer tick.Stop()
	a := &afterwards{s: s, batch: embedBatch, refused: map[oplog.DB]int{}, all: map[oplog.DB]time.Time{}}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		if s.embedder == nil {
			continue
		}
		if !s.embedder.State().Up {
			if _, err := s.embedder.Embed(ctx, embedWait, []string{"ready"}); err != nil {
				continue
			}
			s.log.Info("the embedder answers again")
		}
		s.eachDatabase(ctx, "embed", a.embedMissing)
	}
}

// embedMissing goes through a database and embeds what has no vector. It stops at the embedder's first failure, to go on later.
func (a *afterwards) embedMissing(ctx context.Context, c Caller) error {
	d, err := a.s.databaseInfo(c.DB)
	if err != nil || !a.s.embedsFor(d) {
		return err
	}
	var at oplog.Embedding
	if err := a.s.state.Read(func(v *oplog.View) error {
		at = v.Embedding(c.DB)
		return nil
	}); err != nil {
		return err
	}
	have, of := a.s.index.WithVectors(c.DB)
	if missing := of - have; at.Next == 0 && (missing == 0 || missing == a.refused[c.DB] && time.Since(a.all[c.DB]) < embedAgain) {
		return nil
	}
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
		if ctx.Err() != nil || !a.s.machine.leads() {
			return ctx.Err()
		}
	}
}

// embedSome embeds the first memories without a vector at or after from. It says where to go on, 0 for nowhere, and of how many the
// embedder made no vector.
func (a *afterwards) embedSome(ctx context.Context, c Caller, from oplog.Seq) (next oplog.Seq, none int, err error) {
	var list []*oplog.Memory
	var at oplog.Embedding
	if err := a.s.state.Read(func(v *oplog.View) error {
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
		_, err = a.s.write(ctx, c, write{scope: Write, ops: []oplog.Op{op}})
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
	case !errors.Is(err, embed.ErrRefused):
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

func embeddingRow(name string, e Embedding) map[string]any {
	row := e.State.row()
	row["database"], row["embedder"], row["reembedding"], row["done"], row["of"], row["missing"] = name, nil, e.Rebound, e.Done, e.Of, e.Missing
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
		summary: "What embeds a database's memories, how many have their vector, and how the embedder of this node does", result: embeddingKeys},
	{name: "reembed", method: http.MethodPost, path: "/v1/admin/databases/{name}/embedding", scope: Admin, write: true, handle: reembed,
		summary: "Give a database to this node's embedder and embed its memories anew, in the background", result: embeddingKeys + " log_index:integer!"},
}

const embeddingKeys = "database:string! embedder:string? reembedding:boolean! done:integer! of:integer! missing:integer! " + embedderKeys
