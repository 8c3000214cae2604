package index

import (
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/spread"
)

// A change holds a memory's current content.
type change struct {
	m   *oplog.Memory
	vec oplog.Vector
}

// hasNoRow reports whether a memory has no row: it was forgotten, or is not searchable.
func (c *change) hasNoRow() bool { return c.m.Status == oplog.Tombstoned || !c.m.Indexed() }

// textVersion returns a number that grows with each revision of a memory. Its revision alone does not: an undo of a
// merge or a split takes back the revision that these made, and a later correction has the same number again.
func textVersion(m *oplog.Memory) uint32 { return m.Revision + 2*uint32(len(m.Undone)) }

// A prepared change has been analysed and quantised, without a lock.
type prepared struct {
	change
	onDisk bool // an earlier run left the row on disk
	row    uint32
	length uint32 // of the text, in tokens
	doc    text.Document
	stops  uint64
	refers bool
	times  text.Times

	attributes []filter.Attribute

	unit []float32
	code vector.Prepared
}

// prepare analyses the texts and quantises the vectors of new rows. It reads bySeq without a lock, because only its
// own goroutine, put's, changes it.
func (d *database) prepare(changes []change) (work []prepared, replaced bool) {
	work = make([]prepared, len(changes))
	var texts []string
	var analyse, fresh, added []int
	for i, c := range changes {
		work[i].change = c
		old, known := d.rowOf(c.m.Seq)
		if c.hasNoRow() {
			continue
		}
		if known && d.columnAt(old).revision == textVersion(c.m) {
			if store := d.vectors.Load(); len(c.vec) > 0 && (store == nil || !store.Has(old)) {
				fresh = append(fresh, i)
			}
			continue
		}
		replaced = replaced || known
		work[i].attributes, _ = filter.Attributes(c.m.Attributes) // they were checked before they were stored
		fresh, added = append(fresh, i), append(added, i)
		if a, ok := d.adopted[c.m.Seq]; ok && a.revision == textVersion(c.m) {
			work[i].onDisk, work[i].row, work[i].length = true, a.row, a.length
			delete(d.adopted, c.m.Seq)
			continue
		}
		texts, analyse = append(texts, c.m.Words()), append(analyse, i)
	}
	for i, doc := range text.Analyse(texts) {
		work[analyse[i]].doc, work[analyse[i]].length = doc, doc.Length()
	}
	spread.Over(len(added), readEach, func(from, to int) {
		for _, i := range added[from:to] {
			work[i].readText()
		}
	})
	d.prepareVectors(work, fresh)
	return work, replaced
}

// readEach is the number of texts for which another processor is used.
const readEach = 8

// readText computes the columns that depend on the text.
func (w *prepared) readText() {
	w.stops, w.refers, w.times = text.Stops(w.m.Text), text.Refers(w.m.Text), text.TimesOf(w.m.Text, int64(w.m.Created))
}

// prepareVectors quantises the vectors of the changes whose numbers are in fresh.
func (d *database) prepareVectors(work []prepared, fresh []int) {
	var embedded []int
	var units [][]float32
	store := d.vectors.Load()
	for _, i := range fresh {
		unit := vector.Unit(work[i].vec.Floats())
		if unit == nil {
			continue
		}
		if store == nil {
			store = newVectors(len(unit), d.epoch)
			store.Partition(d.partition, vector.Assignment{})
			d.vectors.Store(store)
		}
		if len(unit) == store.Dim() { // otherwise it is of another embedder: only the words find the row
			work[i].unit = unit
			embedded, units = append(embedded, i), append(units, unit)
		}
	}
	for n, p := range prepareAll(store, units) {
		work[embedded[n]].code = p
	}
}
