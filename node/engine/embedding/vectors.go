package embedding

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Config holds what embedding needs of the node around it. All fields but Embedder are needed.
type Config struct {
	Logger   *slog.Logger
	State    *state.State
	Index    *index.Index
	Embedder embed.Embedder // the configured one; nil: none
	Folder   string         // a directory for each model that cairn embed fetch brought

	Leads  func() bool
	Select func(c api.Caller, database string) (api.Caller, error)                   // puts a caller into a database that it may use
	Write  func(ctx context.Context, c api.Caller, op oplog.Op) (oplog.Index, error) // returns when this node finds what was written
	Peers  func(context.Context) []api.Peer                                          // as the other members report themselves
}

// Vectors makes the vectors of this node's databases.
type Vectors struct {
	cfg    Config
	models *models
}

// New returns the vectors of a node. It opens no model: each is opened when a database needs it.
func New(cfg Config) *Vectors {
	return &Vectors{cfg: cfg, models: newModels(cfg.Embedder, cfg.Folder, cfg.Logger)}
}

// writeTimeout bounds how long a write waits for the embedder. A memory is stored without a vector when it takes
// longer, and gets it afterwards.
const writeTimeout = 250 * time.Millisecond

// Add embeds the memories that have no vector of their client's.
func (v *Vectors) Add(ctx context.Context, c api.Caller, ops []*oplog.Remember) error {
	bare := slices.DeleteFunc(slices.Clone(ops), func(op *oplog.Remember) bool { return len(op.Vector) > 0 || op.Unsearchable || op.Held })
	vecs, err := v.Embed(ctx, c, api.Each(bare, func(op *oplog.Remember) string { return op.Text })...)
	if err != nil {
		return err
	}
	for i, op := range bare {
		op.Vector = vecs[i]
	}
	return nil
}

// Embed makes vectors for texts with the database's embedder, for as many as there is time for. What is left without
// one is found by its words, and by meaning once it is embedded afterwards: an embedder that fails never keeps a memory
// from being stored.
func (v *Vectors) Embed(ctx context.Context, c api.Caller, texts ...string) ([]oplog.Vector, error) {
	out := make([]oplog.Vector, len(texts))
	if len(texts) == 0 {
		return out, nil
	}
	g, err := v.bind(ctx, c)
	if g == nil || err != nil {
		return out, err
	}
	vecs, err := g.Embed(ctx, writeTimeout, texts)
	if err != nil {
		v.cfg.Logger.Debug("stored before it is embedded", "memories", len(texts), "err", err)
	}
	for i, vec := range vecs {
		if len(vec) > 0 {
			out[i] = oplog.MakeVector(vec)
		}
	}
	return out, nil
}

// bind returns what embeds the memories that this node stores, nil for nothing, and ties a database without vectors
// to the configured embedder. A database whose vectors come from its clients is left alone; one whose embedder this
// configured node cannot open is rejected, unless it changes to this node's: vectors of two embedders cannot be
// compared.
func (v *Vectors) bind(ctx context.Context, c api.Caller) (*embed.Guard, error) {
	now, err := v.cfg.State.Current(c.DB)
	d, configured := now.Database, v.models.configured
	switch {
	case err != nil:
		return nil, err
	case d.Embedder == nil && d.Dim == 0 && configured != nil:
		_, err := v.cfg.Write(ctx, c, &oplog.SetEmbedder{Embedder: identity(configured)})
		return configured, err
	case d.Embedder == nil || *d.Embedder == oplog.NoEmbedder:
		return nil, nil
	}
	g, opening := v.models.get(*d.Embedder)
	if g != nil || opening || configured == nil {
		return g, nil
	}
	self := identity(configured)
	if p := now.Embedding.Pending; p != nil && *p == self {
		return nil, nil
	}
	return nil, oplog.Errorf(oplog.Conflict,
		"database %s is embedded by %s, this node embeds by %s; cairn embed use changes that", d.Name, d.Embedder, &self)
}

// Makes reports whether this node makes the vectors of a database.
func (v *Vectors) Makes(d oplog.Database) bool { return v.embedderOf(d) != nil }

// embedderOf returns what makes a database's vectors, nil when this node cannot, or not yet.
func (v *Vectors) embedderOf(d oplog.Database) *embed.Guard {
	if d.Embedder == nil {
		return nil
	}
	g, _ := v.models.get(*d.Embedder)
	return g
}
