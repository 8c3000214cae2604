package embedding

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
	"github.com/cairndb/cairn/oplog"
)

// models holds the embedders of this node: the configured one, the built-in one, and those in its folder. A model is
// opened when a database needs it.
type models struct {
	configured *embed.Guard // nil: none
	folder     string       // contains a directory for each model
	log        *slog.Logger

	opening    sync.Mutex // serializes the opening of models
	mu         sync.Mutex // guards the fields below; acquired after opening
	open       map[oplog.Embedder]*embed.Guard
	known      map[string]oplog.Embedder    // directory → identity of its model
	notFoundAt map[oplog.Embedder]time.Time // time of the last search that did not find the model
	searching  map[oplog.Embedder]struct{}  // models that a goroutine searches for
}

// rescanInterval is the interval after which the folder is read again for a missing model.
const rescanInterval = 15 * time.Second

func newModels(configured embed.Embedder, folder string, log *slog.Logger) *models {
	m := &models{folder: folder, log: log, open: map[oplog.Embedder]*embed.Guard{}, known: map[string]oplog.Embedder{},
		notFoundAt: map[oplog.Embedder]time.Time{}, searching: map[oplog.Embedder]struct{}{}}
	if configured != nil {
		m.configured = embed.NewGuard(configured)
		m.open[identity(configured)] = m.configured
	}
	return m
}

// identity returns the identity of an embedder as in the state.
func identity(e interface{ Identity() embed.Identity }) oplog.Embedder {
	i := e.Identity()
	return oplog.Embedder{Name: i.Name, Version: i.Version, Dim: uint32(i.Dim)}
}

// get returns an embedder, or nil if this node lacks it or has not opened it yet. It does not read files: it starts a
// goroutine that opens the model, and returns opening as true.
func (m *models) get(id oplog.Embedder) (g *embed.Guard, opening bool) {
	if id == oplog.NoEmbedder {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if g := m.open[id]; g != nil {
		return g, false
	}
	if builtin, err := embed.NewHashed(int(id.Dim)); err == nil && identity(builtin) == id {
		m.open[id] = embed.NewGuard(builtin)
		return m.open[id], false
	}
	if _, ok := m.searching[id]; ok {
		return nil, true
	}
	if time.Since(m.notFoundAt[id]) < rescanInterval || len(m.directories()) == 0 {
		return nil, false
	}
	m.searching[id] = struct{}{}
	go func() {
		g, err := m.find(func(_ string, candidate oplog.Embedder) bool { return candidate == id })
		m.mu.Lock()
		defer m.mu.Unlock()
		delete(m.searching, id)
		if g == nil {
			m.notFoundAt[id] = time.Now()
			m.log.Warn("a database's model is not here: its memories are stored without vectors and found by words",
				"model", id.String(), "folder", m.folder, "err", err)
		}
	}()
	return nil, true
}

// byName returns the embedder that a user names: by its full name, by its directory in the folder, as "builtin", or
// as "" for the configured one.
func (m *models) byName(name string) (*embed.Guard, error) {
	switch {
	case name == "" && m.configured == nil:
		return nil, errNoModel
	case name == "", m.configured != nil && name == m.configured.Identity().String():
		return m.configured, nil
	}
	if builtin, err := embed.NewHashed(0); err == nil && (name == "builtin" || name == builtin.Identity().String()) {
		g, _ := m.get(identity(builtin))
		return g, nil
	}
	g, err := m.find(func(directory string, candidate oplog.Embedder) bool {
		return name == directory || name == candidate.String()
	})
	if g == nil && err == nil {
		err = oplog.Errorf(oplog.Conflict,
			"this node has no model %s, it has %s: `cairn embed fetch` brings one into %s, on every node", name,
			strings.Join(m.names(), ", "), m.folder)
	}
	return g, err
}

var errNoModel = oplog.Errorf(oplog.Conflict,
	"this node has no embedder: name a model that `cairn embed fetch` brought, or configure one, [embedding] strategy and path, or start `cairn dev` with --embed")

// find opens the first model of the folder that matches. To learn their identities, it opens each of the others once.
func (m *models) find(matches func(directory string, candidate oplog.Embedder) bool) (*embed.Guard, error) {
	m.opening.Lock()
	defer m.opening.Unlock()
	var errs []error
	for _, dir := range m.directories() {
		m.mu.Lock()
		id, known := m.known[dir]
		g := m.open[id]
		m.mu.Unlock()
		if known && !matches(dir, id) {
			continue
		}
		if g != nil {
			return g, nil
		}
		model, err := embed.OpenDir(filepath.Join(m.folder, dir))
		if err != nil {
			errs = append(errs, fmt.Errorf("model %s: %w", dir, err))
			continue
		}
		id = identity(model)
		m.mu.Lock()
		m.known[dir] = id
		if g = m.open[id]; g == nil && matches(dir, id) {
			g = embed.NewGuard(model)
			m.open[id] = g
			m.log.Info("model opened", "model", id.String(), "directory", dir)
		}
		m.mu.Unlock()
		if matches(dir, id) {
			return g, nil
		}
	}
	return nil, errors.Join(errs...)
}

// directories returns the names of the models in the folder, without unfinished downloads.
func (m *models) directories() (names []string) {
	entries, err := os.ReadDir(m.folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.log.Debug("models", "folder", m.folder, "err", err)
	}
	for _, d := range entries {
		if info, err := os.Stat(filepath.Join(m.folder, d.Name())); err == nil && info.IsDir() && !strings.HasSuffix(d.Name(), ".part") {
			names = append(names, d.Name())
		}
	}
	return names
}

// names lists the names of this node's embedders: the configured one, the directories of its folder, and the built-in
// one.
func (m *models) names() (names []string) {
	if m.configured != nil {
		names = append(names, m.configured.Identity().String())
	}
	if names = append(names, m.directories()...); !slices.Contains(names, "builtin") {
		names = append(names, "builtin")
	}
	return names
}

// nameOf returns the name by which this node reports an embedder to the other members: its directory if it has one,
// or else its full name.
func (m *models) nameOf(id oplog.Embedder) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir, embedder := range m.known {
		if embedder == id {
			return dir
		}
	}
	return id.String()
}
