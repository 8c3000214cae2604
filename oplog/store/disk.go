package store

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// A disk is the file system below a store. It hides failures from pebble, which retries a failed table at once, and
// ends the process when it cannot write the list of tables. On a full disk, the disk retries the change until there
// is space. After any other failure it reports the error and blocks the task, and the store accepts no more writes.
// Both waits end with close. Pebble panics if it cannot sync a directory, so it gets no error for that, and the disk
// makes no later change (sync).
type disk struct {
	vfs.FS
	o      Options
	dir    string      // of the store; a change elsewhere is tried once
	report func(error) // the first failure, unless nil

	open atomic.Bool // the store is open: a failed change blocks instead of returning

	mu            sync.Mutex
	full          error         // set while a task waits for space
	waiting       int           // the number of such tasks
	failed        error         // the first failure other than a full disk
	ended         bool          // a change was given up, so no later one is made
	changed       chan struct{} // closed when full or failed is set
	checkpointErr error         // of a directory sync for the checkpoint that is being made
	logs          vfs.FS        // in memory, for pebble's own log, which it creates even if disabled; it is empty

	closing chan struct{} // closed by close
}

// fullDiskRetry is the time between two attempts on a full disk.
const fullDiskRetry = 100 * time.Millisecond

func newDisk(o Options) *disk {
	below := o.fs
	if below == nil {
		below = vfs.Default
	}
	if o.Step == nil {
		o.Step = func(_, _ string, do func() error) error { return do() }
	}
	return &disk{FS: below, o: o, logs: vfs.NewMem(), changed: make(chan struct{}), closing: make(chan struct{})}
}

func isLog(name string) bool { return filepath.Ext(name) == ".log" }

// files returns the file system for pebble. Sealing is above the disk, so that the disk can continue a write that a
// full disk made in part.
func (d *disk) files() vfs.FS {
	if d.o.Keys != nil {
		return sealedFS{d, d.o.Keys}
	}
	return d
}

func (d *disk) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}

func (d *disk) fullError() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.full
}

// troubleBegins returns a channel that closes when a task begins to wait, or the disk fails.
func (d *disk) troubleBegins() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.changed
}

func (d *disk) wake() {
	close(d.changed)
	d.changed = make(chan struct{})
}

func (d *disk) fail(err error) {
	err = fmt.Errorf("%w: %w", ErrFailed, err)
	d.mu.Lock()
	first := d.failed == nil
	if first {
		d.failed = err
		d.wake()
	}
	d.mu.Unlock()
	if first && d.report != nil {
		d.report(err)
	}
}

func (d *disk) close() { close(d.closing) }

func (d *disk) wait(err error, by int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.waiting += by; d.waiting == 0 {
		d.full = nil
	} else if d.full == nil {
		d.full = err
		d.wake()
	}
}

// try runs a change of the disk, and handles its failure (see disk).
func (d *disk) try(op, name string, change func() error) error {
	if err := d.stopped(); err != nil {
		return err
	}
	do := func() error { return d.o.Step(op, name, change) }
	err := do()
	if err == nil || !d.open.Load() || !d.owns(name) {
		return err
	}
	for began := false; isDiskFull(err); err = do() {
		if !began {
			began = true
			d.wait(err, +1)
			defer d.wait(nil, -1)
		}
		select {
		case <-time.After(fullDiskRetry):
		case <-d.closing:
			d.stop()
			return err
		}
	}
	if err != nil {
		d.fail(err)
		<-d.closing
		d.stop()
	}
	return err
}

// stop ends all changes: pebble's later changes would rely on the one that was given up.
func (d *disk) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true
}

// stopped returns the error of changes after stop; nil before it.
func (d *disk) stopped() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !d.ended:
		return nil
	case d.failed != nil:
		return d.failed
	}
	return ErrClosed
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// create opens a file that is written through the disk.
func (d *disk) create(name string, open func() (vfs.File, error)) (vfs.File, error) {
	f := &file{d: d, name: name}
	err := d.try("create", name, func() (err error) {
		f.File, err = open()
		return err
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Create implements vfs.FS.
func (d *disk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	switch {
	case isLog(name) && d.owns(name):
		return d.logs.Create(filepath.Base(name), c)
	case isLog(name): // a checkpoint's copy
		return vfs.NewMem().Create(filepath.Base(name), c)
	}
	f, err := d.create(name, func() (vfs.File, error) { return d.FS.Create(name, c) })
	if err == nil && strings.HasPrefix(filepath.Base(name), "MANIFEST") {
		if err := d.syncDir(filepath.Dir(name)); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, err
}

// Open implements vfs.FS. A log is read by a checkpoint alone, which copies it.
func (d *disk) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	if isLog(name) {
		return vfs.NewMem().Create(filepath.Base(name), vfs.WriteCategoryUnspecified)
	}
	return d.FS.Open(name, o...)
}

// syncDir syncs the name of a list of tables before the file that points to it has its own: pebble would sync them
// together.
func (d *disk) syncDir(name string) error {
	dir, err := d.OpenDir(name)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// OpenReadWrite implements vfs.FS.
func (d *disk) OpenReadWrite(name string, c vfs.DiskWriteCategory, o ...vfs.OpenOption) (vfs.File, error) {
	return d.create(name, func() (vfs.File, error) { return d.FS.OpenReadWrite(name, c, o...) })
}

// ReuseForWrite implements vfs.FS.
func (d *disk) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return d.create(name, func() (vfs.File, error) { return d.FS.ReuseForWrite(old, name, c) })
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	f, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return &file{f, d, name, true}, nil
}

// Link implements vfs.FS.
func (d *disk) Link(old, name string) error {
	return d.try("link", name, func() error { return d.FS.Link(old, name) })
}

// Rename implements vfs.FS.
func (d *disk) Rename(old, name string) error {
	return d.try("rename", name, func() error { return d.FS.Rename(old, name) })
}

// List implements vfs.FS.
func (d *disk) List(dir string) ([]string, error) {
	names, err := d.FS.List(dir)
	return slices.DeleteFunc(names, isLog), err
}

// Remove implements vfs.FS. After stop it removes nothing: the last change may have been made and may need the file.
func (d *disk) Remove(name string) error {
	if isLog(name) {
		return d.logs.Remove(filepath.Base(name))
	}
	if err := d.stopped(); err != nil {
		return err
	}
	return d.o.Step("remove", name, func() error { return d.FS.Remove(name) })
}

// RemoveAll implements vfs.FS.
func (d *disk) RemoveAll(name string) error {
	if err := d.stopped(); err != nil {
		return err
	}
	return d.o.Step("remove", name, func() error { return d.FS.RemoveAll(name) })
}

// MkdirAll implements vfs.FS.
func (d *disk) MkdirAll(dir string, perm os.FileMode) error {
	return d.try("mkdir", dir, func() error { return d.FS.MkdirAll(dir, 0o700) })
}

// Lock implements vfs.FS. The owner of the store has locked the directory, and pebble would not let go of a lock of
// its own after every failure.
func (d *disk) Lock(string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Unwrap implements vfs.FS.
func (d *disk) Unwrap() vfs.FS { return d.FS }

type file struct {
	vfs.File
	d    *disk
	name string
	dir  bool
}

// Write implements vfs.File. A retry on a full disk continues after the part that was written.
func (f *file) Write(p []byte) (n int, err error) {
	err = f.d.try("write", f.name, func() error {
		k, err := f.File.Write(p[n:])
		n += k
		return err
	})
	return n, err
}

// Sync implements vfs.File.
func (f *file) Sync() error { return f.sync(f.File.Sync) }

// SyncData implements vfs.File.
func (f *file) SyncData() error { return f.sync(f.File.SyncData) }

// SyncTo implements vfs.File.
func (f *file) SyncTo(n int64) (full bool, err error) {
	err = f.sync(func() (err error) {
		full, err = f.File.SyncTo(n)
		return err
	})
	return full, err
}

// sync never retries: after a failed sync the kernel may have dropped the pages, and a second sync would succeed
// falsely.
func (f *file) sync(sync func() error) error {
	if f.d.o.NoSync {
		sync = func() error { return nil }
	}
	err := f.d.stopped()
	if err == nil {
		err = f.d.o.Step("sync", f.name, sync)
		if !f.d.owns(f.name) {
			return f.setCheckpointErr(err)
		}
		if err != nil && (f.dir || f.d.open.Load()) {
			f.d.fail(err)
			if f.d.open.Load() {
				<-f.d.closing
			}
			f.d.stop()
		}
	}
	if f.dir {
		return nil // the store returns the failure
	}
	return err
}

// setCheckpointErr stores the error of a directory sync outside the store, which would make pebble panic. The maker
// of the checkpoint gets it.
func (f *file) setCheckpointErr(err error) error {
	if !f.dir || err == nil {
		return err
	}
	f.d.mu.Lock()
	defer f.d.mu.Unlock()
	f.d.checkpointErr = err
	return nil
}

// takeCheckpointErr returns the error that setCheckpointErr stored, and clears it.
func (d *disk) takeCheckpointErr() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	err, d.checkpointErr = d.checkpointErr, nil
	return err
}
