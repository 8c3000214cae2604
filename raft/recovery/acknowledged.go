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

// A member whose files are an old copy (a machine snapshot, a copied disk) cannot detect that. The others can: each
// remembers the last record that each member acknowledged, and reports it when they connect, which is before the
// member is asked for a vote. A member whose files do not reach that record counts as one without state. A false
// claim must not cost a member its vote. So the member adds a receipt, an HMAC, to each acknowledgement, and believes
// others only if they return it.
//
// Records are compared by term and index. In this order the newest record that a member has ever had never goes back.
// The end of its log does go back while another leader's records replace it, so the log remembers the records that it
// cut off (logstore.Store.LastCut). The leader learns the positions from the answers to its appends and reports them
// in its heartbeats. They are on disk within a few seconds, so a crash loses only the last few seconds.

// Position holds the term and the index of a record, ordered as votes compare the ends of logs.
type Position struct {
	Term, Index uint64
	Receipt     string `json:",omitempty"` // proves to the member itself that it acknowledged the record
}

// Compare orders positions by term, then by index.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Term, q.Term), cmp.Compare(p.Index, q.Index))
}

// Before reports whether a log that ends at p lacks records of a log that ends at q.
func (p Position) Before(q Position) bool { return p.Compare(q) < 0 }

// Acknowledged holds the last record that each member is known to have acknowledged. mu guards it and is not held
// over I/O.
type Acknowledged struct {
	mu    sync.Mutex
	last  map[uint32]Position
	dirty bool // has changes that are not on disk
}

// Note stores a position, unless a newer one is known.
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

// Load reads the file that Store wrote: a line of JSON and its checksum. Without the checksum a changed digit would
// tell a member that it lacks records. After an error the caller may go on without the file.
func (a *Acknowledged) Load(path string) error {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b, whole := syncwriter.CutSum(raw)
	if !whole {
		return fmt.Errorf("%s differs from what was written", path)
	}
	return json.Unmarshal(b, &a.last)
}

// Store writes the positions to a file if they have changed.
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
	raw = syncwriter.AppendSum(append(raw, '\n'))
	next := path + ".new"
	if err = WriteFile(next, raw, sync); err == nil {
		err = os.Rename(next, path)
	}
	if err != nil { // the file is unchanged, and the next call tries again
		a.mu.Lock()
		a.dirty = true
		a.mu.Unlock()
	}
	return err
}
