package simulation

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// A disk is a node's home, and what of the state's file is surely on it. The log's file is synced at every write, so it is
// all there when a machine dies; the state's is synced now and then, and of the pages written since any may be missing.
type disk struct {
	mu     sync.Mutex
	home   string
	lives  int    // how often it was taken from a dead machine
	synced []byte // the state's file when it was last synced
	slow   time.Duration
	broken bool
}

// sync stands around every sync of the state's file.
func (d *disk) sync(sync func() error) error {
	d.mu.Lock()
	slow := d.slow
	d.mu.Unlock()
	time.Sleep(slow)
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.broken {
		return syscall.EIO
	}
	b, err := os.ReadFile(filepath.Join(d.home, "state.db"))
	if err != nil {
		return err
	}
	d.synced = b
	return sync()
}

func (d *disk) change(f func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f()
}

// die remembers what is left of the state when the machine loses power now, and returns what makes that the home, once the
// node has been stopped. All else of the closed home is what the node had synced, or can make again.
func (d *disk) die(rng *rand.Rand) (leave func() error, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	left := map[string][]byte{}
	if left[stateNote], err = os.ReadFile(filepath.Join(d.home, stateNote)); err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	for noted := err == nil; ; {
		if left[stateFile], err = os.ReadFile(filepath.Join(d.home, stateFile)); err != nil {
			return nil, err
		}
		again, err := os.ReadFile(filepath.Join(d.home, stateNote))
		if bytes.Equal(again, left[stateNote]) {
			if noted { // without a note the file is whole
				left[stateFile] = tear(rng, d.synced, left[stateFile])
			}
			break
		}
		left[stateNote], noted = again, err == nil // a sync came in between
	}
	return func() error { return d.move(left) }, nil
}

const (
	stateFile = "state.db"
	stateNote = "state.db.sync"
)

// move makes a copy the home, with other contents of some files; nil is none.
func (d *disk) move(left map[string][]byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lives++
	next := fmt.Sprintf("%s.%d", d.home, d.lives)
	if err := os.CopyFS(next, os.DirFS(d.home)); err != nil {
		return err
	}
	for name, b := range left {
		path := filepath.Join(next, name)
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return err
		}
		if b == nil {
			continue
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return err
		}
	}
	d.home, d.slow, d.broken = next, 0, false
	return nil
}

// tear takes each page either as it was synced or as it was written since.
func tear(rng *rand.Rand, synced, written []byte) []byte {
	const page = 4096
	out := bytes.Clone(written)
	for at := 0; at < len(out); at += page {
		if rng.IntN(2) == 0 {
			end := min(at+page, len(out))
			clear(out[at:end])
			if at < len(synced) {
				copy(out[at:end], synced[at:])
			}
		}
	}
	return out
}
