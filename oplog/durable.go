package oplog

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog/boltfile"
)

// The log has every record on a majority's disks before it is applied, so Apply need not sync what can be applied again.
// The flusher takes a checkpoint of the file a moment after it changed; a node that crashed goes on from there and is
// given the records behind it once more.

// syncDelay is how long a change may wait for its checkpoint: records of so long are applied again after a crash.
const syncDelay = 100 * time.Millisecond

// durable keeps the file's checkpoints.
type durable struct {
	failed     atomic.Pointer[error] // why a checkpoint was not kept: the file is in doubt
	kick       chan struct{}
	stop, done chan struct{}
	once       sync.Once

	// turn is held by whoever uses the checkpoint. A sync takes its time, so nobody waits for the turn who holds State.mu.
	turn chan struct{}
	c    *boltfile.Checkpoint // nil: the file is synced at every commit
}

func newDurable() *durable {
	return &durable{kick: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), turn: make(chan struct{}, 1)}
}

func (d *durable) lock()   { d.turn <- struct{}{} }
func (d *durable) unlock() { <-d.turn }

func (d *durable) err() error {
	if p := d.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// checkpoints begins checkpoints of the open file. Its caller has the turn, or the state alone.
func (s *State) checkpoints() (err error) {
	if s.room == 0 {
		return nil
	}
	if s.d.c, err = boltfile.Begin(s.db, boltfile.Syncing{Not: s.opts.NoSync, Around: s.opts.Sync}); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

// flusher runs until stopFlusher.
func (s *State) flusher() {
	defer close(s.d.done)
	for {
		select {
		case <-s.d.kick:
		case <-s.d.stop:
			return
		}
		wait := time.NewTimer(syncDelay)
		select {
		case <-wait.C:
		case <-s.d.stop:
			wait.Stop()
			return
		}
		_ = s.Flush() // the next transaction says it
	}
}

// stopFlusher may be called twice.
func (s *State) stopFlusher() {
	s.d.once.Do(func() { close(s.d.stop) })
	<-s.d.done
}

// Flush puts all that was applied on the disk: whoever keeps files of their own that follow the state calls it first, so
// that no crash leaves those ahead. The ways to it are known by then.
func (s *State) Flush() error {
	s.followed()
	s.d.lock()
	defer s.d.unlock()
	if s.d.c == nil || s.d.err() != nil {
		return s.d.err()
	}
	err := s.d.c.Take()
	if errors.Is(err, boltfile.ErrUnsynced) {
		s.d.failed.Store(&err)
	} else if err != nil {
		s.changed() // no harm done: the note before stands, and the next may be taken
	}
	return err
}

// fit is called before each transaction: a file whose checkpoint failed takes no more, and one that has outgrown its map
// goes on with a sync a commit.
func (s *State) fit() error {
	if s.d.err() != nil || s.size <= s.room {
		return s.d.err()
	}
	s.d.lock()
	defer s.d.unlock()
	if err := s.endCheckpoints(); err != nil {
		s.d.failed.Store(&err)
	}
	return s.d.err()
}

// changed says that there is something to take a checkpoint of.
func (s *State) changed() {
	select {
	case s.d.kick <- struct{}{}:
	default: // one is due
	}
}

// endCheckpoints leaves the file whole as it stands, unless there is an error: then it is taken back to its last note when
// it is opened again. Its caller has the turn, and no transaction is under way.
func (s *State) endCheckpoints() (err error) {
	c := s.d.c
	if s.d.c = nil; c == nil {
		return s.d.err()
	}
	if err = s.d.err(); err != nil {
		return errors.Join(err, c.Abandon())
	}
	return c.End()
}
