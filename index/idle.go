package index

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/pause"
	"github.com/cairndb/cairn/oplog/state"
)

// A database whose index is closed costs a place in a table. A small one has no files: its index is made from the
// state when a question comes, so that entries skip a closed one. An index with files is closed when a checkpoint has
// all of it and nothing came since. Entries skip it as well, and defer the ids of the memories that they touch to the
// next opening (opening.go). A start opens a few large indexes of those that were open, and leaves the others closed
// (restart.go).
//
// Invariant: only the task that holds the turn of a database closes, feeds or replaces its index. Entries that Follow
// skips because the index is closed are in the state already, and the opening reads the state after that. What comes
// between the begin and the end of an opening is deferred to it.

// Bounds of an index that is made from the state. A larger one has files.
const (
	SmallRows  = 256      // memories that the database was ever given; a node's Config.Small
	smallBytes = 1 << 20  // of its words
	smallAll   = 64 << 20 // of the words of all that are open
)

// followRows bounds the memories that Follow reads itself to make the files of an index that has none.
const followRows = 1000

// turns holds one lock for each database, so a question that opens a large index delays no other database.
type turns struct {
	mu sync.Mutex // held while all locks are taken, so that none is added
	by map[oplog.DB]*sync.Mutex
}

// turn returns the lock that orders opening, closing and feeding a database's index.
func (x *Index) turn(id oplog.DB) *sync.Mutex {
	t := &x.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	turn := t.by[id]
	if turn == nil {
		turn = new(sync.Mutex)
		t.by[id] = turn
	}
	return turn
}

func (x *Index) lockAllTurns() {
	x.turns.mu.Lock()
	for _, turn := range x.turns.by {
		turn.Lock()
	}
}

func (x *Index) unlockAllTurns() {
	for _, turn := range x.turns.by {
		turn.Unlock()
	}
	x.turns.mu.Unlock()
}

// small reports whether a database needs no files.
func (x *Index) small(v *state.View, id oplog.DB) bool {
	return x.cfg.Small > 0 && v.Stats(id).NextSeq <= uint64(x.cfg.Small)
}

// openClosed opens the index of a database as of a view. The caller makes searches find it.
func (x *Index) openClosed(ctx context.Context, v *state.View, info oplog.Database) (d *database, err error) {
	x.mu.RLock()
	files, parked := x.parked[info.ID]
	gen := x.live
	x.mu.RUnlock()
	if !parked && x.small(v, info.ID) {
		if d, err = x.openFromState(ctx, v, info); d != nil || err != nil {
			return d, err
		}
	}
	return x.openFromFiles(ctx, v, info, gen, files)
}

// openFromState makes a small index; nil when it is not small after all.
func (x *Index) openFromState(ctx context.Context, v *state.View, info oplog.Database) (*database, error) {
	words, err := text.Open(text.Config{Cache: x.cache, Backlog: x.tails, Logger: x.cfg.Logger})
	if err != nil {
		return nil, err
	}
	d := newDatabase("", words)
	d.memory = true
	d.names.load(v, info.ID)
	d.epoch, d.asOf = v.Embedding(info.ID).Epoch, v.Index()
	if err := x.readAll(ctx, v, info, d); err != nil {
		return nil, errors.Join(err, words.Close())
	}
	d.readVectors(v, info.ID)
	if words.Lag().Bytes > smallBytes {
		return nil, words.Close()
	}
	return d, nil
}

// openFromFiles opens an index from the files that it was closed with, or makes it and its files from the state.
func (x *Index) openFromFiles(ctx context.Context, v *state.View, info oplog.Database, gen int, files databaseFiles) (*database, error) {
	d, revived, err := x.load(ctx, v, info, gen, files.Dir, files)
	if err == nil && revived {
		err = x.confirm(ctx, v, info.ID, d)
	}
	switch {
	case err != nil && d != nil:
		return nil, errors.Join(err, d.words.Close())
	case err != nil:
		return nil, err
	}
	d.readVectors(v, info.ID)
	switch {
	case revived && d.version.Load() == 0:
		d.saved.Store(&savedFiles{databaseFiles: files})
	default:
		d.version.Add(1)
	}
	return d, nil
}

// install lets searches find an index, in place of the one they have. The caller has its turn.
func (x *Index) install(id oplog.DB, d *database) error {
	d.used.Store(time.Now().UnixNano())
	x.mu.Lock()
	if x.dbs == nil {
		x.mu.Unlock()
		return errors.Join(text.ErrClosed, d.words.Close())
	}
	old := x.dbs[id]
	x.dbs[id] = d
	delete(x.parked, id)
	delete(x.counted, id)
	x.mu.Unlock()
	if old != nil {
		old.drop()
	}
	return nil
}

// toFollow returns the index of a database for which entries came; nil when it stays closed, or is opened in the
// background. The caller has its turn.
func (x *Index) toFollow(ctx context.Context, v *state.View, info oplog.Database, list memories) (*database, error) {
	id := info.ID
	x.mu.Lock()
	d := x.dbs[id]
	files, parked := x.parked[id]
	if d == nil && !parked {
		delete(x.counted, id)
	}
	gen := x.live
	x.mu.Unlock()
	switch {
	case d != nil && !d.memory:
		d.used.Store(time.Now().UnixNano())
		return d, nil
	case d != nil && x.small(v, id) && d.words.Lag().Bytes <= smallBytes:
		return d, nil
	case d == nil && (len(list) == 0 || !parked && x.small(v, id)):
		return nil, nil
	case d == nil && (parked || v.Stats(id).NextSeq > followRows):
		x.deferClosed(id, list, !parked)
		return nil, nil
	}
	d, err := x.openFromFiles(ctx, v, info, gen, files)
	if err != nil {
		return nil, err
	}
	return d, x.install(id, d)
}

// closeIdle closes unused indexes until ctx ends.
func (x *Index) closeIdle(ctx context.Context) {
	every := time.Second
	if x.cfg.Idle > 0 {
		every = min(every, max(x.cfg.Idle/4, 10*time.Millisecond))
	}
	for now := range pause.Ticks(ctx.Done(), every) {
		since := time.Unix(0, 0)
		if x.cfg.Idle > 0 {
			since = now.Add(-x.cfg.Idle)
		}
		x.closeUnused(since)
	}
}

// closeUnused closes the indexes not used since a time. One with files that no checkpoint has is closed the next
// time.
func (x *Index) closeUnused(since time.Time) {
	list := x.byUse()
	excess := len(list) - x.cfg.MaxOpen
	dirty := false
	x.following.Lock()
	defer x.following.Unlock()
	busy := x.checkpoints.busy()
	for i, o := range list {
		if o.used >= since.UnixNano() && (x.cfg.MaxOpen == 0 || i >= excess) {
			break
		}
		if (o.d.memory || !busy) && !x.park(o.id) {
			dirty = dirty || !o.d.memory && !o.d.inCheckpoint()
		}
	}
	if dirty && !busy && !x.checkpoints.partial {
		x.startCheckpoint()
	}
}

// closeExcess closes the least recently used small indexes when there are too many.
func (x *Index) closeExcess() {
	if x.cfg.MaxOpen == 0 {
		return
	}
	list := x.byUse()
	bytes, open := 0, len(list)
	for _, o := range list {
		if o.d.memory {
			bytes += o.d.words.Lag().Bytes
		}
	}
	for _, o := range list {
		if open <= x.cfg.MaxOpen && bytes <= smallAll {
			return
		}
		if size := o.d.words.Lag().Bytes; o.d.memory && x.park(o.id) {
			open, bytes = open-1, bytes-size
		}
	}
}

type opened struct {
	id   oplog.DB
	d    *database
	used int64
}

// byUse returns the open indexes, the least recently used first.
func (x *Index) byUse() (list []opened) {
	x.mu.RLock()
	for id, d := range x.dbs {
		list = append(list, opened{id, d, d.used.Load()})
	}
	x.mu.RUnlock()
	slices.SortFunc(list, func(a, b opened) int { return cmp.Or(cmp.Compare(a.used, b.used), cmp.Compare(a.id, b.id)) })
	return list
}

// inCheckpoint reports whether the newest checkpoint has all of an index.
func (d *database) inCheckpoint() bool {
	saved := d.saved.Load()
	return saved != nil && saved.version == d.version.Load()
}

// onDisk reports whether the files hold all of an index. The caller has its turn.
func (d *database) onDisk() bool {
	lag := d.words.Lag()
	return d.inCheckpoint() && lag.Unsynced == 0 && lag.Err == nil
}

// park closes an index; false when it is in use or its files lack something. For an index with files the caller holds
// following, and no checkpoint is being written.
func (x *Index) park(id oplog.DB) bool {
	turn := x.turn(id)
	if !turn.TryLock() {
		return false // it is being used
	}
	defer turn.Unlock()
	x.mu.Lock()
	d := x.dbs[id]
	if d == nil || d.users.Load() > 0 || !d.memory && !d.onDisk() {
		x.mu.Unlock()
		return false
	}
	delete(x.dbs, id)
	if !d.memory {
		x.parked[id] = d.saved.Load().databaseFiles
	}
	x.counted[id] = d.withVectors()
	x.mu.Unlock()
	d.words.Close() // nothing is left to write
	return true
}
