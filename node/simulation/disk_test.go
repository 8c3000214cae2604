package simulation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairndb/cairn/raft/logstore"
	"github.com/cairndb/cairn/raft/rafttest"
)

// A disk simulates the disks of a node's home: one with its state, one with its log and snapshots. It records which
// bytes were synced. When the machine dies, or a disk fails in a sync, any part of the unsynced bytes may be missing
// afterwards.
type disk struct {
	waitAwake func() // returns when the node is not paused

	mu         sync.Mutex
	home       string
	copied     string // an older copy of home, or empty
	generation int    // number of the newest home; each has its own directory
	slow       [2]time.Duration
	full       [2]time.Time     // until when the disk is full
	wasFull    [2]bool          // the disk was full for a write since the node was last started
	due        *diskFault       // the scheduled fault, or the one that has struck; nil for none
	synced     map[uint64]int64 // synced length of the state's files, by inode

	unsynced map[string][]byte // last synced content of the log's files written since; kept while a fault is due
}

// The disks of a home.
const (
	stateDisk = iota
	logDisk
	anyDisk // for a fault in a step of either disk, or of the snapshots
)

// A diskFault is the end of a disk: a power loss, or a disk that fails.
type diskFault struct {
	disk      int // whose steps count
	power     bool
	stepsLeft int // steps that succeed before it strikes
	rng       *rand.Rand
	struck    chan struct{}     // closed when the fault strikes
	nodeEnded chan struct{}     // closed when the node is being closed
	files     map[string][]byte // content that the next start finds; nil for a file that does not exist
	hasLog    bool              // files includes all of the log and the snapshots
	hasState  bool              // files includes all of the state
	step      string            // the step in which it struck
}

const (
	logDir    = "raft/log"
	stateDir  = "state"
	snapDir   = "raft/snapshots"     // on the log's disk
	votesFile = logDir + "/votes.db" // of raft-boltdb; its bytes always count as synced
)

func (d *disk) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// read returns the content of a file, or nil if the file does not exist.
func (d *disk) read(name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(d.home, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return b, err
}

// schedule makes a fault strike after some more steps, and returns it. If a fault is due already, it returns that
// one.
func (d *disk) schedule(on int, power bool, in int, rng *rand.Rand) *diskFault {
	fault := &diskFault{disk: on, power: power, stepsLeft: in, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)),
		struck: make(chan struct{}), nodeEnded: make(chan struct{})}
	d.change(func() {
		if d.due == nil {
			d.due, d.unsynced = fault, map[string][]byte{}
		}
		fault = d.due
	})
	return fault
}

// step runs do as one step of a disk, and tells it whether the scheduled fault strikes. It waits while the node is
// paused or the disk is slow. Steps after the fault fail.
func (d *disk) step(on int, what string, do func(strikes bool) error) error {
	d.waitAwake()
	d.mu.Lock()
	slow := time.Duration(0)
	if on == logDisk || on == stateDisk && strings.HasPrefix(what, "sync") {
		slow = d.slow[on]
	}
	d.mu.Unlock()
	time.Sleep(slow)
	d.mu.Lock()
	fault := d.due
	strikes := false
	if fault != nil && !fault.hasStruck() && (fault.disk == on || fault.disk == anyDisk) {
		strikes = fault.stepsLeft <= 0
		fault.stepsLeft--
	}
	if fault != nil && fault.hasStruck() && (fault.power || fault.disk == on) {
		d.mu.Unlock()
		return fault.fail()
	}
	err := do(strikes)
	if strikes && err == nil {
		fault.step = what
		close(fault.struck)
	}
	d.mu.Unlock()
	if strikes && err == nil {
		return fault.fail()
	}
	return err
}

func (f *diskFault) hasStruck() bool {
	select {
	case <-f.struck:
		return true
	default:
		return false
	}
}

// fail ends a step during or after the fault. A failed disk returns an error; after a power loss the step returns
// only when the node is being closed.
func (f *diskFault) fail() error {
	if f.power {
		<-f.nodeEnded
	}
	return syscall.EIO
}

// logStep runs one step of the log's disk. A created, renamed or removed name lasts at once, written bytes last once
// they are synced. Steps of snapshots count only for faults of any disk, because a failed snapshot does not stop a
// node.
func (d *disk) logStep(step, name string, do func() error) error {
	on := logDisk
	if filepath.Base(filepath.Dir(name)) == filepath.Base(snapDir) {
		on = anyDisk
	}
	return d.step(on, step+" "+filepath.Base(name), func(strikes bool) (err error) {
		if (step == "write" || step == "create") && time.Now().Before(d.full[logDisk]) {
			d.wasFull[logDisk] = true
			return syscall.ENOSPC
		}
		file := filepath.Join("raft", filepath.Base(filepath.Dir(name)), filepath.Base(name))
		if _, begun := d.unsynced[file]; d.due != nil && !begun && (step == "write" || step == "create") {
			before, err := d.read(file)
			if err != nil {
				return err
			}
			d.unsynced[file] = before
		}
		if !strikes || step != "sync" {
			if err := do(); err != nil {
				return err
			}
		}
		switch {
		case step == "sync" && !strikes, step == "remove":
			delete(d.unsynced, file)
		case step == "rename":
			delete(d.unsynced, file) // the file was synced under its new name
		}
		if strikes {
			return d.recordLeft()
		}
		return nil
	})
}

// logFS is the file system of a node's log, with the faults of a disk.
type logFS struct {
	logstore.OS
	d *disk
}

type logFile struct {
	logstore.File
	d    *disk
	name string
}

func (f logFS) Create(name string) (file logstore.File, err error) {
	err = f.d.logStep("create", name, func() error { file, err = f.OS.Create(name); return err })
	return logFile{file, f.d, name}, err
}

func (f logFS) Open(name string) (logstore.File, error) {
	file, err := f.OS.Open(name)
	return logFile{file, f.d, name}, err
}

func (f logFS) Rename(from, to string) error {
	return f.d.logStep("rename", from, func() error { return f.OS.Rename(from, to) })
}

func (f logFS) Remove(name string) error {
	return f.d.logStep("remove", name, func() error { return f.OS.Remove(name) })
}

func (f logFile) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.d.logStep("write", f.currentName(), func() error { n, err = f.File.WriteAt(b, at); return err })
	return n, err
}

func (f logFile) Sync() error { return f.d.logStep("sync", f.currentName(), f.File.Sync) }

// currentName returns the name of an open file, which may have been renamed since.
func (f logFile) currentName() string {
	final := strings.TrimSuffix(strings.TrimSuffix(f.name, ".new"), ".tmp")
	if _, err := os.Stat(f.name); err != nil {
		return final
	}
	return f.name
}

// recordLeft records the files that remain if the fault strikes now. A failed disk loses only its own unsynced bytes,
// a power loss those of both disks.
func (d *disk) recordLeft() (err error) {
	fault := d.due
	fault.files = map[string][]byte{}
	if fault.power || fault.disk == logDisk {
		if err := d.recordLeftLog(fault); err != nil {
			return err
		}
	}
	if !fault.power && fault.disk != stateDisk {
		return nil
	}
	return d.recordLeftState(fault)
}

func (d *disk) recordLeftLog(fault *diskFault) error {
	fault.hasLog = true
	for _, dir := range []string{logDir, snapDir} {
		err := d.files(dir, func(name string, _ os.FileInfo) error {
			if name == votesFile {
				return nil
			}
			content, err := d.read(name)
			if synced, ok := d.unsynced[name]; ok {
				content = tear(fault.rng, 512, synced, content)
			}
			fault.files[name] = content
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// strike makes the scheduled fault strike now, if it has not yet.
func (d *disk) strike() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.due.hasStruck() {
		return nil
	}
	defer close(d.due.struck)
	return d.recordLeft()
}

// tooFullToStart reports whether a full disk keeps a node from starting: that of the state, or that of a log without
// its first files.
func (d *disk) tooFullToStart() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := os.Stat(filepath.Join(d.home, "raft", "log", "meta"))
	return d.wasFull[stateDisk] || errors.Is(err, fs.ErrNotExist) && d.wasFull[logDisk]
}

// repair makes the disks fast, gives them space, and cancels a fault that has not struck. It returns a fault that
// has: its node must be closed first.
func (d *disk) repair() (came *diskFault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow, d.full = [2]time.Duration{}, [2]time.Time{}
	if d.due != nil && d.due.hasStruck() {
		return d.due
	}
	d.due = nil
	return nil
}

// release lets blocked steps return, so that the node can be closed.
func (d *disk) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = [2]time.Duration{}
	if d.due != nil {
		close(d.due.nodeEnded)
	}
}

// restart puts the files that a fault left into a new home. All other files are copied from the old home: the node
// had synced them, or can make them again.
func (d *disk) restart() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	fault := d.due
	d.due, d.unsynced = nil, nil
	if fault == nil || !fault.hasStruck() {
		return d.markSynced()
	}
	d.generation++
	next := fmt.Sprintf("%s.%d", d.home, d.generation)
	if err := rafttest.CopyHome(next, d.home); err != nil {
		return err
	}
	if fault.hasState {
		if err := os.RemoveAll(filepath.Join(next, stateDir)); err != nil {
			return err
		}
	}
	if fault.hasLog {
		if err := os.RemoveAll(filepath.Join(next, snapDir)); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(next, logDir), 0o700); err != nil {
			return err
		}
		list, err := os.ReadDir(filepath.Join(next, logDir))
		for _, e := range list {
			if name := logDir + "/" + e.Name(); name != votesFile {
				err = errors.Join(err, os.Remove(filepath.Join(next, name)))
			}
		}
		if err != nil {
			return err
		}
	}
	for name, content := range fault.files {
		path := filepath.Join(next, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		if content == nil {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	d.home = next
	return d.markSynced()
}

// checkUndamaged checks that a node considered none of its files damaged: no disk here changes synced bytes. A node
// that lost its home, or got an older copy, may have moved files aside, but must have its state again.
func (d *disk) checkUndamaged(t *testing.T, mayMoveFiles bool) {
	patterns := []string{"raft/amnesia", "*.corrupt-*", "raft/*.corrupt-*"}
	if mayMoveFiles {
		patterns = patterns[:1]
	}
	for _, pattern := range patterns {
		if found, err := filepath.Glob(filepath.Join(d.home, pattern)); err != nil || found != nil {
			t.Errorf("moved aside, or forgotten: %v, %v", found, err)
		}
	}
}

// tear returns the content of a file of which each sector is, at random, as it was synced or as it was written since.
func tear(rng *rand.Rand, size int, synced, written []byte) []byte {
	out := bytes.Clone(written)
	for at := 0; at < len(out); at += size {
		if rng.IntN(2) == 0 {
			end := min(at+size, len(out))
			clear(out[at:end])
			if at < len(synced) {
				copy(out[at:end], synced[at:])
			}
		}
	}
	return out
}
