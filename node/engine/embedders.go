package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// embedders holds the embedders of this node: the embedder that it is configured with, the built-in one, and
// the models in its folder, each opened when a database needs it.
type embedders struct {
	configured *embed.Guard // nil: none
	folder     string       // of models, a directory each
	log        *slog.Logger

	opening sync.Mutex // held while models are opened: one is read at a time
	mu      sync.Mutex // guards what follows; taken under opening
	open    map[oplog.Embedder]*embed.Guard
	known   map[string]oplog.Embedder    // what a directory's model is
	missed  map[oplog.Embedder]time.Time // when one was looked for in vain
	sought  map[oplog.Embedder]struct{}  // being looked for
}

// lookAgain is the interval after which the folder is read again for a missing model.
const lookAgain = 15 * time.Second

func newEmbedders(configured embed.Embedder, folder string, log *slog.Logger) *embedders {
	e := &embedders{folder: folder, log: log, open: map[oplog.Embedder]*embed.Guard{}, known: map[string]oplog.Embedder{},
		missed: map[oplog.Embedder]time.Time{}, sought: map[oplog.Embedder]struct{}{}}
	if configured != nil {
		e.configured = embed.NewGuard(configured)
		e.open[identity(configured)] = e.configured
	}
	return e
}

// identity is an embedder as the state names it.
func identity(e interface{ Identity() embed.Identity }) oplog.Embedder {
	i := e.Identity()
	return oplog.Embedder{Name: i.Name, Version: i.Version, Dim: uint32(i.Dim)}
}

// get returns an embedder, nil when this node does not have it or has not opened it yet. It waits for no file: it
// begins to open the model, and says so.
func (e *embedders) get(id oplog.Embedder) (g *embed.Guard, opening bool) {
	if id == oplog.NoEmbedder {
		return nil, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if g := e.open[id]; g != nil {
		return g, false
	}
	if builtin, err := embed.NewHashed(int(id.Dim)); err == nil && identity(builtin) == id {
		e.open[id] = embed.NewGuard(builtin)
		return e.open[id], false
	}
	if _, ok := e.sought[id]; ok {
		return nil, true
	}
	if time.Since(e.missed[id]) < lookAgain || len(e.directories()) == 0 {
		return nil, false
	}
	e.sought[id] = struct{}{}
	go func() {
		g, err := e.find(func(_ string, has oplog.Embedder) bool { return has == id })
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.sought, id)
		if g == nil {
			e.missed[id] = time.Now()
			e.log.Warn("a database's model is not here: its memories are stored without vectors and found by words", "model", id.String(), "folder", e.folder, "err", err)
		}
	}()
	return nil, true
}

// named returns the embedder that a person means: by its full name, by the directory's name in the folder of models,
// builtin, or blank for the configured one.
func (e *embedders) named(name string) (*embed.Guard, error) {
	switch {
	case name == "" && e.configured == nil:
		return nil, errNoModel
	case name == "", e.configured != nil && name == e.configured.Identity().String():
		return e.configured, nil
	}
	if builtin, err := embed.NewHashed(0); err == nil && (name == "builtin" || name == builtin.Identity().String()) {
		g, _ := e.get(identity(builtin))
		return g, nil
	}
	g, err := e.find(func(directory string, has oplog.Embedder) bool { return name == directory || name == has.String() })
	if g == nil && err == nil {
		err = oplog.Errorf(oplog.Conflict, "this node has no model %s, it has %s: `cairn embed fetch` brings one into %s, on every node", name, strings.Join(e.names(), ", "), e.folder)
	}
	return g, err
}

var errNoModel = oplog.Errorf(oplog.Conflict, "this node has no embedder: name a model that `cairn embed fetch` brought, or configure one, [embedding] strategy and path, or start `cairn dev` with --embed")

// find opens the first model of the folder that is meant. It opens others to learn what they are, once each.
func (e *embedders) find(meant func(directory string, has oplog.Embedder) bool) (*embed.Guard, error) {
	e.opening.Lock()
	defer e.opening.Unlock()
	var errs []error
	for _, dir := range e.directories() {
		e.mu.Lock()
		id, known := e.known[dir]
		g := e.open[id]
		e.mu.Unlock()
		if known && !meant(dir, id) {
			continue
		}
		if g != nil {
			return g, nil
		}
		model, err := embed.OpenDir(filepath.Join(e.folder, dir))
		if err != nil {
			errs = append(errs, fmt.Errorf("model %s: %w", dir, err))
			continue
		}
		id = identity(model)
		e.mu.Lock()
		e.known[dir] = id
		if g = e.open[id]; g == nil && meant(dir, id) {
			g = embed.NewGuard(model)
			e.open[id] = g
			e.log.Info("model opened", "model", id.String(), "directory", dir)
		}
		e.mu.Unlock()
		if meant(dir, id) {
			return g, nil
		}
	}
	return nil, errors.Join(errs...)
}

// directories are the names of the models in the folder; those that are being fetched have another ending.
func (e *embedders) directories() (names []string) {
	entries, err := os.ReadDir(e.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.log.Debug("models", "folder", e.folder, "err", err)
	}
	for _, d := range entries {
		if info, err := os.Stat(filepath.Join(e.folder, d.Name())); err == nil && info.IsDir() && !strings.HasSuffix(d.Name(), ".part") {
			names = append(names, d.Name())
		}
	}
	return names
}

// names lists this node's embedders, for a person: the configured embedder, then the directories of its folder,
// then the built-in one.
func (e *embedders) names() (names []string) {
	if e.configured != nil {
		names = append(names, e.configured.Identity().String())
	}
	if names = append(names, e.directories()...); !slices.Contains(names, "builtin") {
		names = append(names, "builtin")
	}
	return names
}

// nameOf is the name among names that an embedder has on this node, which other nodes may have it by too.
func (e *embedders) nameOf(id oplog.Embedder) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for dir, has := range e.known {
		if has == id {
			return dir
		}
	}
	return id.String()
}

// embedderStatus is that of the configured embedder; nil on a node without one.
func (s *Service) embedderStatus() *api.Embedder {
	g := s.embedders.configured
	if g == nil {
		return nil
	}
	return &api.Embedder{Name: g.Identity().String(), EmbedderState: s.stateOf(g)}
}

// stateOf returns the health of an embedder.
func (s *Service) stateOf(g *embed.Guard) api.EmbedderState {
	is := g.State()
	out := api.EmbedderState{Up: !is.Down, Queue: s.unembedded(g), Failures: is.Failures}
	if !is.ErrorAt.IsZero() {
		out.LastError, out.LastErrorAt = &is.LastError, new(float64(is.ErrorAt.UnixMilli())/1e3)
	}
	return out
}

// unembedded counts the memories that wait for a vector of an embedder.
func (s *Service) unembedded(g *embed.Guard) (n uint64) {
	dbs, _ := read(s, (*state.View).Databases) // a closing state has none
	for _, d := range dbs {
		if s.embedsFor(d) == g {
			have, of := s.index.WithVectors(d.ID)
			n += uint64(of - have)
		}
	}
	return n
}

// withoutVector counts the memories of a database that wait for a vector.
func withoutVector(s *Service, _ *state.View, d oplog.Database) (float64, bool) {
	if s.embedsFor(d) == nil {
		return 0, false
	}
	have, of := s.index.WithVectors(d.ID)
	return float64(of - have), true
}

// embedderCheck is a line of the deep health. It does not change the verdict: without its embedder a node still stores,
// and finds by words.
func (s *Service) embedderCheck() api.Check {
	start, is := time.Now(), s.embedderStatus()
	c := api.Check{Check: "embedder", Pass: is.Up, Millis: millis(time.Since(start)), Required: new(bool), EmbedderState: &is.EmbedderState}
	if !is.Up && is.LastError != nil {
		c.Error = *is.LastError
	}
	return c
}
