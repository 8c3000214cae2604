package index

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A start works for open indexes, not for all that exist. Of the indexes that were open when the last checkpoint was
// written it opens the largest, which take the longest. All others stay closed until a question comes. The log after
// the checkpoint is read once: memories of open indexes are refreshed, ids of the others are deferred to their next
// opening.

// openedAtStart bounds the indexes that a start opens.
const openedAtStart = 8

// A buildResult holds the indexes that a build made. They replace the searched ones.
type buildResult struct {
	dbs      map[oplog.DB]*database
	parked   map[oplog.DB]databaseFiles
	counted  map[oplog.DB]vectorCount
	openings map[oplog.DB]*opening
}

func newBuildResult() *buildResult {
	return &buildResult{map[oplog.DB]*database{}, map[oplog.DB]databaseFiles{}, map[oplog.DB]vectorCount{}, map[oplog.DB]*opening{}}
}

// park leaves an index closed. catchUp adds what the log says of it after its files.
func (m *buildResult) park(id oplog.DB, files databaseFiles) {
	m.parked[id] = files
	if files.Counted.Of > 0 {
		m.counted[id] = files.Counted
	}
}

// deferTo defers the memories of an entry to the opening of an index that stays closed.
func (m *buildResult) deferTo(o oplog.Outcome) {
	id := o.Entry.DB
	if slices.ContainsFunc(o.Entry.Ops, changesEmbedder) {
		delete(m.counted, id)
	}
	own := touched{}
	if own.add(o); len(own[id]) == 0 {
		return
	}
	w := m.openings[id]
	if w == nil {
		w = newOpening()
		w.behind, w.since = true, m.parked[id].At
		m.openings[id] = w
		delete(m.counted, id)
	}
	w.deferred.addUnread(id, own[id])
}

// toOpen chooses among the databases whose files can be used.
func toOpen(v *state.View, usable map[oplog.DB]databaseFiles) map[oplog.DB]bool {
	type size struct {
		id   oplog.DB
		rows uint64
	}
	var open []size
	for id, f := range usable {
		if f.Open {
			open = append(open, size{id, v.Stats(id).NextSeq})
		}
	}
	slices.SortFunc(open, func(a, b size) int { return cmp.Or(cmp.Compare(b.rows, a.rows), cmp.Compare(a.id, b.id)) })
	chosen := map[oplog.DB]bool{}
	for _, s := range open[:min(len(open), openedAtStart)] {
		chosen[s.id] = true
	}
	return chosen
}

// usableFiles returns the files of a checkpoint from which an index can be opened: the log has all later entries.
func (x *Index) usableFiles(v *state.View, head checkpoint) map[oplog.DB]databaseFiles {
	all := map[oplog.DB]databaseFiles{}
	begins := sync.OnceValue(func() oplog.Index { // only when needed: the log may not be open yet
		first, _, _, kept := v.Retained()
		if !kept {
			first = v.Index() + 1
		}
		return first
	})
	for _, d := range v.Databases() {
		f, ok := head.Databases[d.ID]
		if ok && f.At >= d.Purged && f.Dir != "" && f.Dir == x.dirs[d.ID] && (f.At == v.Index() || begins() <= f.At+1) {
			all[d.ID] = f
		}
	}
	return all
}

// loadAll makes the indexes of all databases that are to have files, or leaves them closed.
func (x *Index) loadAll(ctx context.Context, v *state.View, gen int, adopt bool, m *buildResult) error {
	var head checkpoint
	if adopt {
		head = x.loadHead(ctx, v)
		if err := ctx.Err(); err != nil {
			return err // the head was not compared with the log, which did not open: leave the files as they are
		}
	}
	usable := x.usableFiles(v, head)
	open := toOpen(v, usable)
	revived := map[oplog.DB]*database{}
	for _, d := range v.Databases() {
		dir := ""
		if adopt {
			dir = x.dirs[d.ID]
		}
		files, ok := usable[d.ID]
		switch {
		case dir == "" && x.small(v, d.ID):
			continue
		case ok && !open[d.ID]:
			m.park(d.ID, files)
			continue
		}
		db, restored, err := x.load(ctx, v, d, gen, dir, files)
		if db != nil {
			m.dbs[d.ID] = db
		}
		if err != nil {
			return err
		}
		if restored {
			revived[d.ID] = db
		} else {
			delete(x.checkpoints.last, d.ID)
		}
	}
	if err := cmp.Or(x.catchUp(ctx, v, usable, revived, m), ctx.Err()); err != nil {
		return err
	}
	for id, db := range m.dbs {
		db.readVectors(v, id)
	}
	return nil
}

// catchUpOps is the number of operations that catchUp gathers before it refreshes the memories that they touch.
const catchUpOps = 2000

// catchUp reads the log after the files of a checkpoint: it refreshes the memories of open indexes, defers those of
// closed ones to their openings, and deletes rows on disk that neither checkpoint nor state confirms.
func (x *Index) catchUp(ctx context.Context, v *state.View, usable map[oplog.DB]databaseFiles, dbs map[oplog.DB]*database, m *buildResult) error {
	if len(dbs)+len(m.parked) == 0 {
		return nil
	}
	page, n, before := touched{}, 0, x.checkpoints.changes.Load()
	flush := func() error {
		for id, rids := range page {
			if err := x.renew(ctx, v, id, dbs[id], rids); err != nil {
				return err
			}
		}
		clear(page)
		return ctx.Err()
	}
	from := v.Index()
	for _, f := range usable {
		from = min(from, f.At)
	}
	var failed, err error
	if from < v.Index() {
		err = v.Log(from+1, func(o oplog.Outcome) bool {
			id := o.Entry.DB
			if o.Index <= usable[id].At {
				return true
			}
			switch _, parked := m.parked[id]; {
			case dbs[id] != nil:
				page.add(o)
			case parked:
				m.deferTo(o)
			default:
				return true
			}
			if n += len(o.Entry.Ops); n >= catchUpOps {
				n, failed = 0, flush()
			}
			return failed == nil
		})
	}
	if err = cmp.Or(err, failed); err == nil {
		err = flush()
	}
	for id, d := range dbs {
		if err == nil {
			err = x.confirm(ctx, v, id, d)
		}
	}
	x.cfg.Logger.Debug("index ready", "open", len(m.dbs), "closed", len(m.parked), "read", x.checkpoints.changes.Load()-before)
	return err
}
