package index

import (
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/spread"
	"github.com/cairndb/cairn/oplog/state"
)

// A changeover holds the vectors of the embedder to which a database changes. Questions use them once all are made;
// then they replace the others. No file has them: an index that is opened meanwhile reads them from the state.
type changeover struct {
	number uint32        // oplog.Embedding.Changes
	epoch  uint32        // of these vectors
	store  *vector.Store // nil before the first vector
}

func (c *changeover) put(row uint32, unit []float32) {
	if c.store == nil {
		c.store = newVectors(len(unit), c.epoch)
	}
	if len(unit) == c.store.Dim() {
		c.store.Put(row, c.store.Prepare(unit))
	}
}

// changeOver follows the state's current and pending embedder of the database. It reports whether other vectors
// answer from now on.
func (d *database) changeOver(v *state.View, id oplog.DB) (changed bool) {
	now, same := v.Embedding(id), false
	if d.pending != nil {
		same = d.pending.number == now.Changes
	}
	if now.Epoch != d.epoch {
		var store *vector.Store
		if same {
			store = d.pending.store
		}
		d.vectors.Store(store)
		d.epoch, changed = now.Epoch, true
		d.version.Add(1)
	}
	switch {
	case now.Pending == nil:
		d.pending = nil
	case !same:
		d.pending = &changeover{number: now.Changes, epoch: now.Epoch + 1}
	}
	return changed
}

// gatherPending reads the pending embedder's vectors of memories that have rows already.
func (d *database) gatherPending(v *state.View, id oplog.DB, list []renewal) {
	if d.pending == nil {
		return
	}
	for _, r := range list {
		row, ok := d.rowOf(r.seq)
		if !ok {
			continue
		}
		if unit := vector.Unit(v.PendingVector(id, r.seq).Floats()); unit != nil {
			d.pending.put(row, unit)
		}
	}
}

// readVectors completes an index that was opened: no file has the vectors of the pending embedder, nor those of a
// current one that is newer than the files.
func (d *database) readVectors(v *state.View, id oplog.DB) {
	if d.withoutVectors {
		d.withoutVectors = false
		d.vectors.Store(d.vectorsFromState(v, id, false))
		d.version.Add(1)
		d.repartition(v, id)
	}
	if now := v.Embedding(id); now.Pending != nil {
		d.pending = &changeover{number: now.Changes, epoch: now.Epoch + 1, store: d.vectorsFromState(v, id, true)}
	}
}

// vectorsFromState reads the vectors of all rows from the state; nil when there are none.
func (d *database) vectorsFromState(v *state.View, id oplog.DB, pending bool) (store *vector.Store) {
	epoch := d.epoch
	if pending {
		epoch++
	}
	var rows []uint32
	var units [][]float32
	flush := func() {
		for i, p := range prepareAll(store, units) {
			store.Put(rows[i], p)
		}
		rows, units = rows[:0], units[:0]
	}
	v.Vectors(id, pending, func(seq oplog.Seq, vec oplog.Vector) bool {
		row, ok := d.rowOf(seq)
		unit := vector.Unit(vec.Floats())
		if !ok || unit == nil || store != nil && len(unit) != store.Dim() {
			return true
		}
		if store == nil {
			store = newVectors(len(unit), epoch)
		}
		if rows, units = append(rows, row), append(units, unit); len(rows) == pageRows {
			flush()
		}
		return true
	})
	if len(rows) > 0 {
		flush()
	}
	return store
}

func newVectors(dim int, epoch uint32) *vector.Store {
	s := vector.New(dim)
	s.Epoch = epoch
	return s
}

// prepareAll quantises vectors, many of them on several processors.
func prepareAll(store *vector.Store, units [][]float32) []vector.Prepared {
	out := make([]vector.Prepared, len(units))
	spread.Over(len(units), unitsEach, func(from, to int) {
		for i := from; i < to; i++ {
			out[i] = store.Prepare(units[i])
		}
	})
	return out
}

// unitsEach is the number of vectors for which another processor is used.
const unitsEach = 16
