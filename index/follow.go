package index

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/state"
)

// ErrPartial reports that an earlier batch failed half way: part of that batch is missing, and following a later one
// would hide the gap. Rebuild closes the gap.
var ErrPartial = errors.New("the index lacks a part of the log and must be rebuilt")

// Follow indexes the outcomes of applied entries. One goroutine calls it, in log order. The state that it reads may
// already be ahead of an outcome; the later outcome then finds its work done.
//
// Invariant: the position that a checkpoint claims moves only when all work up to it is done. After an error there is
// no checkpoint and no further step before a Rebuild; the next Open continues from the last checkpoint. If the text
// index met damage while it wrote, Follow rebuilds the index.
func (x *Index) Follow(ctx context.Context, batch []oplog.Outcome) error {
	x.following.Lock()
	defer x.following.Unlock()
	switch {
	case x.checkpoints.partial:
		return ErrPartial
	case len(batch) == 0:
		return nil
	}
	x.checkpoints.partial = true
	err := x.follow(ctx, batch)
	if errors.Is(err, text.ErrCorrupt) {
		x.cfg.Logger.Error("a file of the index is damaged: the indexes of all databases are rebuilt from the state",
			"dir", x.cfg.Dir, "err", err)
		x.noteDiscarded("", damage.PathOf(err, x.cfg.Dir))
		_, err = x.rebuild(ctx)
		return err
	}
	if err != nil {
		return err
	}
	newest := batch[len(batch)-1]
	x.checkpoints.at, x.checkpoints.time, x.checkpoints.partial = newest.Index, newest.HLC, false
	x.checkpoint()
	return nil
}

func (x *Index) follow(ctx context.Context, batch []oplog.Outcome) error {
	touched, ops := touched{}, map[oplog.DB][]oplog.Op{}
	var dropped []oplog.DB
	for _, o := range batch {
		if o.Err != nil || o.Replayed {
			continue
		}
		for i, op := range o.Entry.Ops {
			if _, ok := op.(*oplog.DropDB); ok {
				dropped = append(dropped, oplog.DB(o.Results[i].Num))
			}
		}
		ops[o.Entry.DB] = append(ops[o.Entry.DB], o.Entry.Ops...)
		touched.add(o)
	}
	if len(touched)+len(dropped) == 0 {
		return nil
	}
	return x.cfg.State.Read(func(v *state.View) error {
		if x.checkpoints.cluster == "" {
			x.checkpoints.cluster = v.Cluster()
		}
		for _, id := range dropped {
			x.drop(id)
		}
		for id, memories := range touched {
			if err := x.refresh(ctx, v, id, ops[id], memories); err != nil {
				return err
			}
		}
		return nil
	})
}

// touched holds the memories that a batch changed, by database.
type touched map[oplog.DB]memories

// memories holds memories of a database by RID. Each has the content of the outcome, or has to be read from the
// state.
type memories map[string]storedMemory

// A storedMemory holds a memory as an outcome stored it. The zero value stands for a memory that has to be read from
// the state.
type storedMemory struct {
	oplog.Stored
	at oplog.Index
}

// addUnread adds a memory that has to be read from the state.
func (t memories) addUnread(rid string) { t[rid] = storedMemory{} }

// addStored adds a memory as it was stored. If the batch touches it twice, it has to be read from the state.
func (t memories) addStored(s oplog.Stored, at oplog.Index) {
	b := storedMemory{s, at}
	if _, more := t[s.Memory.RID]; more {
		b = storedMemory{}
	}
	t[s.Memory.RID] = b
}

func (t touched) of(db oplog.DB) memories {
	if t[db] == nil {
		t[db] = memories{}
	}
	return t[db]
}

func (t touched) add(o oplog.Outcome) {
	list := t.of(o.Entry.DB)
	for i, op := range o.Entry.Ops {
		if o.Stored != nil && o.Stored[i].Memory != nil {
			list.addStored(o.Stored[i], o.Index)
			continue
		}
		for _, rid := range rows(op) {
			list.addUnread(rid)
		}
	}
	for _, r := range o.Results {
		for _, rid := range r.Rows {
			list.addUnread(rid)
		}
	}
}

// addUnread adds memories that have to be read from the state.
func (t touched) addUnread(db oplog.DB, list memories) {
	own := t.of(db)
	for rid := range list {
		own.addUnread(rid)
	}
}

// rows returns the memories an operation touches.
func rows(op oplog.Op) []string {
	switch op := op.(type) {
	case *oplog.Remember:
		return []string{op.RID}
	case *oplog.Correct:
		return []string{op.RID}
	case *oplog.Forget:
		return []string{op.RID}
	case *oplog.Sweep:
		return op.RIDs
	case *oplog.Foreign:
		return rows(op.Effect())
	case *oplog.Reinforce:
		out := make([]string, len(op.Hits))
		for i, h := range op.Hits {
			out[i] = h.RID
		}
		return out
	}
	return nil
}

// refresh brings the index of a database up to date with operations and the memories that they touched. It does not
// wait for an index that is closed or being opened.
func (x *Index) refresh(ctx context.Context, v *state.View, id oplog.DB, ops []oplog.Op, list memories) error {
	info, ok := v.Database(id)
	if !ok {
		return nil
	}
	if slices.ContainsFunc(ops, changesEmbedder) {
		x.mu.Lock()
		delete(x.counted, id) // from now on the vectors of another embedder count
		x.mu.Unlock()
	}
	if x.deferTo(id, list) {
		return nil
	}
	turn := x.turn(id)
	turn.Lock()
	defer turn.Unlock()
	db, err := x.toFollow(ctx, v, info, list)
	if db == nil || err != nil {
		return err
	}
	divided := false
	for _, op := range ops {
		db.names.addFrom(op)
		divided = divided || repartitions(op)
	}
	switch {
	case db.names.outgrown(v.Stats(id).Entities):
		db.names.load(v, id)
	case slices.ContainsFunc(ops, erasesName): // Apply removed the aliases of that name: read all again
		db.names.loadAliases(v, id)
	}
	x.mu.RLock()
	duringRemake := x.remade[id]
	x.mu.RUnlock()
	if duringRemake != nil {
		duringRemake.addUnread(id, list)
	}
	if (db.changeOver(v, id) || divided) && db.repartition(v, id) {
		x.checkpoints.due(x.cfg.piece)
	}
	return x.renew(ctx, v, id, db, list)
}

// A renewal is a memory that is to be refreshed.
type renewal struct {
	seq oplog.Seq
	storedMemory
}

// renew refreshes some memories of a database, in the order in which they were stored: row numbers follow that order.
//
// Invariant: a memory in an outcome is newer than what the index has of it. No entry touches a memory before the one
// that stores it, and memories from before the index was made (asOf) are read from the state.
func (x *Index) renew(ctx context.Context, v *state.View, id oplog.DB, db *database, list memories) error {
	todo := make([]renewal, 0, len(list))
	for rid, b := range list {
		if b.Memory != nil && b.at > db.asOf && b.Epoch == db.epoch {
			todo = append(todo, renewal{b.Memory.Seq, b})
		} else if seq, ok := v.Seq(id, rid); ok {
			todo = append(todo, renewal{seq: seq})
		}
	}
	slices.SortFunc(todo, func(a, b renewal) int { return cmp.Compare(a.seq, b.seq) })
	p := page{x: x, db: db}
	for _, r := range todo {
		var err error
		if r.Memory != nil {
			err = p.add(ctx, r.Memory, r.Vector)
		} else {
			err = p.read(ctx, v, id, r.seq)
		}
		if err != nil {
			return err
		}
	}
	if err := p.flush(ctx); err != nil {
		return err
	}
	db.gatherPending(v, id, todo)
	return nil
}

// reread refreshes memories by their sequence numbers, which ascend.
func (x *Index) reread(ctx context.Context, v *state.View, id oplog.DB, db *database, seqs []oplog.Seq) error {
	p := page{x: x, db: db}
	for _, seq := range seqs {
		if err := p.read(ctx, v, id, seq); err != nil {
			return err
		}
	}
	return p.flush(ctx)
}

// drop closes and removes the index of a database.
func (x *Index) drop(id oplog.DB) {
	x.forgetUnbegun(id)
	if x.deferTo(id, memories{}) {
		return // the opening finds that the database is gone
	}
	turn := x.turn(id)
	turn.Lock()
	defer turn.Unlock()
	x.mu.Lock()
	d, files := x.dbs[id], x.parked[id]
	delete(x.dbs, id)
	delete(x.parked, id)
	delete(x.counted, id)
	x.mu.Unlock()
	switch {
	case d != nil:
		d.drop()
	default:
		x.removeFiles(files) // the next Open removes what this leaves
	}
}

// removeFiles removes the files of a closed index.
func (x *Index) removeFiles(files databaseFiles) error {
	if files.Dir == "" {
		return nil
	}
	return os.RemoveAll(filepath.Join(x.cfg.Dir, files.Dir))
}
