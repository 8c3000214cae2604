package index

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// CloseUnused closes every index that no search uses, as if it had been idle for long.
func CloseUnused(x *Index) { x.closeUnused(time.Now().Add(time.Hour)) }

// OpenNow returns the number of open indexes.
func OpenNow(x *Index) int { return len(x.byUse()) }

// Checkpointed waits for the checkpoint that is being written.
func Checkpointed(x *Index) {
	x.following.Lock()
	defer x.following.Unlock()
	x.checkpoints.wait()
}

// Busy adds to the number of searches under way. With many, each search runs words and vectors in sequence.
func Busy(x *Index, more int32) { x.searching.Add(more) }

// CheckMembers checks the lists of rows by facet: each must have every live row of its facet, and count them.
func CheckMembers(x *Index, id oplog.DB) error {
	d, err := x.acquire(id)
	if err != nil {
		return err
	}
	defer d.release()
	lists, rows := *d.facets.members.Load(), d.cols.view()
	live := make([]int64, len(lists))
	for row := range rows.n {
		if rows.died(row).Load() != 0 {
			continue
		}
		f := rows.facet(row).Load()
		if live[f]++; !slices.Contains(*lists[f].rows.Load(), row) {
			return fmt.Errorf("row %d is not in the list of its facet, %d", row, f)
		}
	}
	for f, m := range lists {
		if n, listed := m.live.Load(), len(*m.rows.Load()); n != live[f] || n > int64(listed) {
			return fmt.Errorf("facet %d counts %d live rows and lists %d, want %d", f, n, listed, live[f])
		}
	}
	return nil
}

// Loading sets the function that is called before a closed index is loaded, and how many memories an opening may
// leave for later (0 for the default).
func Loading(cfg *Config, left int, f func(oplog.DB)) { cfg.deferred, cfg.loading = left, f }

// Pieces sets after how many changes a piece of a checkpoint is written.
func Pieces(cfg *Config, after int) { cfg.piece = after }

// PiecesOf returns the files of a checkpoint's pieces, and the number of rows in each.
func PiecesOf(x *Index, db oplog.DB) (files []string, rows map[string]int) {
	x.following.Lock()
	defer x.following.Unlock()
	x.checkpoints.wait()
	rows = map[string]int{}
	for _, p := range x.checkpoints.last[db].Pieces {
		files = append(files, p.File)
		rows[p.File] = p.Size
	}
	return files, rows
}

// Names returns how many names of entities the index of a database knows.
func Names(x *Index, id oplog.DB) (n int) {
	for _, same := range x.database(id).names.entities {
		n += len(same)
	}
	return n
}

// Chunks returns how many chunks of rows a database holds.
func Chunks(x *Index, db oplog.DB) (n int) {
	for _, c := range x.database(db).cols.view().chunks {
		if c != deadChunk() {
			n++
		}
	}
	return n
}

// Kept returns how many sessions, speakers and entries of facets' lists a database holds.
func Kept(x *Index, db oplog.DB) (sessions, speakers, entries int) {
	d := x.database(db)
	for _, m := range *d.facets.members.Load() {
		entries += len(*m.rows.Load())
	}
	return len(d.sessionIDs), len(d.strings), entries
}

// SweptAfter and AttributeEntries return how many rows the lists of attributes hold.
const SweptAfter = sweepSlack

func AttributeEntries(x *Index, db oplog.DB) int { return x.database(db).facets.attributes.entries }

// A Lag says how much of what searches find is not on disk yet, over all databases. A restart analyses that much
// again.
type Lag struct {
	Bytes    int
	Unsynced uint64 // changes
	Err      error  // why writing stopped, if it did: answers stay right, the next Open rebuilds
}

// Lag returns how far the disk is behind.
func (x *Index) Lag() (sum Lag) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, d := range x.dbs {
		l := d.words.Lag()
		sum.Bytes, sum.Unsynced = sum.Bytes+l.Bytes, sum.Unsynced+l.Unsynced
		sum.Err = errors.Join(sum.Err, l.Err)
	}
	return sum
}
