package text

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
)

const (
	blockRows  = 4096            // rows after which a block is sealed
	blockBytes = 4 << 20         // bytes after which it is
	linger     = 2 * time.Second // from a change to Bleve while changes are few: the tail answers meanwhile
)

// roundBlocks limits the blocks given to Bleve at once when there is a backlog: indexing each takes a core, and
// several times the block's memory.
var roundBlocks = min(4, runtime.GOMAXPROCS(0))

// runIndexer is the task that writes to Bleve; no other task does.
func (x *Index) runIndexer() {
	for range x.wake {
		for {
			x.linger()
			round, last, ok := x.nextRound()
			if !ok {
				break
			}
			if err := x.write(round, last); err != nil {
				x.fail(err) // the snapshot stays: a newer one may have rows of the round, which the tail has as well
				return
			}
		}
		if err := x.refresh(); err != nil {
			x.fail(err)
		}
		x.mu.Lock()
		stop := x.closed || x.err != nil
		x.mu.Unlock()
		if stop {
			return
		}
	}
}

// mayLinger reports whether waiting makes a larger batch without delaying a Sync, Close or a full backlog.
func (x *Index) mayLinger() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return !x.closed && x.syncing == 0 && len(x.sealed) == 0 && !x.open.empty() && x.cfg.Backlog.full() == nil
}

// linger waits for more rows, to make a larger batch: every batch costs a segment, and an fsync of the disk to which
// the log syncs too. No caller waits for it, because the tail answers searches meanwhile.
func (x *Index) linger() {
	t := time.NewTimer(linger)
	defer t.Stop()
	for x.mayLinger() {
		select {
		case <-t.C:
			return
		case <-x.wake:
		}
	}
}

// sealLocked closes the open block to changes and starts another. When a change is cut in the middle, both blocks
// carry the number of the change before it: only the block in which a change ends may claim that all of it is there.
func (x *Index) sealLocked() {
	full := x.open
	x.sealed = append(x.sealed, full)
	x.open = newBlock()
	x.open.seq, x.open.bytesAdded = full.seq, full.bytesAdded
}

// nextRound picks the blocks of the next round; last is the newest. batch leaves out rows that died already, so the
// blocks of a round may be written in any order: a deletion never has to follow its own row.
func (x *Index) nextRound() (round []*block, last *block, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed || x.err != nil {
		return nil, nil, false
	}
	if !x.open.empty() && len(x.sealed) == 0 {
		x.sealLocked()
	}
	if len(x.sealed) == 0 {
		if x.syncing == 0 || x.flushing >= x.seq {
			return nil, nil, false
		}
		x.sealLocked() // an empty block, with the number of the last change
	}
	round = x.sealed[:min(len(x.sealed), roundBlocks):min(len(x.sealed), roundBlocks)]
	return round, round[len(round)-1], true
}

// How building a segment gives way to requests: no caller waits for one, because the tail answers meanwhile.
const (
	workSlice  = time.Millisecond / 2
	sleepShare = 3 // times as long as the work
)

// yielding returns the function that the building of a segment calls again and again. After each moment of work it
// sleeps for several, unless more rows wait, in this index or in all together, or a caller waits for the disk.
func (x *Index) yielding() func() {
	began := time.Now()
	return func() {
		worked := time.Since(began)
		if worked < workSlice {
			return
		}
		x.mu.Lock()
		idle := !x.closed && x.syncing == 0 && len(x.sealed) <= 1 && x.cfg.Backlog.full() == nil // the one sealed block is being written
		x.mu.Unlock()
		if idle {
			time.Sleep(sleepShare * worked)
		}
		began = time.Now()
	}
}

// write gives a round to Bleve and then swaps the tail's blocks for Bleve's segments in one step.
//
// Invariant: the last batch of a round, after which all its changes count as persisted, goes to Bleve with or after
// all others.
func (x *Index) write(round []*block, last *block) error {
	if len(round) == 1 {
		if err := x.store.Batch(x.batch(last, last)); err != nil {
			return fmt.Errorf("write batch: %w", err)
		}
	} else {
		errs := make([]error, len(round))
		var wg sync.WaitGroup
		for i, b := range round {
			wg.Go(func() { errs[i] = x.store.Batch(x.batch(b, nil)) })
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return fmt.Errorf("write batch: %w", err)
			}
		}
		if err := x.store.Batch(x.batch(newBlock(), last)); err != nil {
			return fmt.Errorf("write batch: %w", err)
		}
	}
	x.mu.Lock()
	x.flushing = last.seq
	x.mu.Unlock()
	snap, err := x.readSnapshot()
	if err != nil {
		return err
	}
	x.publish(snap, round)
	return nil
}

// batch builds one Bleve batch of a block. If last is not nil, all changes up to that block are on disk once this
// batch is.
func (x *Index) batch(b, last *block) *bleve.Batch {
	out := bleve.NewBatch()
	for _, row := range b.deletes {
		out.Delete(hex8(row))
	}
	live := make([]bool, len(b.rows))
	x.mu.Lock()
	for i := range b.rows {
		live[i] = x.rows.live(b.rows[i].row)
	}
	x.mu.Unlock()
	p := &part{block: b, yield: x.yielding()}
	for i := range b.rows {
		if live[i] {
			p.rows = append(p.rows, &b.rows[i])
			out.Update(&bleveDoc{hex8(b.rows[i].row), &b.rows[i], p})
		}
	}
	if last != nil {
		out.SetInternal([]byte(keyState), storedState)
		out.SetPersistedCallback(func(err error) {
			if err != nil {
				return // Bleve tries again
			}
			if err := x.writeMarker(); err != nil {
				x.cfg.Logger.Warn("text index marker not written", "err", err)
			}
			x.persistedUpTo(last)
		})
	}
	return out
}

// persistedUpTo records that every change up to a block is on disk. Bleve's persister calls it.
func (x *Index) persistedUpTo(b *block) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.persisted = max(x.persisted, b.seq)
	if b.bytesAdded > x.bytesStored {
		x.countBytesLocked(0, -int(b.bytesAdded-x.bytesStored))
		x.bytesStored = b.bytesAdded
	}
	x.changed.Broadcast()
	x.wakeIndexer() // to swap segments in memory for files
}

// publish removes the round's blocks from the tail, and installs the snapshot that has their rows.
func (x *Index) publish(snap *snapshot, round []*block) {
	x.mu.Lock()
	old := x.snap
	x.snap = snap
	x.sealed = append([]*block(nil), x.sealed[len(round):]...)
	for _, b := range round {
		x.countBytesLocked(-b.bytes, 0)
	}
	unused := x.forgetTablesLocked()
	x.changed.Broadcast()
	x.mu.Unlock()
	x.discard(old, unused)
}

// fail stops the indexer for good: the index keeps answering from memory, Sync
// and Ready report why, and the owner reopens it.
func (x *Index) fail(err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil { // the first one stays
		return
	}
	x.err = err
	x.releaseLocked()
	x.changed.Broadcast()
	x.cfg.Logger.Error("text indexer stopped", "err", err)
}

// readSnapshot takes Bleve's current reader and prepares the tables of segments not met before.
func (x *Index) readSnapshot() (*snapshot, error) {
	r, err := x.store.Reader()
	if err != nil {
		return nil, fmt.Errorf("bleve reader: %w", err)
	}
	return x.newSnapshot(r.(*scorch.IndexSnapshot))
}

func (x *Index) newSnapshot(reader *scorch.IndexSnapshot) (*snapshot, error) {
	snap := &snapshot{reader: reader}
	for _, s := range reader.Segments() {
		x.mu.Lock()
		info := x.infos[s.Id()]
		x.mu.Unlock()
		if info == nil {
			rows, err := loadRows(s.Segment(), func(uint32, uint32, uint32, uint16) {})
			if err != nil {
				reader.Close()
				return nil, err
			}
			info = &segmentInfo{id: s.Id(), rows: rows}
			x.mu.Lock()
			x.infos[s.Id()] = info
			x.mu.Unlock()
		}
		snap.segments = append(snap.segments, info)
	}
	return snap, nil
}

// replaceSnapshot replaces the snapshot; nil leaves none.
func (x *Index) replaceSnapshot(snap *snapshot) {
	x.mu.Lock()
	old := x.snap
	x.snap = snap
	unused := x.forgetTablesLocked()
	x.mu.Unlock()
	x.discard(old, unused)
}

// forgetTablesLocked removes the tables of segments that the current snapshot does not have.
func (x *Index) forgetTablesLocked() (unused []*segmentInfo) {
	keep := make(map[uint64]bool)
	if x.snap != nil {
		for _, s := range x.snap.segments {
			keep[s.id] = true
		}
	}
	for id, info := range x.infos {
		if !keep[id] {
			delete(x.infos, id)
			unused = append(unused, info)
		}
	}
	return unused
}

func (x *Index) discard(old *snapshot, unused []*segmentInfo) {
	old.release()
	for _, info := range unused {
		x.cfg.Cache.drop(info)
	}
}

// refresh takes over Bleve's persists and merges between rounds, so that replaced segments can be freed. Only the
// indexer calls it: during a round the newest reader may hold rows that the tail still has, and a search would find
// them twice.
func (x *Index) refresh() error {
	if !x.segmentsChanged() {
		return nil
	}
	snap, err := x.readSnapshot()
	if err == nil {
		x.replaceSnapshot(snap)
	}
	return err
}

// segmentsChanged reports whether Bleve has other segments than the snapshot.
func (x *Index) segmentsChanged() bool {
	if x.store == nil {
		return false
	}
	r, err := x.store.Reader()
	if err != nil {
		return false
	}
	defer r.Close()
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.snap != nil && r.(*scorch.IndexSnapshot) != x.snap.reader
}

// storedState is stored with every round: a format number and 8 zero bytes, big endian.
var storedState = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, format), 0)

// format is raised when the meaning of what is stored changes.
const format = 7

func checkFormat(state []byte) error {
	if len(state) != len(storedState) || binary.BigEndian.Uint32(state) != format {
		return corrupt(fmt.Errorf("stored state: %w", ErrVersion))
	}
	return nil
}
