package state

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/store"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// ErrState reports damaged files of the state. Move them aside and rebuild the state from a peer.
var ErrState = &oplog.Error{Kind: oplog.Corrupt, Text: "unreadable state"}

// ErrDisk says that the disk of the state's files has failed. The state accepts no more writes.
var ErrDisk = store.ErrFailed

// Options say how a node stores its state. The zero value is right for production.
type Options struct {
	RetainOps  int           // operations kept in the log window; default 1,000,000
	RetainTime time.Duration // how long they stay there; default 7 days
	NoSync     bool          // for tests that measure something else: a crash of the machine loses the state
	Keys       *seal.Ring    // keys that seal the files; nil: they are not sealed
	Buffer     int           // bytes of changes that gather in memory before they are flushed; default 8 MiB

	Records Records // reads the bytes of applied records; nil: the log cannot be read

	Skip map[oplog.Index]oplog.Digest // records that an operator has nodes skip; each skip is audited

	Step func(op, path string, do func() error) error // runs each change of a file; tests inject faults here
}

func (o Options) withDefaults() Options {
	if o.RetainOps == 0 {
		o.RetainOps = 1_000_000
	}
	if o.RetainTime == 0 {
		o.RetainTime = 7 * 24 * time.Hour
	}
	return o
}

func (o Options) store() store.Options {
	return store.Options{Keys: o.Keys, NoSync: o.NoSync, Buffer: o.Buffer, Step: o.Step}
}

// State holds all replicated data in one directory:
//
//	LOCK        locked while a process has the state open
//	1           a generation: the store that has the rows
//	restoring   the next one, while a snapshot is being restored
//	checkpoints stores that share tables with a generation, each under its name
//
// A restored snapshot becomes the next generation when it is complete: its directory gets the next number. Open
// removes all generations below the highest.
type State struct {
	dir  string
	opts Options
	lock *os.File

	mu   sync.RWMutex // held for writing only while live changes
	live *generation  // nil when the state is closed
	old  sync.WaitGroup

	posMu   sync.Mutex // guards pos and current: Apply sets them, all others read them
	pos     position
	current map[oplog.DB]Current // databases that Current was called for

	expiry map[oplog.DB]uint64 // by database, a time before which no idempotency key expires; Apply only
	cache  lookupCache         // Apply's
	tally  tally               // Apply only; here so that it reuses its buffers

	checkpoints checkpoints

	unreadable atomic.Uint64 // the window begins here: the log has lost the record before it

	damaged chan struct{} // receives when a reader met damage
	failed  chan error    // receives the error that ended writes
}

// A generation is a store and a count of the views that are open on it.
type generation struct {
	*store.Store
	number int
	dir    string
	views  sync.WaitGroup
}

// restoring is the directory name of an incomplete generation.
const restoring = "restoring"

// Open opens or creates the state in a directory.
func Open(dir string, o Options) (_ *State, err error) {
	s := &State{dir: dir, opts: o.withDefaults(), damaged: make(chan struct{}, 1), failed: make(chan error, 1)}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	if s.lock, err = lockDir(dir, lockWait); err != nil {
		return nil, fmt.Errorf("state %s: %w", dir, err)
	}
	defer func() {
		if err != nil {
			s.lock.Close()
		}
	}()
	number, err := s.removeOldGenerations()
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	g, m, err := s.open(filepath.Join(dir, strconv.Itoa(number)), false)
	if err != nil {
		return nil, err
	}
	g.number = number
	if err := syncwriter.Dir(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("state: %w", err), g.Close())
	}
	s.setGeneration(g, m)
	return s, nil
}

func (s *State) setGeneration(g *generation, m position) {
	s.live, s.pos, s.current, s.expiry = g, m, map[oplog.DB]Current{}, map[oplog.DB]uint64{}
	s.cache = newLookupCache()
}

// removeOldGenerations removes all generations but the newest, and returns its number.
func (s *State) removeOldGenerations() (newest int, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return 0, err
	}
	newest = 1
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			newest = max(newest, n)
		}
	}
	for _, e := range entries {
		if n, nerr := strconv.Atoi(e.Name()); nerr == nil && n < newest || e.Name() == restoring {
			err = errors.Join(err, os.RemoveAll(filepath.Join(s.dir, e.Name())))
		}
	}
	return newest, err
}

// open opens a generation, or a checkpoint, which is read only.
func (s *State) open(dir string, readOnly bool) (g *generation, m position, err error) {
	o := s.opts.store()
	o.ReadOnly = readOnly
	st, err := store.Open(dir, o, s.backgroundError)
	if err != nil {
		return nil, m, fmt.Errorf("state %s: %w", s.dir, stateError(err))
	}
	err = recoverDamage(func() (err error) {
		snap, err := st.Snapshot()
		if err != nil {
			return stateError(err)
		}
		defer snap.Close()
		t := newTxn(snap)
		if f := t.get(tMeta, 0, keyFormat); f != nil && beUint64(f) != stateFormat {
			return oplog.Errorf(oplog.TooOld,
				"its rows have format %d, and this version reads %d: export it with the version that wrote it, or run that one",
				beUint64(f), stateFormat)
		}
		m = t.position()
		return nil
	})
	if err != nil {
		return nil, m, errors.Join(fmt.Errorf("state %s: %w", s.dir, err), st.Close())
	}
	return &generation{Store: st, dir: dir}, m, nil
}

// backgroundError reports an error of the store's background tasks.
func (s *State) backgroundError(err error) {
	if err = stateError(err); errors.Is(err, ErrState) {
		s.reportDamage(err)
		return
	}
	pause.Offer(s.failed, err)
}

// Failed receives ErrDisk with its cause when the disk fails. Apply returns the same error.
func (s *State) Failed() <-chan error { return s.failed }

// Full returns the error of a full disk while flushes wait for space; nil otherwise.
func (s *State) Full() (full error) {
	_ = s.with(func(g *generation) error { full = g.Full(); return nil }) // a closed state waits for nothing
	return full
}

// stateError marks the store's ErrDamaged as ErrState too.
func stateError(err error) error {
	if errors.Is(err, store.ErrDamaged) && !errors.Is(err, ErrState) {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return err
}

// pin returns the live generation, and keeps it open until unpin.
func (s *State) pin() (*generation, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.live == nil {
		return nil, oplog.Errorf(oplog.Unavailable, "state is closed")
	}
	s.live.views.Add(1)
	return s.live, nil
}

func (g *generation) unpin() { g.views.Done() }

// with calls do with the live generation pinned.
func (s *State) with(do func(*generation) error) error {
	g, err := s.pin()
	if err != nil {
		return err
	}
	defer g.unpin()
	return stateError(do(g))
}

// Close flushes and closes the state. Views that are open keep it open until they end.
func (s *State) Close() error {
	s.mu.Lock()
	g := s.live
	s.live = nil
	s.mu.Unlock()
	if g == nil {
		return nil
	}
	g.views.Wait()
	err := stateError(g.Close())
	s.old.Wait()
	return errors.Join(err, s.lock.Close())
}

// Flush writes everything that was applied to the disk. The owner of files derived from the state calls it before it
// writes them, so that a crash never leaves them ahead of the state. The Raft log is cut only behind a checkpoint,
// which begins with a flush (Pin.Checkpoint).
func (s *State) Flush() error { return s.with(func(g *generation) error { return g.Flush() }) }

// Applied returns the index and term of the last record that was applied.
func (s *State) Applied() (index, term oplog.Index) {
	m := s.position()
	return m.Index, m.Term
}

// Last returns the time of the newest entry. A new leader's clock observes it.
func (s *State) Last() oplog.HLC { return s.position().Last }

// Sum returns the hash of the whole replicated state, and the index that it is of.
func (s *State) Sum() (oplog.Index, Sum) {
	m := s.position()
	return m.Index, m.Sum
}

func (s *State) position() position {
	s.posMu.Lock()
	defer s.posMu.Unlock()
	return s.pos
}

// IsCorrupt reports whether an error means a damaged file or record, and not a full or missing disk.
func IsCorrupt(err error) bool {
	return errors.Is(err, ErrState) || errors.Is(err, oplog.ErrRecord)
}
