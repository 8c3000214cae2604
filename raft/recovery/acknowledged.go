package recovery

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"sync"

	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A member whose files are an old copy (a machine snapshot, a copied disk) cannot know that. The others can: each
// remembers the last record that each member acknowledged, and tells the member when they connect, which is before
// it is asked for a vote. A member whose files do not reach that record is treated as one without state. A false
// claim must not take a vote. So the member signs a receipt with each acknowledgement, and believes others only with
// that receipt.
//
// A record is remembered by term and index. In that order the newest record that a member has had never goes back;
// the end of its log does where another leader's records are about to replace it, so the log remembers what it cut
// (logstore.Store.Cut). The leader learns it from the answers to its appends and tells the others in its heartbeats.
// It is on disk within a few seconds, so a crash loses no more than those.

// Position is the term and the index of a record, in the order in which votes compare the ends of logs.
type Position struct {
	Term, Index uint64
	Receipt     string `json:",omitempty"` // proves to the member itself that it acknowledged the record
}

// Compare orders places by term, then by index.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Term, q.Term), cmp.Compare(p.Index, q.Index))
}

// Before reports whether a log that ends here lacks what one has that ends there.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// Acknowledged holds the last record that each member is known to have acknowledged. mu guards it and is not held
// over I/O.
type Acknowledged struct {
	mu    sync.Mutex
	last  map[uint32]Position
	dirty bool // something is not on disk yet
}

// Note remembers a place, unless a newer one is known.
func (a *Acknowledged) Note(id uint32, p Position) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last[id].Before(p) {
		if a.last == nil {
			a.last = map[uint32]Position{}
		}
		a.last[id], a.dirty = p, true
	}
}

// Of returns the last record that a member is known to have acknowledged.
func (a *Acknowledged) Of(id uint32) Position {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.last[id]
}

// All returns the last record that each member is known to have acknowledged, by the member's id.
func (a *Acknowledged) All() map[uint32]Position {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.last)
}

// Load reads what Store wrote: a line of JSON and its checksum, for a digit that changed would tell a member that it
// lacks records. The caller may go on without it after an error.
func (a *Acknowledged) Load(path string) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b, whole := syncwriter.Unsummed(raw)
	if !whole {
		return fmt.Errorf("%s differs from what was written", path)
	}
	return json.Unmarshal(b, &a.last)
}

// Store writes it into a file when it has changed.
func (a *Acknowledged) Store(path string, sync bool) error {
	a.mu.Lock()
	dirty, last := a.dirty, maps.Clone(a.last)
	a.dirty = false
	a.mu.Unlock()
	if !dirty {
		return nil
	}
	raw, err := json.Marshal(last)
	if err != nil {
		return err
	}
	raw = syncwriter.Summed(append(raw, '\n'))
	next := path + ".new"
	if err = WriteFile(next, raw, sync); err == nil {
		err = os.Rename(next, path)
	}
	if err != nil { // the file is as it was, and the next call tries again
		a.mu.Lock()
		a.dirty = true
		a.mu.Unlock()
	}
	return err
}
