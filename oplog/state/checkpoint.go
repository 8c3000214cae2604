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

// A checkpoint is a named, read-only store that shares the live store's tables by hard links. Making it costs next to
// nothing. It takes space when the live store has merged its tables into others.

// CheckpointDir is the directory of the checkpoints, below the state's: hard links cannot cross file systems.
const CheckpointDir = "checkpoints"

// checkpoints tracks which checkpoints are in use: RetainCheckpoints removes those when the use ends.
type checkpoints struct {
	mu   sync.Mutex
	used map[string]int  // the number of users of each
	gone map[string]bool // to be removed when the last use ends
}

// A Pin keeps the live generation open, even if a restored snapshot replaces it.
type Pin struct {
	s    *State
	g    *generation
	once sync.Once
}

// Pin pins the live generation, to which Apply goes on writing.
func (s *State) Pin() (*Pin, error) {
	g, err := s.pin()
	if err != nil {
		return nil, err
	}
	return &Pin{s: s, g: g}, nil
}

// Release ends the pin. It may be called twice.
func (p *Pin) Release() { p.once.Do(p.g.unpin) }

// Checkpoint makes a checkpoint and returns the last record that it holds, which is at least the last one applied
// before the call. Apply goes on meanwhile. The next RetainCheckpoints removes the remains of a failure.
//
// Invariant: the rows of a checkpoint are flushed. The Raft log is cut only behind checkpoints, so never behind the
// state that a crash leaves.
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

// ReadCheckpoint streams a checkpoint as View.WriteSnapshot streams the state. Size is about the number of bytes.
// Close the stream. A checkpoint that does not end at index is damaged: with a truncated list of tables it would
// otherwise pass for an older state.
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
	go func() { // ends after the last row, or when the reader closes
		defer close(c.ended)
		defer done()
		w.CloseWithError(v.WriteSnapshot(w))
		v.Close()
		_ = g.Close() // nothing was written
	}()
	return c, size, nil
}

// Rebuildable reports whether a closed state can be rebuilt: one of its checkpoints is readable, or it has no
// checkpoint and the log has everything. It reads the checkpoints.
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

// Checkpoints returns the names of the checkpoints, including incomplete and half-removed ones.
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

// RetainCheckpoints removes all checkpoints but the named ones. One that is in use is removed when the use ends.
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

// useCheckpoint prevents the removal of a checkpoint until done is called.
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
			_ = s.removeCheckpoint(name) // the next RetainCheckpoints tries again
		}
	}
}
