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
	Keys   *seal.Ring // keys that seal the files; nil: they are not sealed
	NoSync bool       // for tests that measure something else: a crash of the machine loses the store
	Buffer int        // bytes that gather in memory before they are flushed; default 8 MiB

	ReadOnly bool // for a checkpoint: no file is changed

	// Step runs each change of a file: create, write, sync, link, rename, remove. Tests inject faults here.
	Step func(op, path string, do func() error) error

	fs vfs.FS // the file system below; nil: the disk
}

// flushDelay bounds the time until a write is flushed. After a crash the log replays unflushed writes, which is
// slower than reading them from the disk. But each small flush costs a merge later, so flushes are rare.
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

	checkpoints sync.WaitGroup // being made

	buffer    int // Options.Buffer
	mu        sync.Mutex
	unflushed int               // bytes that were committed since the last flush began
	flushes   []<-chan struct{} // running, the oldest first; each is closed when it ends

	flushing chan struct{} // holds one value while Flush runs
	once     sync.Once
	stop     chan struct{}
	done     chan struct{}
	closed   error
}

// Open opens or creates the store in a directory. The caller must have locked the directory against other processes.
// Report, unless nil, gets the errors of background tasks: damage (ErrDamaged) and a failed disk (ErrFailed).
func Open(dir string, o Options, report func(error)) (*Store, error) {
	d := newDisk(o)
	d.dir, d.report = filepath.Clean(dir), report
	s := &Store{dir: dir, disk: d, report: report, flushing: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	p := s.options(o)
	if err := checkSeal(d.FS, dir, o.Keys); err != nil {
		return nil, err
	}
	// Pebble takes the memory of its buffers from the cache: of the one being written and of those being flushed.
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

// openDB opens pebble's database. Pebble ignores some errors of the disk, so openDB checks for them.
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
	// Peek returns the value of a key, valid until the reader is next used or closed; ok is false if there is none.
	Peek(key []byte) (value []byte, ok bool, err error)
	// Walk visits the rows from lower to upper, exclusive, or backwards, until f returns false. The slices are valid
	// until f returns.
	Walk(lower, upper []byte, back bool, f func(key, value []byte) bool) error
}

func walk(it *pebble.Iterator, err error, back bool, f func(key, value []byte) bool) error {
	if err != nil {
		return damageError(err)
	}
	defer it.Close() // Error has returned its error
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

// Full returns the error of a full disk while the store waits for space; nil otherwise.
func (s *Store) Full() error { return s.disk.fullError() }

// Flush writes everything that was committed to the disk. On a full disk it returns an error instead of waiting.
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

// beginFlush starts a background flush of everything that was committed. It waits while too many others are running.
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

// awaitBuffer waits while too many buffers are being flushed, because the disk is slower than the writer. Pebble
// would also wait, but with its commit lock held, and for ever if the disk has failed.
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

// oldestFlush returns the flush to wait for; nil if another flush may begin.
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

// countWritten counts written bytes and starts a flush when the buffer is full. The next writer gets the error of a
// flush that cannot begin.
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

// flusher flushes at intervals of flushDelay.
func (s *Store) flusher() {
	defer close(s.done)
	for range pause.Ticks(s.stop, flushDelay) {
		_ = s.Flush() // the next writer gets the error
	}
}

// Close flushes and closes the store. All readers must have ended. If the disk has failed or is full, Close does not
// flush: the store then opens as of an earlier flush.
func (s *Store) Close() error { return s.closeAfter(s.Flush) }

// Abandon closes the store without a flush, as a crash would.
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

// Check verifies the checksum of every block of every table. It rests between tables, and returns the first damage.
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

// Size returns the approximate size of the files in bytes. It reads the directory, because pebble's own count waits
// while a list of tables is being written, and that may never end on a failed disk.
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
