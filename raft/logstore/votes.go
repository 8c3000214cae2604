package logstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
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

// KeyTerm is the library's key of the current term.
const KeyTerm = "CurrentTerm"

// The library's keys of its last vote.
const (
	keyVoteTerm = "LastVoteTerm"
	keyVote     = "LastVoteCand"
)

// initialValues are the values of a member that has seen no term; a key without a value is damage.
var initialValues = map[string][]byte{KeyTerm: make([]byte, 8), keyVoteTerm: make([]byte, 8), keyVote: nil}

// votesFile is the name of the file beside the segments that has term and vote.
const votesFile = "votes.db"

// Votes keeps a member's term and vote in a raft-boltdb file, with a checksum for each value because bbolt's pages have none. It
// implements hraft.StableStore. A value is on disk when Set returns. One task at a time writes (turn).
type Votes struct {
	keys   *seal.Ring
	bolt   *raftboltdb.BoltStore
	file   *os.File
	turn   chan struct{} // of the task that writes; a disk takes its time, so no mutex is waited for
	broken atomic.Bool   // bbolt panicked, and may hold its locks for ever
}

// OpenVotes opens the file beside an open log. ErrDamaged says that the file is gone or differs from what was written; it is left as
// it is. Only a log that never had records may be without one: a crash may have come before it was made.
func OpenVotes(log *Store, noSync bool) (*Votes, error) {
	path := filepath.Join(log.dir, votesFile)
	if _, err := os.Stat(path); notExist(err) {
		if log.hadRecords() {
			return nil, fmt.Errorf("%w: %s is gone", ErrDamaged, votesFile)
		}
		if err := makeVotes(path, log.o.Keys, noSync); err != nil {
			return nil, fmt.Errorf("%s: %w", votesFile, err)
		}
	} else if err != nil {
		return nil, err
	}
	v, err := openVotes(path, log.o.Keys, noSync, true) // first to read: to open it for writing writes
	if err == nil {
		err = v.Close()
	}
	if err == nil {
		v, err = openVotes(path, log.o.Keys, noSync, false)
	}
	if err != nil {
		return nil, err
	}
	if err := v.rewrite(KeyTerm); err != nil && !LacksRoom(err) { // bbolt meets the rest of its pages when it writes
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// makeVotes makes the file under another name, and renames it when it is whole.
func makeVotes(path string, keys *seal.Ring, noSync bool) error {
	made := path + unfinished
	if err := os.Remove(made); err != nil && !notExist(err) {
		return err
	}
	b, err := raftboltdb.New(raftboltdb.Options{Path: made, NoSync: true})
	if err != nil {
		return err
	}
	v := &Votes{bolt: b, keys: keys}
	for key, val := range initialValues {
		err = errors.Join(err, b.Set([]byte(key), v.pack([]byte(key), val)))
	}
	if !noSync {
		err = errors.Join(err, b.Sync())
	}
	if err = errors.Join(err, b.Close()); err != nil {
		return err
	}
	return errors.Join(os.Rename(made, path), OS{NoSync: noSync}.SyncDir(filepath.Dir(path)))
}

func openVotes(path string, keys *seal.Ring, noSync, readOnly bool) (v *Votes, err error) {
	v = &Votes{keys: keys, turn: make(chan struct{}, 1)}
	if err := checkPages(path); err != nil {
		return nil, fmt.Errorf("%s: %w", votesFile, err)
	}
	err = v.recoverFault(func() (err error) {
		o := &bbolt.Options{Timeout: lockTime, ReadOnly: readOnly, OpenFile: func(name string, flag int, mode os.FileMode) (f *os.File, err error) {
			v.file, err = os.OpenFile(name, flag, mode)
			return v.file, err
		}}
		v.bolt, err = raftboltdb.New(raftboltdb.Options{Path: path, NoSync: noSync, BoltOptions: o})
		return err
	})
	if errors.Is(err, berrors.ErrTimeout) {
		err = ErrLocked
	} else if system := syscall.Errno(0); err != nil && !errors.As(err, &system) {
		err = fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	if err == nil {
		err = v.verify()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", votesFile, err), v.Close())
	}
	return v, nil
}

// checkPages checks the pages that bbolt trusts, as they have no checksums. With the newer of its two first pages damaged it would go on
// with the vote before the last; what such a page has is in one sector of the disk, so no crash tears it. With a damaged list of free pages
// it would write over others.
func checkPages(path string) error {
	err := boltfile.CheckNewest(path)
	if errors.Is(err, boltfile.ErrDamaged) {
		return fmt.Errorf("%w: %v", ErrDamaged, err)
	}
	return err
}

// recoverFault runs a call of bbolt and returns ErrDamaged where bbolt panics on a damaged page or reads outside the file.
func (v *Votes) recoverFault(do func() error) (err error) {
	if v.broken.Load() {
		return ErrDamaged
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			v.broken.Store(true)
			err = fmt.Errorf("%w: %v", ErrDamaged, p)
		}
	}()
	return do()
}

// verify reads all values.
func (v *Votes) verify() error {
	for key := range initialValues {
		if _, err := v.Get([]byte(key)); err != nil {
			return err
		}
	}
	return nil
}

// pack is a value as stored: sealed if the log is, then the checksum of key and value.
func (v *Votes) pack(key, val []byte) []byte {
	b := v.keys.Seal(nil, val, key)
	return binary.BigEndian.AppendUint32(b, valueSum(key, b))
}

func (v *Votes) unpack(key, b []byte) ([]byte, error) {
	at := len(b) - sumSize
	if at < 0 || binary.BigEndian.Uint32(b[at:]) != valueSum(key, b[:at]) {
		return nil, ErrDamaged
	}
	return v.keys.Open(nil, b[:at], key)
}

func valueSum(key, val []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, val)
}

// Get implements hraft.StableStore.
func (v *Votes) Get(key []byte) (val []byte, err error) {
	err = v.recoverFault(func() error {
		b, err := v.bolt.Get(key)
		if errors.Is(err, raftboltdb.ErrKeyNotFound) {
			err = ErrDamaged
		}
		if err == nil {
			val, err = v.unpack(key, b)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("%q: %w", key, err)
	}
	return val, nil
}

// Set implements hraft.StableStore.
func (v *Votes) Set(key, val []byte) error {
	v.turn <- struct{}{}
	defer func() { <-v.turn }()
	return v.set(key, val)
}

// set stores a value and reads all of them back: bbolt's list of free pages has no checksum, and a damaged one makes it write over
// pages in use.
func (v *Votes) set(key, val []byte) error {
	err := v.recoverFault(func() error { return v.bolt.Set(key, v.pack(key, val)) })
	if err == nil {
		return v.verify()
	}
	if wrote := (*fs.PathError)(nil); errors.As(err, &wrote) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnsynced, err)
}

// SetUint64 implements hraft.StableStore.
func (v *Votes) SetUint64(key []byte, val uint64) error {
	return v.Set(key, binary.BigEndian.AppendUint64(nil, val))
}

// GetUint64 implements hraft.StableStore.
func (v *Votes) GetUint64(key []byte) (uint64, error) {
	val, err := v.Get(key)
	if err != nil {
		return 0, err
	}
	if len(val) != 8 {
		return 0, fmt.Errorf("%q: %w: a number of %d bytes", key, ErrDamaged, len(val))
	}
	return binary.BigEndian.Uint64(val), nil
}

// Copy copies another member's values.
func (v *Votes) Copy(from *Votes) error {
	for key := range initialValues {
		val, err := from.Get([]byte(key))
		if err == nil {
			err = v.Set([]byte(key), val)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reseal rewrites the values under the active key. The library may vote meanwhile.
func (v *Votes) Reseal() error {
	v.turn <- struct{}{}
	defer func() { <-v.turn }()
	for key := range initialValues {
		if err := v.rewrite(key); err != nil {
			return err
		}
	}
	return nil
}

// rewrite stores the value that a key has again.
func (v *Votes) rewrite(key string) error {
	val, err := v.Get([]byte(key))
	if err != nil {
		return err
	}
	return v.set([]byte(key), val)
}

// Close closes the file.
func (v *Votes) Close() error {
	switch {
	case v.broken.Load():
		return v.file.Close()
	case v.bolt != nil:
		return v.bolt.Close()
	}
	return nil
}

// VotedTerm is the newest term in a directory's file, current or of a vote; 0 when it cannot be read.
func VotedTerm(dir string, keys *seal.Ring) (term uint64) {
	v, err := openVotes(filepath.Join(dir, votesFile), keys, false, true)
	if err != nil {
		return 0
	}
	defer v.Close()
	for _, key := range []string{KeyTerm, keyVoteTerm} {
		if t, err := v.GetUint64([]byte(key)); err == nil {
			term = max(term, t)
		}
	}
	return term
}
