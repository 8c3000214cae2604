package oplog

import (
	"errors"
	"fmt"
	"time"

	"github.com/cairndb/cairn/oplog/boltfile"
)

// The log has every record on a majority's disks before it is applied, so Apply need not sync what can be applied again.
// The flusher takes a checkpoint of the file a moment after it changed; a node that crashed goes on from there and is
// given the records behind it once more.

// syncDelay is how long a change may wait for its checkpoint: records of so long are applied again after a crash.
const syncDelay = 100 * time.Millisecond

// durable keeps the file's checkpoints. Its fields belong to the holder of State.cp.
type durable struct {
	*boltfile.Checkpoint       // nil: the file is synced at every commit
	err                  error // of the checkpoint that failed: the file is in doubt
	kick                 chan struct{}
	stop, done           chan struct{}
}

// startFlusher begins checkpoints of the open file.
func (s *State) startFlusher() error {
	if err := s.checkpoints(); err != nil {
		return err
	}
	s.d.kick, s.d.stop, s.d.done = make(chan struct{}, 1), make(chan struct{}), make(chan struct{})
	go s.flusher() // ends with stopFlusher
	return nil
}

func (s *State) checkpoints() (err error) {
	if s.room == 0 {
		return nil
	}
	if s.d.Checkpoint, err = boltfile.Begin(s.db, boltfile.Syncing{Not: s.opts.NoSync, Around: s.opts.Sync}); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	return nil
}

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
		_ = s.flush() // the next transaction says it
	}
}

// Flush puts all that was applied on the disk: whoever keeps files of their own that follow the state calls it first, so
// that no crash leaves those ahead.
func (s *State) Flush() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.flush()
}

func (s *State) flush() error {
	s.cp.Lock()
	defer s.cp.Unlock()
	if s.d.Checkpoint == nil || s.d.err != nil {
		return s.d.err
	}
	err := s.d.Take()
	if errors.Is(err, boltfile.ErrUnsynced) {
		s.d.err = err
	} else if err != nil {
		s.changed() // no harm done: the note before stands, and the next may be taken
	}
	return err
}

// fit is called before each transaction: a file whose checkpoint failed takes no more, and one that has outgrown its map
// goes on with a sync a commit.
func (s *State) fit() error {
	s.cp.Lock()
	defer s.cp.Unlock()
	if s.d.err == nil && s.d.Checkpoint != nil && s.size > s.room {
		s.d.err = s.d.End()
		s.d.Checkpoint = nil
	}
	return s.d.err
}

// changed says that there is something to take a checkpoint of.
func (s *State) changed() {
	select {
	case s.d.kick <- struct{}{}:
	default: // one is due
	}
}

// settleFile ends the checkpoints and closes the file, whole as it stands unless there is an error.
func (s *State) settleFile() error {
	s.cp.Lock()
	defer s.cp.Unlock()
	var err error
	switch {
	case s.d.Checkpoint == nil:
	case s.d.err != nil:
		err = s.d.Abandon()
	default:
		err = s.d.End()
	}
	s.d.Checkpoint = nil
	return errors.Join(s.d.err, err, s.db.Close()) // waits for open views
}

func (s *State) stopFlusher() {
	close(s.d.stop)
	<-s.d.done
}
