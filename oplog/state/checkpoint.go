package state

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A checkpoint is a store next to the live one that shares its tables: hard links, so it costs next to nothing when
// it is made, and the room of those of its tables that were merged into others since. It has a name, and is read
// only.

// CheckpointDir is the directory of the checkpoints, in the state's: links cross no disks.
const CheckpointDir = "checkpoints"

// checkpoints tracks which are being read or made: Retain leaves those until that ends.
type checkpoints struct {
	mu   sync.Mutex
	used map[string]int  // how often each is open
	gone map[string]bool // to be removed when it is not open any more
}

// A Pin keeps the rows that are live now open, while a snapshot that is installed may replace them.
type Pin struct {
	s    *State
	g    *generation
	once sync.Once
}

// Pin pins the live rows. They go on taking what is applied.
func (s *State) Pin() (*Pin, error) {
	g, err := s.pin()
	if err != nil {
		return nil, err
	}
	return &Pin{s: s, g: g}, nil
}

// Release ends the pin. It may be called twice.
func (p *Pin) Release() { p.once.Do(p.g.unpin) }

// Checkpoint makes a checkpoint and returns the last record that it holds: of those that were applied when it is
// called, or a later one. Apply goes on meanwhile. What a failure leaves goes with the next RetainCheckpoints.
//
// Invariant: what a checkpoint holds is flushed. The Raft log is cut behind checkpoints alone, and so never behind
// what a crash leaves of the state.
func (p *Pin) Checkpoint(name string) (index, term oplog.Index, err error) {
	root := filepath.Join(p.s.dir, CheckpointDir)
	if err := os.MkdirAll(root, 0o700); err != nil {
		return 0, 0, fmt.Errorf("checkpoint: %w", err)
	}
	done := p.s.useCheckpoint(name)
	defer done()
	dir := filepath.Join(root, name)
	if err := stateError(p.g.Checkpoint(dir)); err != nil {
		p.s.reportDamage(err)
		return 0, 0, err
	}
	g, m, err := p.s.open(dir, true)
	if err == nil {
		err = g.Close()
	}
	if err == nil && !p.s.opts.NoSync {
		err = errors.Join(syncwriter.Dir(root), syncwriter.Dir(p.s.dir))
	}
	if err != nil {
		return 0, 0, fmt.Errorf("checkpoint: %w", err)
	}
	return m.Index, m.Term, nil
}

// ReadCheckpoint streams a checkpoint as View.WriteSnapshot streams the state. Size is about how many bytes that takes.
// Close the stream. A checkpoint that does not end at index is damaged: without the end of its list of tables it would
// pass for an older state.
func (s *State) ReadCheckpoint(name string, index oplog.Index) (rows io.ReadCloser, size int64, err error) {
	return s.readCheckpoint(name, func(m position) error {
		if m.Index != index {
			return fmt.Errorf("%w: checkpoint %s ends at %d, want %d", ErrState, name, m.Index, index)
		}
		return nil
	})
}

func (s *State) readCheckpoint(name string, check func(position) error) (rows io.ReadCloser, size int64, err error) {
	done := s.useCheckpoint(name)
	g, m, err := s.open(filepath.Join(s.dir, CheckpointDir, name), true)
	if err != nil {
		done()
		return nil, 0, err
	}
	of := &State{dir: s.dir, live: g, damaged: s.damaged}
	var v *View
	if err = check(m); err == nil {
		v, err = of.View()
	}
	if err != nil {
		done()
		return nil, 0, errors.Join(err, g.Close())
	}
	r, w := io.Pipe()
	c := &checkpointReader{PipeReader: r, ended: make(chan struct{})}
	size = g.Size()
	go func() { // ends with the last row, or with the reader
		defer close(c.ended)
		defer done()
		w.CloseWithError(v.WriteSnapshot(w))
		v.Close()
		_ = g.Close() // nothing was written
	}()
	return c, size, nil
}

// Rebuildable reports whether a state that is not open could be built from one of its checkpoints, or needs none,
// because it has none. It reads them.
func Rebuildable(dir string, o Options) bool {
	s := &State{dir: dir, opts: o.withDefaults(), damaged: make(chan struct{}, 1), failed: make(chan error, 1)}
	names, err := s.Checkpoints()
	if err != nil || len(names) == 0 {
		return err == nil
	}
	return slices.ContainsFunc(names, func(name string) bool {
		in, _, err := s.readCheckpoint(name, func(position) error { return nil })
		if err == nil {
			err = receive(in, nil, func(_, _ []byte) error { return nil })
			err = errors.Join(err, in.Close())
		}
		return err == nil
	})
}

// checkpointReader is the stream of a checkpoint.
type checkpointReader struct {
	*io.PipeReader
	ended chan struct{}
}

// Close implements io.Closer. The files are closed when it returns.
func (c *checkpointReader) Close() error {
	err := c.PipeReader.Close()
	<-c.ended
	return err
}

// Checkpoints are the names of the checkpoints that there are; one may be half made, or half removed.
func (s *State) Checkpoints() (names []string, err error) {
	list, err := os.ReadDir(filepath.Join(s.dir, CheckpointDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// RetainCheckpoints removes all checkpoints but some. One that is being made or read goes when that ends.
func (s *State) RetainCheckpoints(names []string) error {
	all, err := s.Checkpoints()
	for _, name := range all {
		if !slices.Contains(names, name) {
			err = errors.Join(err, s.removeCheckpoint(name))
		}
	}
	return err
}

func (s *State) removeCheckpoint(name string) error {
	c := &s.checkpoints
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used[name] > 0 {
		if c.gone == nil {
			c.gone = map[string]bool{}
		}
		c.gone[name] = true
		return nil
	}
	delete(c.gone, name)
	return os.RemoveAll(filepath.Join(s.dir, CheckpointDir, name))
}

// useCheckpoint keeps a checkpoint from being removed until done.
func (s *State) useCheckpoint(name string) (done func()) {
	c := &s.checkpoints
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.used == nil {
		c.used = map[string]int{}
	}
	c.used[name]++
	return func() {
		c.mu.Lock()
		c.used[name]--
		last := c.used[name] == 0
		if last {
			delete(c.used, name)
		}
		gone := last && c.gone[name]
		c.mu.Unlock()
		if gone {
			_ = s.removeCheckpoint(name) // the next cleaning removes what is left
		}
	}
}
