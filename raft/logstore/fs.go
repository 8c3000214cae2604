package logstore

import (
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// FS holds the file system operations that a store needs; tests inject faults through it.
type FS interface {
	MkdirAll(dir string) error
	Create(name string) (File, error) // truncates an existing file
	Open(name string) (File, error)
	Rename(from, to string) error
	Remove(name string) error
	List(dir string) (names []string, err error)
	SyncDir(dir string) error
	Lock(dir string) (Dir, error)
}

// Dir is a directory that one process locks until it ends or calls Close. Its sync opens nothing, so it needs no
// descriptor.
type Dir interface {
	io.Closer
	Sync() error
}

// File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Sync() error
	Size() (int64, error)
}

// ErrLocked reports that another process has the log open.
var ErrLocked = errors.New("in use by another process")

// OS is the file system of the machine.
type OS struct {
	NoSync bool // for tests that do not depend on crashes
}

type osFile struct {
	*os.File
	noSync bool
}

type osDir struct {
	*os.File
	noSync bool
}

// Sync syncs the directory, so that its files, renames and removals survive a crash.
func (d osDir) Sync() error {
	if d.noSync {
		return nil
	}
	return d.File.Sync()
}

// Sync writes the bytes to disk, with only the metadata that is needed to read them.
func (f osFile) Sync() error {
	if f.noSync {
		return nil
	}
	return syncData(f.File)
}

// Size returns the length in bytes.
func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// MkdirAll implements FS.
func (OS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o700) }

// Create implements FS.
func (o OS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f, o.NoSync}, nil
}

// Open implements FS.
func (o OS) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f, o.NoSync}, nil
}

// Rename implements FS.
func (OS) Rename(from, to string) error { return os.Rename(from, to) }

// Remove implements FS.
func (OS) Remove(name string) error { return os.Remove(name) }

// List implements FS.
func (OS) List(dir string) (names []string, err error) {
	list, err := os.ReadDir(dir)
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names, err
}

// SyncDir implements FS.
func (o OS) SyncDir(dir string) error {
	if o.NoSync {
		return nil
	}
	return syncwriter.Dir(dir)
}

// lockTime limits how long Lock waits. A child process that was just started holds its parent's descriptors until it
// runs its own program.
const lockTime = 2 * time.Second

// Lock implements FS.
func (o OS) Lock(dir string) (Dir, error) {
	d, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockTime); ; time.Sleep(lockTime / 100) {
		err := syscall.Flock(int(d.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return osDir{d, o.NoSync}, nil
		}
		if held := errors.Is(err, syscall.EWOULDBLOCK); held && time.Now().Before(deadline) {
			continue
		} else if held {
			err = fmt.Errorf("%s: %w", dir, ErrLocked)
		}
		return nil, errors.Join(err, d.Close())
	}
}

// unfinished is the suffix of a file that is not complete yet.
const unfinished = ".new"

// replace writes a file under a temporary name, syncs it and renames it.
func (s *Store) replace(name string, b []byte) error {
	f, err := s.o.FS.Create(name + unfinished)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return s.publish(name)
}

// publish renames a synced file to its final name.
func (s *Store) publish(name string) error {
	if err := s.o.FS.Rename(name+unfinished, name); err != nil {
		return err
	}
	return s.syncDir()
}

// syncDir syncs the directory, so that renames and removals survive a crash.
func (s *Store) syncDir() error { return s.failedSync(s.dirLock.Sync()) }

// failedSync records a failed sync, after which the store never syncs again: the system may have dropped the pages
// that it could not write, and report the next sync as a success.
func (s *Store) failedSync(err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w: %w", ErrUnsynced, err)
	s.syncFailure.Store(&err)
	return err
}
