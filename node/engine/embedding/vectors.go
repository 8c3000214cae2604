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

// Config configures Vectors. All fields except Embedder are required.
type Config struct {
	Logger   *slog.Logger
	State    *state.State
	Index    *index.Index
	Embedder embed.Embedder // the configured embedder; nil: none
	Folder   string         // contains a directory for each model that cairn embed fetch downloaded

	Leads func() bool
	// Select selects a database that the caller may use.
	Select func(c api.Caller, database string) (api.Caller, error)
	// Write returns once this node's index has the write.
	Write func(ctx context.Context, c api.Caller, op oplog.Op) (oplog.Index, error)
	Peers func(context.Context) []api.Peer // the other members, as they report themselves
}

// Vectors embeds the memories and questions of this node's databases.
type Vectors struct {
	cfg    Config
	models *models
}

// New returns the Vectors of a node. A model is opened when a database needs it.
func New(cfg Config) *Vectors {
	return &Vectors{cfg: cfg, models: newModels(cfg.Embedder, cfg.Folder, cfg.Logger)}
}

// writeTimeout bounds the time that a write waits for the embedder. After it, the memory is stored without a vector,
// and the background task embeds it.
const writeTimeout = 250 * time.Millisecond

// Add embeds the memories for which the client sent no vector.
func (v *Vectors) Add(ctx context.Context, c api.Caller, ops []*oplog.Remember) error {
	missing := slices.DeleteFunc(slices.Clone(ops), func(op *oplog.Remember) bool { return len(op.Vector) > 0 || op.Unsearchable || op.Held })
	vecs, err := v.Embed(ctx, c, api.Each(missing, func(op *oplog.Remember) string { return op.Text })...)
	if err != nil {
		return err
	}
	for i, op := range missing {
		op.Vector = vecs[i]
	}
	return nil
}

// Embed embeds texts with the database's embedder, as many as it can within writeTimeout. The vectors of the others
// are empty, so that a failing embedder never prevents a memory from being stored. Such memories are found by their
// words, and by meaning once the background task has embedded them.
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

// bind returns the embedder for the memories that this node stores, or nil if they get no vectors now. It binds a
// database without vectors to the configured embedder. It leaves a database alone whose vectors come from its
// clients. If this node has another embedder than the database and cannot open that of the database, bind returns an
// error, because vectors of two embedders cannot be compared. The database may be changing to this node's embedder;
// then bind returns nil.
func (v *Vectors) bind(ctx context.Context, c api.Caller) (*embed.Guard, error) {
	current, err := v.cfg.State.Current(c.DB)
	d, configured := current.Database, v.models.configured
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
	if p := current.Embedding.Pending; p != nil && *p == self {
		return nil, nil
	}
	return nil, oplog.Errorf(oplog.Conflict,
		"database %s is embedded by %s, this node embeds by %s; cairn embed use changes that", d.Name, d.Embedder, &self)
}

// Makes reports whether this node embeds the memories of a database.
func (v *Vectors) Makes(d oplog.Database) bool { return v.embedderOf(d) != nil }

// embedderOf returns the embedder of a database, or nil if there is none or this node has not opened it.
func (v *Vectors) embedderOf(d oplog.Database) *embed.Guard {
	if d.Embedder == nil {
		return nil
	}
	g, _ := v.models.get(*d.Embedder)
	return g
}
