package raft

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	hraft "github.com/hashicorp/raft"
	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
)

// A journal stands before the log's file. That file needs two syncs for a transaction, of pages all over it; the journal
// needs one, of bytes that follow on the last ones in a place the disk has already given. Records stay in it, and in
// memory, until it is full; then they go into the file in one transaction, and the journal begins anew.
//
// What does not follow on the log's end, what is so large that a second sync is little beside it, the votes and what is
// deleted go to the file at once, after what was before them: so a record that the journal has and the file has not is
// always one of its end.
type journal struct {
	*summed
	f      *os.File
	sync   func(*os.File) error
	size   int64
	leads  func() bool // whether records need not be synced before they are sent on; see early.go
	failed func(error) // told of a sync that failed and nobody waited for

	turn chan struct{} // of those who write; a disk takes its time, so nobody waits for it in a mutex
	gen  uint64
	at   int64  // where the next frame goes
	buf  []byte // the frame
	last uint64 // the log's last record; 0 for none
	kept uint64 // the last record for the state that the log's file has; what the header says

	mu      sync.RWMutex
	pending []*hraft.Log // what the file has not yet, one after the other

	flying atomic.Pointer[flight]
}

// keyJournal says in the log's file that a journal belongs to it: one that is gone took records with it.
var keyJournal = []byte("cairn journal")

func journalPath(log string) string { return log + ".journal" }

var (
	errJournal  = errors.New("journal damaged")
	errUnsynced = errors.New("sync of the journal")
	errUnkept   = errors.New("what the journal holds was not put into the log's file")
)

// openJournal puts the journal before an open file, and into that what a crash left in the journal.
func openJournal(s *summed, path string, cfg Config, leads func() bool, failed func(error)) (_ *journal, err error) {
	j := &journal{summed: s, leads: leads, failed: failed, size: journalHead + cfg.JournalBytes, sync: syncData, turn: make(chan struct{}, 1)}
	if cfg.NoSync {
		j.sync = func(*os.File) error { return nil }
	}
	if j.last, err = s.LastIndex(); err != nil {
		return nil, err
	}
	if j.kept, err = s.lastForState(math.MaxUint64); err != nil {
		return nil, err
	}
	open := cfg.OpenFile
	if open == nil {
		open = os.OpenFile
	}
	_, err = s.Get(keyJournal)
	known := err == nil
	if err != nil && !errors.Is(err, raftboltdb.ErrKeyNotFound) {
		return nil, err
	}
	j.f, err = open(path, os.O_RDWR, 0o600)
	switch {
	case err == nil && !known:
		err = fmt.Errorf("%w: the log does not know %s", errJournal, path)
	case err == nil:
		err = j.recover()
	case !errors.Is(err, fs.ErrNotExist):
	case known && s.used():
		err = fmt.Errorf("%w: %s is gone", errJournal, path)
	default:
		if err = s.Set(keyJournal, []byte("1")); err == nil {
			err = j.create(path, open)
		}
	}
	if err != nil {
		if j.f != nil {
			err = errors.Join(err, j.f.Close())
		}
		return nil, err
	}
	return j, nil
}

// create makes an empty journal. Its bytes are written once, so that later writes change nothing but them.
func (j *journal) create(path string, open func(string, int, os.FileMode) (*os.File, error)) (err error) {
	next := path + ".new"
	if j.f, err = open(next, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if _, err := j.f.WriteAt(make([]byte, j.size), 0); err != nil {
		return err
	}
	var seed [8]byte
	_, _ = rand.Read(seed[:])                     // never fails
	j.gen = binary.BigEndian.Uint64(seed[:]) >> 1 // nobody who writes memories can guess it, so none looks like a frame
	if err := j.anew(); err != nil {
		return err
	}
	return errors.Join(j.f.Sync(), os.Rename(next, path), syncDir(filepath.Dir(path)))
}

// recover puts what the journal holds into the file.
func (j *journal) recover() error {
	info, err := j.f.Stat()
	if err != nil {
		return err
	}
	raw := make([]byte, min(info.Size(), maxJournal))
	if _, err := io.ReadFull(j.f, raw); err != nil {
		return err
	}
	var logs []*hraft.Log
	if j.gen, logs, err = readJournal(raw); err != nil {
		return err
	}
	j.size = int64(len(raw))
	for len(logs) > 0 && logs[0].Index <= j.last {
		logs = logs[1:] // a crash came between the file's sync and the journal's
	}
	if len(logs) > 0 && logs[0].Index != j.last+1 {
		return fmt.Errorf("%w: it goes on at record %d, and the log ends at %d", errJournal, logs[0].Index, j.last)
	}
	if len(logs) > 0 {
		j.pending, j.last = logs, logs[len(logs)-1].Index
	}
	err = j.flush()
	if lacksRoom(err) { // they stay where they are, and the next record tries again
		j.at = j.size
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errUnkept, err)
	}
	return nil
}

// StoreLog implements hraft.LogStore.
func (j *journal) StoreLog(l *hraft.Log) error { return j.StoreLogs([]*hraft.Log{l}) }

// StoreLogs implements hraft.LogStore.
func (j *journal) StoreLogs(logs []*hraft.Log) error {
	if err := j.lock(); err != nil {
		return err
	}
	defer j.unlock()
	if len(logs) == 0 {
		return nil
	}
	size := int64(frameSize(logs))
	if !follow(j.last, logs) || size > j.size/16 {
		if err := j.flush(); err != nil {
			return err
		}
		err := j.summed.StoreLogs(logs)
		if err == nil {
			j.last, err = j.summed.LastIndex()
		}
		if err != nil || !j.keeps(logs) {
			return err
		}
		return j.anew()
	}
	if j.at+size > j.size {
		if err := j.flush(); err != nil {
			return err
		}
	}
	j.buf = appendFrame(j.buf[:0], j.gen, logs)
	if err := j.write(j.buf, j.at); err != nil {
		return err
	}
	if j.mayFly(logs) {
		j.fly(logs[0].Index)
	} else if err := j.synced(); err != nil {
		return err
	}
	j.at += size
	j.last = logs[len(logs)-1].Index
	j.mu.Lock()
	j.pending = append(j.pending, logs...)
	j.mu.Unlock()
	return nil
}

// follow says whether records go on where a log ends that has some.
func follow(last uint64, logs []*hraft.Log) bool {
	for _, l := range logs {
		if last == 0 || l.Index != last+1 {
			return false
		}
		last++
	}
	return true
}

// flush puts the records into the file, and then out of the journal. Its caller has the turn.
func (j *journal) flush() error {
	if err := j.fill(); err != nil {
		return err
	}
	return j.empty()
}

// fill puts the records into the file.
func (j *journal) fill() error {
	if len(j.pending) == 0 {
		return nil
	}
	if err := j.summed.StoreLogs(j.pending); err != nil {
		return err
	}
	j.keeps(j.pending)
	return nil
}

// empty takes records out of the journal that the file has.
func (j *journal) empty() error {
	if err := j.anew(); err != nil {
		return err
	}
	j.mu.Lock()
	j.pending = nil
	j.mu.Unlock()
	return nil
}

// keeps notes that the file has records, and says whether one of them is for the state.
func (j *journal) keeps(logs []*hraft.Log) (some bool) {
	for _, l := range logs {
		if forState(l) {
			j.kept, some = l.Index, true
		}
	}
	return some
}

// anew begins the journal's next generation: frames of the one before count no more.
func (j *journal) anew() error {
	if err := j.put(journalHeader(j.gen+1, j.size, j.kept), 0); err != nil {
		return err
	}
	j.gen, j.at = j.gen+1, journalHead
	return nil
}

// put writes into the journal, and waits until the disk has it.
func (j *journal) put(b []byte, at int64) error {
	if err := j.write(b, at); err != nil {
		return err
	}
	return j.synced()
}

func (j *journal) write(b []byte, at int64) error {
	return j.disk("write", func() error {
		_, err := j.f.WriteAt(b, at)
		return err
	})
}

func (j *journal) synced() error {
	if err := j.disk("sync", func() error { return j.sync(j.f) }); err != nil {
		return fmt.Errorf("%w: %w", errUnsynced, err)
	}
	return nil
}

// lock takes the turn, which begins when what the last one left under way is on the disk.
func (j *journal) lock() error {
	j.turn <- struct{}{}
	err := j.flight().wait()
	if err != nil {
		j.unlock()
	}
	return err
}

func (j *journal) unlock() { <-j.turn }

// LastIndex implements hraft.LogStore.
func (j *journal) LastIndex() (uint64, error) {
	if l := j.newest(); l != nil {
		return l.Index, nil
	}
	return j.summed.LastIndex()
}

func (j *journal) newest() *hraft.Log {
	j.mu.RLock()
	defer j.mu.RUnlock()
	if len(j.pending) == 0 {
		return nil
	}
	return j.pending[len(j.pending)-1]
}

// GetLog implements hraft.LogStore.
func (j *journal) GetLog(index uint64, l *hraft.Log) error {
	j.mu.RLock()
	if len(j.pending) > 0 && index >= j.pending[0].Index {
		defer j.mu.RUnlock()
		at := index - j.pending[0].Index
		if at >= uint64(len(j.pending)) {
			return hraft.ErrLogNotFound
		}
		*l = *j.pending[at]
		return nil
	}
	j.mu.RUnlock()
	return j.summed.GetLog(index, l)
}

// DeleteRange implements hraft.LogStore. The header says before a cut what the file has after it: none of those records counts.
func (j *journal) DeleteRange(first, last uint64) error {
	if err := j.lock(); err != nil {
		return err
	}
	defer j.unlock()
	if err := j.fill(); err != nil {
		return err
	}
	if last >= j.last {
		var err error
		if j.kept, err = j.summed.lastForState(first); err != nil {
			return err
		}
	}
	if err := j.empty(); err != nil {
		return err
	}
	err := j.summed.DeleteRange(first, last)
	if err == nil {
		j.last, err = j.summed.LastIndex()
	}
	return err
}

// Close leaves the journal empty.
func (j *journal) Close() error {
	err := j.lock()
	if err == nil {
		defer j.unlock()
		err = j.flush()
	}
	return errors.Join(err, j.f.Close(), j.summed.Close())
}
