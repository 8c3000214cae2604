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

// models holds the embedders of this node: the one that it is configured with, the built-in one, and those in its
// folder, each opened when a database needs it.
type models struct {
	configured *embed.Guard // nil: none
	folder     string       // of models, a directory each
	log        *slog.Logger

	opening    sync.Mutex // held while models are opened: one is read at a time
	mu         sync.Mutex // guards what follows; taken under opening
	open       map[oplog.Embedder]*embed.Guard
	known      map[string]oplog.Embedder    // what a directory's model is
	notFoundAt map[oplog.Embedder]time.Time // when one was looked for in vain
	searching  map[oplog.Embedder]struct{}  // being looked for
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

// identity is an embedder as the state names it.
func identity(e interface{ Identity() embed.Identity }) oplog.Embedder {
	i := e.Identity()
	return oplog.Embedder{Name: i.Name, Version: i.Version, Dim: uint32(i.Dim)}
}

// get returns an embedder, nil when this node does not have it or has not opened it yet. It waits for no file: it
// begins to open the model, and says so.
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
		g, err := m.find(func(_ string, has oplog.Embedder) bool { return has == id })
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

// byName returns the embedder that a person means: by its full name, by the directory's name in the folder of models,
// builtin, or blank for the configured one.
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
	g, err := m.find(func(directory string, has oplog.Embedder) bool { return name == directory || name == has.String() })
	if g == nil && err == nil {
		err = oplog.Errorf(oplog.Conflict,
			"this node has no model %s, it has %s: `cairn embed fetch` brings one into %s, on every node", name,
			strings.Join(m.names(), ", "), m.folder)
	}
	return g, err
}

var errNoModel = oplog.Errorf(oplog.Conflict,
	"this node has no embedder: name a model that `cairn embed fetch` brought, or configure one, [embedding] strategy and path, or start `cairn dev` with --embed")

// find opens the first model of the folder that is meant. It opens others to learn what they are, once each.
func (m *models) find(meant func(directory string, has oplog.Embedder) bool) (*embed.Guard, error) {
	m.opening.Lock()
	defer m.opening.Unlock()
	var errs []error
	for _, dir := range m.directories() {
		m.mu.Lock()
		id, known := m.known[dir]
		g := m.open[id]
		m.mu.Unlock()
		if known && !meant(dir, id) {
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
		if g = m.open[id]; g == nil && meant(dir, id) {
			g = embed.NewGuard(model)
			m.open[id] = g
			m.log.Info("model opened", "model", id.String(), "directory", dir)
		}
		m.mu.Unlock()
		if meant(dir, id) {
			return g, nil
		}
	}
	return nil, errors.Join(errs...)
}

// directories are the names of the models in the folder; those that are being fetched have another ending.
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

// names lists this node's embedders, for a person: the configured embedder, then the directories of its folder,
// then the built-in one.
func (m *models) names() (names []string) {
	if m.configured != nil {
		names = append(names, m.configured.Identity().String())
	}
	if names = append(names, m.directories()...); !slices.Contains(names, "builtin") {
		names = append(names, "builtin")
	}
	return names
}

// nameOf is the name among names that an embedder has on this node, which other nodes may have it by too.
func (m *models) nameOf(id oplog.Embedder) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir, has := range m.known {
		if has == id {
			return dir
		}
	}
	return id.String()
}
