package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync/atomic"
	"syscall"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"
	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"

	"github.com/cairndb/cairn/oplog/seal"
)

// Keys under which the library stores the current term and its last vote.
const (
	KeyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
	keyVote     = "LastVoteCand"
)

// votesFile is the name of the file with the term and the vote. votesKey is the only key in raft-boltdb's bucket of
// values: all values form one record with a checksum, so that a missing value counts as damage.
const (
	votesFile   = "votes.db"
	votesBucket = "conf"
	votesKey    = "votes"
)

// values holds the values of the library's keys.
type values map[string][]byte

// Votes stores a member's term and vote in a raft-boltdb file. It implements hraft.StableStore. A value is on disk when
// Set returns. One task at a time writes (turn); any task may read.
type Votes struct {
	path    string
	noSync  bool
	syncDir func() error // the log's
	keys    *seal.Ring
	turn    chan struct{}         // the disk is slow: no mutex is held across a write
	bolt    *raftboltdb.BoltStore // nil before the first write; the task that has the turn uses it
	values  atomic.Pointer[values]
}

// OpenVotes reads the file next to an open log. It returns ErrDamaged if the file is missing or damaged. Only a log
// that never had records may have no file. Then OpenVotes makes one; otherwise it needs no disk space.
func OpenVotes(log *Store, noSync bool) (*Votes, error) {
	v := &Votes{path: filepath.Join(log.dir, votesFile), noSync: noSync, syncDir: log.syncDir, keys: log.o.Keys,
		turn: make(chan struct{}, 1)}
	all, err := readVotes(v.path, v.keys)
	switch {
	case notExist(err) && log.hadRecords():
		err = fmt.Errorf("%w: it is gone", ErrDamaged)
	case notExist(err): // a new member, in term 0
		v.values.Store(&values{KeyTerm: make([]byte, 8), keyVoteTerm: make([]byte, 8), keyVote: nil})
		err = v.update(nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", votesFile, err)
	}
	v.values.CompareAndSwap(nil, &all)
	return v, nil
}

// readVotes reads the values. It opens the file without raft-boltdb, which also reads the list of free pages and
// writes: a changed bit in that list can name two billion pages, which bbolt then lists in memory. bbolt panics on some
// damaged pages, and faults on a page that refers to a page beyond the end of the file.
func readVotes(path string, keys *seal.Ring) (all values, err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 { // bbolt would begin a new file
		return nil, fmt.Errorf("%w: it is empty", ErrDamaged)
	}
	var file *os.File
	defer func() {
		if p := recover(); p != nil { // the mapping of bbolt stays, and would keep the lock
			all, err = nil, errors.Join(fmt.Errorf("%w: %v", ErrDamaged, p), syscall.Flock(int(file.Fd()), syscall.LOCK_UN), file.Close())
		}
	}()
	db, err := bbolt.Open(path, 0, &bbolt.Options{Timeout: lockTime, ReadOnly: true,
		OpenFile: func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
			file, err = os.OpenFile(name, flag, mode)
			return file, err
		}})
	if system := syscall.Errno(0); errors.Is(err, berrors.ErrTimeout) {
		return nil, ErrLocked
	} else if errors.As(err, &system) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	err = db.View(func(tx *bbolt.Tx) error {
		bucket := tx.Bucket([]byte(votesBucket))
		if bucket == nil {
			return fmt.Errorf("%w: it holds no vote", ErrDamaged)
		}
		b := bucket.Get([]byte(votesKey))
		if b == nil || int64(len(b)) > info.Size() {
			return fmt.Errorf("%w: it holds no vote", ErrDamaged)
		}
		return unpack(keys, b, &all)
	})
	return all, errors.Join(err, db.Close())
}

// write stores the values on disk. The first write replaces the file with a new one, so bbolt never writes into pages
// that a disk may have changed.
func (v *Votes) write(all values) error {
	if v.bolt != nil {
		return v.writeTo(v.bolt, all)
	}
	next := v.path + unfinished
	if err := os.Remove(next); err != nil && !notExist(err) { // of a write that failed
		return err
	}
	bolt, err := raftboltdb.New(raftboltdb.Options{Path: next, NoSync: v.noSync})
	if err != nil {
		return unsynced(err)
	}
	if err = v.writeTo(bolt, all); err == nil {
		err = os.Rename(next, v.path)
	}
	if err == nil {
		err = v.syncDir()
	}
	if err != nil {
		return errors.Join(err, bolt.Close())
	}
	v.bolt = bolt
	return nil
}

// writeTo stores the values in two transactions. If the page that names the newest transaction is damaged, bbolt uses
// the one before, which must not hold an older vote.
func (v *Votes) writeTo(bolt *raftboltdb.BoltStore, all values) error {
	b, err := pack(v.keys, all)
	for range 2 {
		if err == nil {
			err = bolt.Set([]byte(votesKey), b)
		}
	}
	return unsynced(err)
}

// unsynced makes an error of bbolt ErrUnsynced unless it is of a write: it may be of a sync.
func unsynced(err error) error {
	if wrote := (*fs.PathError)(nil); err == nil || errors.As(err, &wrote) {
		return err
	}
	return fmt.Errorf("%s: %w: %w", votesFile, ErrUnsynced, err)
}

// update replaces some of the values; if some is nil, it rewrites all of them unchanged. The library may vote
// meanwhile.
func (v *Votes) update(some values) error {
	v.turn <- struct{}{}
	defer func() { <-v.turn }()
	all := maps.Clone(*v.values.Load())
	maps.Copy(all, some)
	err := v.write(all)
	if err == nil {
		v.values.Store(&all)
	}
	return err
}

// Get implements hraft.StableStore.
func (v *Votes) Get(key []byte) (val []byte, err error) { return (*v.values.Load())[string(key)], nil }

// Set implements hraft.StableStore.
func (v *Votes) Set(key, val []byte) error { return v.update(values{string(key): val}) }

// SetUint64 implements hraft.StableStore.
func (v *Votes) SetUint64(key []byte, val uint64) error {
	return v.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 implements hraft.StableStore.
func (v *Votes) GetUint64(key []byte) (uint64, error) { return v.values.Load().number(string(key)) }

func (a values) number(key string) (uint64, error) {
	if len(a[key]) != 8 {
		return 0, fmt.Errorf("%q: %w: a number of %d bytes", key, ErrDamaged, len(a[key]))
	}
	return binary.BigEndian.Uint64(a[key]), nil
}

// Copy copies another member's values.
func (v *Votes) Copy(from *Votes) error { return v.update(*from.values.Load()) }

// Reseal writes the values under the active key.
func (v *Votes) Reseal() error { return v.update(nil) }

// Close closes the file.
func (v *Votes) Close() error {
	v.turn <- struct{}{}
	defer func() { <-v.turn }()
	if v.bolt == nil {
		return nil
	}
	return v.bolt.Close()
}

// VotedTerm returns the newest term in a directory's file, current or of a vote; 0 if the file cannot be read.
func VotedTerm(dir string, keys *seal.Ring) (term uint64) {
	all, err := readVotes(filepath.Join(dir, votesFile), keys)
	if err != nil {
		return 0
	}
	for _, key := range []string{KeyTerm, keyVoteTerm} {
		if t, err := all.number(key); err == nil {
			term = max(term, t)
		}
	}
	return term
}
