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

// A disk is a node's home. The state's files are synced when they are whole, or at each change of the list of them, and
// the log's files at every step that changes them: of what was written and not synced any part may be missing when the
// machine dies, or when the disk failed instead of syncing it.
type disk struct {
	awake func() // returns when the node does not stand still

	mu      sync.Mutex
	home    string
	copied  string // an older copy of it, if there is one
	lives   int    // how often something was missing
	slow    [2]time.Duration
	full    [2]time.Time     // until when there is no room
	refused [2]bool          // a full disk took nothing since the node was last started
	due     *blow            // what happens at a step to come, and has happened once struck is closed
	synced  map[uint64]int64 // of the state's files, by inode: how much is synced; the rest is in doubt

	unsynced map[string][]byte // the log's files that were written since they were synced, as they were then; since there is something due
}

// The disks of a home.
const (
	stateDisk = iota
	logDisk
	wholeDisk // of a blow: any of them
)

// A blow begins the end of a disk.
type blow struct {
	disk   int // on which it comes
	power  bool
	in     int // how many steps go well before
	rng    *rand.Rand
	struck chan struct{}     // closed when it has come
	over   chan struct{}     // closed when the node is ended
	left   map[string][]byte // what is there when it starts again; nil is none
	log    bool              // left has all files of the log and the snapshots
	state  bool              // left has all files of the state
	at     string            // the step that it came with
}

const (
	logFiles  = "raft/log"
	stateDir  = "state"
	snapDir   = "raft/snapshots"       // on the log's disk
	votesFile = logFiles + "/votes.db" // raft-boltdb's; what was written into it counts as synced
)

func (d *disk) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// read is nil for a file that is not there: a home may be new.
func (d *disk) read(name string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(d.home, name))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return b, err
}

// threaten has a blow come at a step that is to come, unless another is due already.
func (d *disk) threaten(on int, power bool, in int, rng *rand.Rand) *blow {
	b := &blow{disk: on, power: power, in: in, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)), struck: make(chan struct{}),
		over: make(chan struct{})}
	d.change(func() {
		if d.due == nil {
			d.due, d.unsynced = b, map[string][]byte{}
		}
		b = d.due
	})
	return b
}

// step stands around each step of a disk; do is told whether the blow comes with it.
func (d *disk) step(on int, what string, do func(strikes bool) error) error {
	d.awake()
	d.mu.Lock()
	slow := time.Duration(0)
	if on == logDisk || on == stateDisk && strings.HasPrefix(what, "sync") {
		slow = d.slow[on]
	}
	d.mu.Unlock()
	time.Sleep(slow)
	d.mu.Lock()
	b := d.due
	strikes := false
	if b != nil && !b.came() && (b.disk == on || b.disk == wholeDisk) {
		strikes = b.in <= 0
		b.in--
	}
	if b != nil && b.came() && (b.power || b.disk == on) {
		d.mu.Unlock()
		return b.end()
	}
	err := do(strikes)
	if strikes && err == nil {
		b.at = what
		close(b.struck)
	}
	d.mu.Unlock()
	if strikes && err == nil {
		return b.end()
	}
	return err
}

func (b *blow) came() bool {
	select {
	case <-b.struck:
		return true
	default:
		return false
	}
}

// end ends a step that the blow came with, or before: a broken disk returns an error, and one without power returns
// only when the node is ended.
func (b *blow) end() error {
	if b.power {
		<-b.over
	}
	return syscall.EIO
}

// log stands around every step of the log's disk. Names of files are there at once; what is written into them when it
// is synced. A snapshot that cannot be written stops no node, so only a blow to any disk comes with its steps.
func (d *disk) log(step, name string, do func() error) error {
	on := logDisk
	if filepath.Base(filepath.Dir(name)) == filepath.Base(snapDir) {
		on = wholeDisk
	}
	return d.step(on, step+" "+filepath.Base(name), func(strikes bool) (err error) {
		if (step == "write" || step == "create") && time.Now().Before(d.full[logDisk]) {
			d.refused[logDisk] = true
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
			delete(d.unsynced, file) // it was synced under its other name
		}
		if strikes {
			return d.leaves()
		}
		return nil
	})
}

// logDiskOf is the file system of a node's log.
type logDiskOf struct {
	logstore.OS
	d *disk
}

type logFile struct {
	logstore.File
	d    *disk
	name string
}

func (f logDiskOf) Create(name string) (file logstore.File, err error) {
	err = f.d.log("create", name, func() error { file, err = f.OS.Create(name); return err })
	return logFile{file, f.d, name}, err
}

func (f logDiskOf) Open(name string) (logstore.File, error) {
	file, err := f.OS.Open(name)
	return logFile{file, f.d, name}, err
}

func (f logDiskOf) Rename(from, to string) error {
	return f.d.log("rename", from, func() error { return f.OS.Rename(from, to) })
}

func (f logDiskOf) Remove(name string) error {
	return f.d.log("remove", name, func() error { return f.OS.Remove(name) })
}

func (f logFile) WriteAt(b []byte, at int64) (n int, err error) {
	err = f.d.log("write", f.finalName(), func() error { n, err = f.File.WriteAt(b, at); return err })
	return n, err
}

func (f logFile) Sync() error { return f.d.log("sync", f.finalName(), f.File.Sync) }

// finalName is the name that a file has by now.
func (f logFile) finalName() string {
	final := strings.TrimSuffix(strings.TrimSuffix(f.name, ".new"), ".tmp")
	if _, err := os.Stat(f.name); err != nil {
		return final
	}
	return f.name
}

// leaves notes what is left when the blow comes now. Only what the disk did not take is in doubt, unless there is no
// power.
func (d *disk) leaves() (err error) {
	b := d.due
	b.left = map[string][]byte{}
	if b.power || b.disk == logDisk {
		if err := d.leavesLog(b); err != nil {
			return err
		}
	}
	if !b.power && b.disk != stateDisk {
		return nil
	}
	return d.leavesState(b)
}

func (d *disk) leavesLog(b *blow) error {
	b.log = true
	for _, dir := range []string{logFiles, snapDir} {
		err := d.files(dir, func(name string, _ os.FileInfo) error {
			if name == votesFile {
				return nil
			}
			content, err := d.read(name)
			if synced, ok := d.unsynced[name]; ok {
				content = tear(b.rng, 512, synced, content)
			}
			b.left[name] = content
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// lose has the blow come now, if it has not.
func (d *disk) lose() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.due.came() {
		return nil
	}
	defer close(d.due.struck)
	return d.leaves()
}

// noRoomToBegin reports whether a node cannot start for want of room: in the state, or for the first files of its
// log.
func (d *disk) noRoomToBegin() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, err := os.Stat(filepath.Join(d.home, "raft", "log", "meta"))
	return d.refused[stateDisk] || errors.Is(err, fs.ErrNotExist) && d.refused[logDisk]
}

// mend has no blow come any more; of one that has come the node is to end first.
func (d *disk) mend() (came *blow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow, d.full = [2]time.Duration{}, [2]time.Time{}
	if d.due != nil && d.due.came() {
		return d.due
	}
	d.due = nil
	return nil
}

// release lets the steps of a node end that is about to be ended.
func (d *disk) release() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow = [2]time.Duration{}
	if d.due != nil {
		close(d.due.over)
	}
}

// restart makes what a blow left the home. The node had synced all else in the closed home, or can make it again.
func (d *disk) restart() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.due
	d.due, d.unsynced = nil, nil
	if b == nil || !b.came() {
		return d.opens()
	}
	d.lives++
	next := fmt.Sprintf("%s.%d", d.home, d.lives)
	if err := rafttest.CopyHome(next, d.home); err != nil {
		return err
	}
	if b.state {
		if err := os.RemoveAll(filepath.Join(next, stateDir)); err != nil {
			return err
		}
	}
	if b.log {
		if err := os.RemoveAll(filepath.Join(next, snapDir)); err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Join(next, logFiles), 0o700); err != nil {
			return err
		}
		list, err := os.ReadDir(filepath.Join(next, logFiles))
		for _, e := range list {
			if name := logFiles + "/" + e.Name(); name != votesFile {
				err = errors.Join(err, os.Remove(filepath.Join(next, name)))
			}
		}
		if err != nil {
			return err
		}
	}
	for name, content := range b.left {
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
	return d.opens()
}

// whole checks that a node took nothing for damaged: no disk here changes what it has taken. One whose home was put
// back to an older copy may move that aside, and is whole all the same.
func (d *disk) whole(t *testing.T, hurt bool) {
	patterns := []string{"raft/amnesia", "*.corrupt-*", "raft/*.corrupt-*"}
	if hurt {
		patterns = patterns[:1]
	}
	for _, pattern := range patterns {
		if found, err := filepath.Glob(filepath.Join(d.home, pattern)); err != nil || found != nil {
			t.Errorf("moved aside, or forgotten: %v, %v", found, err)
		}
	}
}

// tear takes each piece of a file either as it was synced or as it was written since.
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
