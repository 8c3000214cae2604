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

	"github.com/cairndb/cairn/oplog/boltfile"
	"github.com/cairndb/cairn/oplog/seal"
)

// The library's keys: the current term, and its last vote.
const (
	KeyTerm     = "CurrentTerm"
	keyVoteTerm = "LastVoteTerm"
	keyVote     = "LastVoteCand"
)

// votesFile is the name of the file beside the segments that has term and vote, and votesKey the one key in it: all values are one record, so
// that a missing one is damage.
const (
	votesFile = "votes.db"
	votesKey  = "votes"
)

// values are those of the library's keys.
type values map[string][]byte

// Votes keeps a member's term and vote in a raft-boltdb file. It implements hraft.StableStore. A value is on disk when Set returns. One task at a
// time writes (turn); any may read.
//
// bbolt's pages have no checksums. So the record has one, and the pages are checked before bbolt opens the file (readVotes) and before each write: bbolt
// reads them anew for each transaction, and one that says that it continues on others would make it free billions of them. What bbolt writes into
// is a file that this process has made.
type Votes struct {
	keys   *seal.Ring
	bolt   *raftboltdb.BoltStore // nil when bbolt has panicked: it may hold its locks for ever
	file   *os.File
	turn   chan struct{} // a disk takes its time, so no mutex is waited for
	values atomic.Pointer[values]
}

// OpenVotes opens the file beside an open log. ErrDamaged says that the file is gone or differs from what was written; it is left as
// it is. Only a log that never had records may be without one: a crash may have come before it was made.
func OpenVotes(log *Store, noSync bool) (*Votes, error) {
	path := filepath.Join(log.dir, votesFile)
	all, err := readVotes(path, log.o.Keys)
	isNew := notExist(err)
	switch {
	case isNew && log.hadRecords():
		return nil, fmt.Errorf("%w: %s is gone", ErrDamaged, votesFile)
	case isNew: // a member that has seen no term
		all = values{KeyTerm: make([]byte, 8), keyVoteTerm: make([]byte, 8), keyVote: nil}
	case err != nil:
		return nil, fmt.Errorf("%s: %w", votesFile, err)
	}
	if err := makeVotes(path, all, log.o.Keys, noSync); err != nil && (isNew || !LacksRoom(err)) { // without room, the old file takes the next vote
		return nil, fmt.Errorf("%s: %w", votesFile, err)
	}
	v := &Votes{keys: log.o.Keys, turn: make(chan struct{}, 1)}
	v.values.Store(&all)
	if err := v.open(path, noSync, false); err != nil {
		return nil, fmt.Errorf("%s: %w", votesFile, err)
	}
	return v, nil
}

// makeVotes makes the file anew under another name, and renames it when it is whole.
func makeVotes(path string, all values, keys *seal.Ring, noSync bool) error {
	made := path + unfinished
	if err := os.Remove(made); err != nil && !notExist(err) {
		return err
	}
	v := &Votes{keys: keys}
	err := v.open(made, true, false)
	if err == nil {
		err = v.write(all)
	}
	if err == nil && !noSync {
		err = v.bolt.Sync()
	}
	if err = errors.Join(err, v.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(made, path), OS{NoSync: noSync}.SyncDir(filepath.Dir(path)))
}

// readVotes reads the file without changing it. With the newer of its two first pages damaged bbolt would go on with the vote before the last; what
// such a page has is in one sector of the disk, so no crash tears it. With a damaged list of free pages it would write over others.
func readVotes(path string, keys *seal.Ring) (all values, err error) {
	if err := boltfile.CheckNewest(path); errors.Is(err, boltfile.ErrDamaged) {
		return nil, fmt.Errorf("%w: %v", ErrDamaged, err)
	} else if err != nil {
		return nil, err
	}
	v := &Votes{}
	err = v.open(path, false, true)
	if err == nil {
		err = v.guard(func() error {
			b, err := v.bolt.Get([]byte(votesKey))
			if errors.Is(err, raftboltdb.ErrKeyNotFound) {
				return ErrDamaged
			}
			if err == nil {
				err = unpack(keys, b, &all)
			}
			return err
		})
	}
	return all, errors.Join(err, v.Close())
}

// open has bbolt open the file.
func (v *Votes) open(path string, noSync, readOnly bool) error {
	err := v.guard(func() (err error) {
		o := &bbolt.Options{Timeout: lockTime, ReadOnly: readOnly, OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			v.file, err = os.OpenFile(name, flag, mode)
			return v.file, err
		}}
		v.bolt, err = raftboltdb.New(raftboltdb.Options{Path: path, NoSync: noSync, BoltOptions: o})
		return err
	})
	if errors.Is(err, berrors.ErrTimeout) {
		return ErrLocked
	} else if system := syscall.Errno(0); err != nil && !errors.As(err, &system) && !errors.Is(err, ErrDamaged) {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return err
}

// guard runs a call of bbolt and returns ErrDamaged where bbolt panics on a damaged page or reads outside the file.
func (v *Votes) guard(do func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			v.bolt = nil // what bbolt has mapped stays, and would keep the lock
			err = errors.Join(fmt.Errorf("%w: %v", ErrDamaged, p), syscall.Flock(int(v.file.Fd()), syscall.LOCK_UN), v.file.Close())
		}
	}()
	return do()
}

// write puts the values on the disk.
func (v *Votes) write(all values) error {
	b, err := pack(v.keys, all)
	if err != nil {
		return err
	}
	if v.bolt == nil {
		return fmt.Errorf("%s: %w", votesFile, ErrDamaged)
	}
	if err := boltfile.CheckInUse(v.file, true); errors.Is(err, boltfile.ErrDamaged) {
		return fmt.Errorf("%s: %w: %v", votesFile, ErrDamaged, err)
	} else if err != nil {
		return err
	}
	err = v.guard(func() error { return v.bolt.Set([]byte(votesKey), b) })
	if wrote := (*fs.PathError)(nil); err == nil || errors.As(err, &wrote) {
		return err
	}
	return fmt.Errorf("%s: %w: %w", votesFile, ErrUnsynced, err)
}

// change stores values in the place of some, or of none. The library may vote meanwhile.
func (v *Votes) change(some values) error {
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
func (v *Votes) Set(key, val []byte) error { return v.change(values{string(key): val}) }

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
func (v *Votes) Copy(from *Votes) error { return v.change(*from.values.Load()) }

// Reseal writes the values under the active key.
func (v *Votes) Reseal() error { return v.change(nil) }

// Close closes the file.
func (v *Votes) Close() error {
	if v.bolt == nil {
		return nil
	}
	return v.bolt.Close()
}

// VotedTerm is the newest term in a directory's file, current or of a vote; 0 when it cannot be read.
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
