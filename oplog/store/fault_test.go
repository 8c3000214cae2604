package store

import (
	"os"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// faultyFS is an in-memory file system that calls a hook before every change. It can be reset to its state after a
// crash of the machine.
type faultyFS struct {
	vfs.FS
	mu   sync.Mutex
	hook func(op, name string) error // nil: no hook
}

func (f *faultyFS) set(hook func(op, name string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.hook = hook
}

func (f *faultyFS) before(op, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.hook == nil {
		return nil
	}
	return f.hook(op, name)
}

func (f *faultyFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if err := f.before("create", name); err != nil {
		return nil, err
	}
	in, err := f.FS.Create(name, c)
	if err != nil {
		return nil, err
	}
	return &faultyFile{in, f, name}, nil
}

func (f *faultyFS) OpenDir(name string) (vfs.File, error) {
	in, err := f.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &faultyFile{in, f, name}, nil
}

func (f *faultyFS) Link(old, name string) error {
	if err := f.before("link", name); err != nil {
		return err
	}
	return f.FS.Link(old, name)
}

func (f *faultyFS) Rename(old, name string) error {
	if err := f.before("rename", name); err != nil {
		return err
	}
	return f.FS.Rename(old, name)
}

func (f *faultyFS) Remove(name string) error {
	if err := f.before("remove", name); err != nil {
		return err
	}
	return f.FS.Remove(name)
}

func (f *faultyFS) MkdirAll(name string, perm os.FileMode) error {
	if err := f.before("mkdir", name); err != nil {
		return err
	}
	return f.FS.MkdirAll(name, perm)
}

func (f *faultyFS) Unwrap() vfs.FS { return f.FS }

type faultyFile struct {
	vfs.File
	fs   *faultyFS
	name string
}

func (f *faultyFile) Write(p []byte) (int, error) {
	if err := f.fs.before("write", f.name); err != nil {
		return 0, err
	}
	return f.File.Write(p)
}

func (f *faultyFile) Sync() error {
	if err := f.fs.before("sync", f.name); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *faultyFile) SyncData() error {
	if err := f.fs.before("sync", f.name); err != nil {
		return err
	}
	return f.File.SyncData()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
