package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/seal"
)

// Options say how a store writes its files. The zero value is right for production.
type Options struct {
	Keys   *seal.Ring // what files are sealed with; nil: nothing
	NoSync bool       // for tests that measure something else: a crash of the machine loses the store
	Buffer int        // bytes that gather in memory before they are flushed; default 8 MiB

	ReadOnly bool // for a checkpoint: no file is changed

	// Step runs everything that changes a file: create, write, sync, link, rename, remove; a seam for faults.
	Step func(op, path string, do func() error) error

	fs vfs.FS // below all of it; the disk, outside of tests
}

// flushDelay bounds how long a change waits for its flush: what was written since is brought back by the log, which
// takes longer than to read it from the disk. A flush of few rows costs a merge later, so it is not done often.
const flushDelay = 20 * time.Second

// A Store is open until Close.
type Store struct {
	dir     string
	db      *pebble.DB
	disk    *disk
	reading sstable.ReaderOptions

	dirty   atomic.Bool // something was written since the last flush began
	damaged atomic.Pointer[error]
	report  func(error)

	counters counters
	cache    *pebble.Cache

	checkpoints sync.WaitGroup // that are being made

	buffer    int // Options.Buffer
	mu        sync.Mutex
	unflushed int               // bytes that were committed since the last flush began
	flushes   []<-chan struct{} // under way, the oldest first; each is closed when it has ended

	flushing chan struct{} // has one in it while a Flush is under way
	once     sync.Once
	stop     chan struct{}
	done     chan struct{}
	closed   error
}

// Open opens the store in a directory, which is made when it is not there. The caller has locked the directory: no
// other process has the store open. Report, unless nil, gets what background tasks meet: damage (ErrDamaged), and the
// failure of the disk (ErrFailed).
func Open(dir string, o Options, report func(error)) (*Store, error) {
	d := newDisk(o)
	d.dir, d.report = filepath.Clean(dir), report
	s := &Store{dir: dir, disk: d, report: report, flushing: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	p := s.options(o)
	if err := checkSeal(d.FS, dir, o.Keys); err != nil {
		return nil, err
	}
	// Pebble takes the room of buffers out of the cache: of the one that is written to, and of those that are being
	// flushed.
	s.cache = pebble.NewCache(p.CacheSize + (buffers+1)*int64(p.MemTableSize))
	p.Cache = s.cache
	db, err := openDB(dir, p, d)
	if err != nil {
		s.cache.Unref()
		return nil, err
	}
	if levels, err := db.SSTables(); err == nil {
		s.counters.setTables(levels)
	}
	s.db, s.reading = db, p.MakeReaderOptions()
	d.open.Store(true)
	go s.flusher() // ends with Close
	return s, nil
}

// openDB opens pebble's, which has taken some errors of the disk for none.
func openDB(dir string, o *pebble.Options, d *disk) (*pebble.DB, error) {
	db, err := pebble.Open(dir, o)
	switch failed := d.err(); {
	case failed != nil && db != nil:
		return nil, errors.Join(failed, db.Close())
	case failed != nil:
		return nil, failed
	}
	return db, openError(err)
}

// A Reader is a store at one point: a snapshot, or a batch over what was there.
type Reader interface {
	// Peek is the value of a key, until the reader is next used or closed; ok is false when there is none.
	Peek(key []byte) (value []byte, ok bool, err error)
	// Walk visits the rows from lower to upper, not included, or back, until f says stop. What f is given is valid
	// until it returns.
	Walk(lower, upper []byte, back bool, f func(key, value []byte) bool) error
}

func walk(it *pebble.Iterator, err error, back bool, f func(key, value []byte) bool) error {
	if err != nil {
		return damageError(err)
	}
	defer it.Close() // Error has said what it met
	begin, next := it.First, it.Next
	if back {
		begin, next = it.Last, it.Prev
	}
	for ok := begin(); ok; ok = next() {
		v, err := it.ValueAndErr()
		if err != nil {
			return damageError(err)
		}
		if !f(it.Key(), v) {
			return nil
		}
	}
	return damageError(it.Error())
}

// Err returns the reason why the store no longer accepts writes; nil while it does.
func (s *Store) Err() error { return s.disk.err() }

// Full is the error of a disk that has no room, while it is waited for.
func (s *Store) Full() error { return s.disk.fullError() }

// Flush returns when all that was committed is on the disk. It does not wait for a disk without room.
func (s *Store) Flush() error {
	s.flushing <- struct{}{}
	defer func() { <-s.flushing }()
	if err := s.diskError(); err != nil {
		return err
	}
	if !s.dirty.Swap(false) {
		return nil
	}
	flushed, err := s.beginFlush()
	if err != nil {
		s.dirty.Store(true)
		return err
	}
	for {
		stuck := s.disk.troubleBegins()
		if err := s.diskError(); err != nil {
			s.dirty.Store(true)
			return err
		}
		select {
		case <-flushed:
			return nil
		case <-stuck:
		}
	}
}

// beginFlush has what was committed flushed in the background, as soon as there are few enough other flushes under
// way.
func (s *Store) beginFlush() (flushed <-chan struct{}, err error) {
	if err := s.awaitBuffer(); err != nil {
		return nil, err
	}
	if flushed, err = s.db.AsyncFlush(); err != nil {
		return nil, damageError(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unflushed = 0
	s.flushes = append(s.flushes, flushed)
	return flushed, nil
}

// awaitBuffer waits while the disk is so much slower than the writer that there are too many buffers. Pebble would
// wait itself, with its commit lock held, and without end when the disk has failed.
func (s *Store) awaitBuffer() error {
	for {
		stuck := s.disk.troubleBegins()
		if err := s.diskError(); err != nil {
			return err
		}
		oldest := s.oldestFlush()
		if oldest == nil {
			return nil
		}
		begun := time.Now()
		select {
		case <-oldest:
		case <-stuck:
		}
		s.counters.stall(begun)
	}
}

// oldestFlush is nil while another may begin.
func (s *Store) oldestFlush() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushes = slices.DeleteFunc(s.flushes, func(f <-chan struct{}) bool {
		select {
		case <-f:
			return true
		default:
			return false
		}
	})
	if len(s.flushes) < buffers {
		return nil
	}
	return s.flushes[0]
}

// countWritten has a buffer flushed when it is full. The next writer gets the error of a disk that prevents it.
func (s *Store) countWritten(bytes int) {
	s.mu.Lock()
	s.unflushed += bytes
	full := s.unflushed >= s.buffer
	s.mu.Unlock()
	if full {
		_, _ = s.beginFlush()
	}
}

func (s *Store) diskError() error {
	if err := s.Err(); err != nil {
		return err
	}
	return s.Full()
}

// flusher flushes a while after something was written.
func (s *Store) flusher() {
	defer close(s.done)
	for range pause.Ticks(s.stop, flushDelay) {
		_ = s.Flush() // the next writer is told
	}
}

// Close flushes and closes the store, whose readers have ended. One whose disk has failed, or has no room, closes
// without: what was flushed before is there when it is opened again.
func (s *Store) Close() error { return s.closeAfter(s.Flush) }

// Abandon closes the store without a flush, for a store that is of no use any more, or to be left as a crash leaves
// it.
func (s *Store) Abandon() error { return s.closeAfter(func() error { return nil }) }

func (s *Store) closeAfter(flush func() error) error {
	s.once.Do(func() {
		close(s.stop)
		<-s.done
		err := flush()
		s.disk.close()
		s.checkpoints.Wait()
		if e := s.db.Close(); err == nil {
			err = damageError(e)
		}
		s.cache.Unref()
		s.closed = err
	})
	return s.closed
}

// Check reads every block of every table and compares it with its checksum, resting between tables. It returns the
// first damage that it finds.
func (s *Store) Check(ctx context.Context, rest func(read int64) time.Duration) error {
	levels, err := s.db.SSTables()
	if err != nil {
		return damageError(err)
	}
	var before time.Duration
	for _, level := range levels {
		for _, table := range level {
			if err := pause.For(ctx, before); err != nil {
				return err
			}
			path := s.tablePath(table)
			if err := s.checkTable(path); err != nil {
				if errors.Is(err, ErrDamaged) {
					s.counters.damage(path)
				}
				return err
			}
			before = rest(int64(table.Size))
		}
	}
	return nil
}

// Size returns the approximate size of the files in bytes. It asks the directory: pebble's own count waits behind a
// list of tables that is being written, for as long as a disk that failed keeps that from ending.
func (s *Store) Size() (n int64) {
	list, _ := os.ReadDir(s.dir) // what cannot be read is not counted
	for _, e := range list {
		if i, err := e.Info(); err == nil { // a table may have gone meanwhile
			n += i.Size()
		}
	}
	return n
}

// reportDamage stores the first damage and reports it.
func (s *Store) reportDamage(err error) {
	err = fmt.Errorf("%w: %w", ErrDamaged, err)
	if s.damaged.CompareAndSwap(nil, &err) && s.report != nil {
		s.report(err)
	}
}
