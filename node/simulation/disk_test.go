package simulation

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A disk is a node's home. The state's file is synced now and then, and the log's two at every step that changes them: of what
// was written and not synced any part may be missing when the machine dies, or when the disk failed instead of syncing it.
type disk struct {
	awake func() // returns when the node does not stand still

	mu      sync.Mutex
	home    string
	copied  string // an older copy of it, if there is one
	lives   int    // how often something was missing
	slow    [2]time.Duration
	full    time.Time // until when the log has no room
	due     *blow     // what happens at a step to come, and has happened once struck is closed
	synced  []byte    // the state's file when it was last synced, since there is something due
	journal []byte    // the journal before a write that is not synced, since there is something due
}

// The disks of a home.
const (
	stateDisk = iota
	logDisk
)

// A blow is what a disk's end begins with.
type blow struct {
	disk   int // on which it comes
	power  bool
	in     int // how many steps go well before
	rng    *rand.Rand
	struck chan struct{}     // closed when it has come
	over   chan struct{}     // closed when the node is ended
	left   map[string][]byte // what is there when it starts again; nil is none
}

const (
	logFile    = "raft/raft.db"
	logJournal = "raft/raft.db.journal"
	stateFile  = "state.db"
	stateNote  = "state.db.sync"
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
	b := &blow{disk: on, power: power, in: in, rng: rand.New(rand.NewPCG(rng.Uint64(), 0)), struck: make(chan struct{}), over: make(chan struct{})}
	d.change(func() {
		if d.due == nil {
			d.due, d.synced, d.journal = b, nil, nil
		}
		b = d.due
	})
	return b
}

// step stands around each step of a disk; do is told whether the blow comes with it.
func (d *disk) step(on int, do func(strikes bool) error) error {
	d.awake()
	d.mu.Lock()
	slow := d.slow[on]
	d.mu.Unlock()
	time.Sleep(slow)
	d.mu.Lock()
	b := d.due
	strikes := false
	if b != nil && !b.came() && b.disk == on {
		strikes = b.in <= 0
		b.in--
	}
	if b != nil && b.came() && (b.power || b.disk == on) {
		d.mu.Unlock()
		return b.end()
	}
	err := do(strikes)
	if strikes && err == nil {
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

// end is how a step ends that the blow came with, or before: a broken disk says so, and one without power says nothing.
func (b *blow) end() error {
	if b.power {
		<-b.over
	}
	return syscall.EIO
}

// sync stands around every sync of the state's file.
func (d *disk) sync(sync func() error) error {
	return d.step(stateDisk, func(strikes bool) error {
		if strikes {
			return d.leaves()
		}
		if d.due != nil {
			b, err := d.read(stateFile)
			if err != nil {
				return err
			}
			d.synced = b
		}
		return sync()
	})
}

// log stands around every step of the log's disk. The journal is written, and then synced; a transaction of the file does both.
func (d *disk) log(step string, do func() error) error {
	return d.step(logDisk, func(strikes bool) (err error) {
		if step != "sync" && time.Now().Before(d.full) {
			return syscall.ENOSPC
		}
		var before []byte
		if d.due != nil && step == "write" {
			d.journal, err = d.read(logJournal)
		}
		if strikes && step == "commit" {
			before, err = d.read(logFile)
		}
		if err != nil {
			return err
		}
		if !strikes {
			err = do()
			if step == "sync" {
				d.journal = nil
			}
			return err
		}
		if step != "sync" {
			if err := do(); err != nil {
				return err
			}
		}
		if err := d.leaves(); err != nil || before == nil {
			return err
		}
		d.due.left[logFile] = tearCommit(d.due.rng, before, d.due.left[logFile])
		return nil
	})
}

// leaves notes what is left when the blow comes now. Only what the disk did not take is in doubt, unless there is no power.
func (d *disk) leaves() (err error) {
	b := d.due
	b.left = map[string][]byte{}
	if b.power || b.disk == logDisk {
		if b.left[logJournal], err = d.read(logJournal); err != nil {
			return err
		}
		if d.journal != nil {
			b.left[logJournal] = tear(b.rng, 512, d.journal, b.left[logJournal])
		}
		if b.left[logFile], err = d.read(logFile); err != nil {
			return err
		}
	}
	if !b.power && b.disk != stateDisk {
		return nil
	}
	for {
		note, err := d.read(stateNote)
		if err != nil {
			return err
		}
		noted := note != nil
		if b.left[stateFile], err = d.read(stateFile); err != nil {
			return err
		}
		again, err := d.read(stateNote)
		if err != nil {
			return err
		}
		if noted != (again != nil) || !bytes.Equal(again, note) {
			continue // a sync came in between
		}
		b.left[stateNote] = note
		if noted && d.synced != nil { // without a note the file is whole; nothing missing is possible, too
			b.left[stateFile] = tear(b.rng, page, d.synced, b.left[stateFile])
		}
		return nil
	}
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

// mend has no blow come any more; of one that has come the node is to end first.
func (d *disk) mend() (came *blow) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.slow, d.full = [2]time.Duration{}, time.Time{}
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

// restart makes what a blow left the home. All else of the closed home is what the node had synced, or can make again.
func (d *disk) restart() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := d.due
	d.due, d.synced, d.journal = nil, nil, nil
	if b == nil || !b.came() {
		return nil
	}
	d.lives++
	next := fmt.Sprintf("%s.%d", d.home, d.lives)
	if err := os.CopyFS(next, os.DirFS(d.home)); err != nil {
		return err
	}
	for name, content := range b.left {
		path := filepath.Join(next, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		if content == nil {
			continue
		}
		if err := os.WriteFile(path, content, 0o600); err != nil {
			return err
		}
	}
	d.home = next
	return nil
}

// whole checks that a node took nothing for damaged: no disk here changes what it has taken. One whose home was put back to an
// older copy may move that aside, and is whole all the same.
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

const page = 4096

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

// tearCommit does so with a transaction of bbolt, which syncs its pages before it writes one of the two first, the metas.
func tearCommit(rng *rand.Rand, before, after []byte) []byte {
	const metas = 2 * page
	if rng.IntN(2) == 0 {
		return append(bytes.Clone(before[:metas]), tear(rng, page, before[metas:], after[metas:])...)
	}
	return append(tear(rng, page, before[:metas], after[:metas]), after[metas:]...)
}
