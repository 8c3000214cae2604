package index

import (
	"fmt"
	"slices"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
)

// changedSince is a revision that no memory has. A row whose words the text index lost gets it, so that the memory is
// indexed again.
const changedSince = ^uint32(0)

// A checkpointLoader fills an empty database from the pieces of a checkpoint, in their order.
type checkpointLoader struct {
	d           *database
	withVectors bool // the files' vectors are of the database's current embedder

	// State of the piece that is being read.
	p        *piece
	from     uint32 // of its rows
	columns  columnView
	facets   []uint32
	speakers []string
	sessions []uint32
	store    *vector.Store
	dim      int
}

// maxDim bounds the dimensions that a file may name.
const maxDim = 1 << 16

// read reads the file of a piece, and records its marks.
func (r *checkpointLoader) read(e *sectionReader, p *piece) error {
	d := r.d
	r.p, r.facets, r.speakers, r.sessions = p, nil, nil, nil
	r.from = e.u32()
	n, top := e.u32(), e.u64()
	r.dim = int(e.u32())
	copy(p.sum[:], e.take(len(p.sum)))
	switch {
	case e.err != nil:
		return e.err
	case r.from != p.From || n != p.To || n < d.cols.n.Load():
		return fmt.Errorf("%w: rows %d to %d in the file of %d to %d", errSections, r.from, n, p.From, p.To)
	}
	if err := r.vectors(); err != nil {
		return err
	}
	if r.from == 0 {
		d.assigned.Sum = p.sum
	} else if d.assigned.Sum != p.sum {
		d.assigned = vector.Assignment{} // all rows are assigned again
	}
	if d.assigned.Sum != (vector.Assignment{}).Sum {
		d.assigned.Of = append(d.assigned.Of, slices.Repeat([]uint16{vector.Unassigned}, int(n)-len(d.assigned.Of))...)
	}
	d.cols.skip(n)
	r.columns = d.cols.view()
	for row := e.u32(); row != endOfRows && e.err == nil; row = e.u32() {
		if row >= n {
			return fmt.Errorf("%w: row %d of %d", errSections, row, n)
		}
		if err := r.record(e, row); err != nil {
			return err
		}
	}
	for row := e.u32(); row != endOfRows && e.err == nil; row = e.u32() {
		if row >= n {
			return fmt.Errorf("%w: row %d of %d", errSections, row, n)
		}
		r.removeDead(row)
	}
	slices.Sort(p.rows)
	r.attributes(e, n)
	d.bySeq.top.Store(max(top, d.bySeq.top.Load()))
	return e.err
}

// vectors makes the store for the piece's vectors.
func (r *checkpointLoader) vectors() error {
	if r.dim == 0 {
		return nil
	}
	if r.dim > maxDim {
		return fmt.Errorf("%w: vectors of %d dimensions", errSections, r.dim)
	}
	if r.store == nil {
		r.store = vector.New(r.dim)
	}
	if r.store.Dim() != r.dim {
		return fmt.Errorf("%w: vectors of %d and of %d dimensions", errSections, r.dim, r.store.Dim())
	}
	if r.withVectors {
		r.d.vectors.Store(r.store)
	}
	return nil
}

// record reads a live row: a new one, or an older one that changed.
func (r *checkpointLoader) record(e *sectionReader, row uint32) error {
	c, known := r.columns.at(row), r.columns.died(row).Load() == 0
	c.seq, c.revision = oplog.Seq(e.u64()), e.u32()
	face := e.u32()
	if int(face) == len(r.facets) {
		var f facet
		for _, s := range f.texts() {
			*s = e.str()
		}
		f.status = oplog.Status(e.u8())
		r.facets = append(r.facets, r.d.facet(f))
	}
	speaker := e.u32()
	if int(speaker) == len(r.speakers) {
		r.speakers = append(r.speakers, r.d.intern(e.str()))
	}
	session := r.session(e)
	c.Row = rank.Row{Session: session, Length: e.u32(), Created: int64(e.u64()), Accessed: int64(e.u64())}
	c.updated, c.Importance, c.HalfLife = int64(e.u64()), e.f64(), e.f64()
	flags := e.u8()
	c.Distrust = flags / rowDistrust
	c.Asks, c.Timed, c.SaidDay, c.Refers = flags&rowAsks != 0, flags&rowTimed != 0, flags&rowSaidDay != 0, flags&rowRefers != 0
	c.Said, *r.columns.stops(row) = int32(e.u32()), e.u64()
	if partition := e.u16(); partition != vector.Unassigned && int(row) < len(r.d.assigned.Of) {
		r.d.assigned.Of[row] = partition
	}
	c.RID = rank.MakeRID(e.take(int(e.u32())))
	var raw []byte
	if flags&rowVector != 0 && r.store != nil {
		raw = e.take(r.store.Size())
	}
	switch {
	case e.err != nil:
		return e.err
	case int(face) >= len(r.facets) || int(speaker) >= len(r.speakers) || int(session) >= len(r.d.sessions) ||
		flags&rowVector != 0 && raw == nil:
		return fmt.Errorf("%w: row %d refers to what the file lacks", errSections, row)
	}
	c.Speaker = r.speakers[speaker]
	if known {
		r.d.removeFromFacet(&r.columns, row)
	} else if session != 0 {
		r.d.count(c, uint64(c.Length))
		r.d.enterSession(session, c.seq)
	}
	r.d.addToFacet(&r.columns, row, r.facets[face])
	r.columns.died(row).Store(0)
	r.d.bySeq.set(c.seq, row+1)
	if row < r.from {
		r.p.rows = append(r.p.rows, row)
	}
	if raw != nil && r.withVectors {
		r.store.Put(row, r.store.Parse(raw))
	}
	return nil
}

// session reads a reference to a session and returns its number in the database.
func (r *checkpointLoader) session(e *sectionReader) uint32 {
	n := e.u32()
	if int(n) == len(r.sessions) {
		var id uint32
		present, name := e.u8(), sessionName{e.str(), e.str()}
		if present != 0 && e.err == nil {
			r.d.namespace(name.namespace)
			_, id = r.d.session(name.namespace, name.session)
		}
		r.sessions = append(r.sessions, id)
	}
	if int(n) >= len(r.sessions) {
		return endOfRows
	}
	return r.sessions[n]
}

// removeDead removes a row that died.
func (r *checkpointLoader) removeDead(row uint32) {
	r.p.rows = append(r.p.rows, row)
	if r.columns.died(row).Load() != 0 {
		return
	}
	c := r.columns.at(row)
	r.d.removeFromFacet(&r.columns, row)
	r.d.facets.attributes.rowDied()
	r.columns.died(row).Store(1)
	if c.Session != 0 {
		r.d.count(c, -uint64(c.Length))
		r.d.leaveSession(c.Session, c.seq)
	}
	if r.withVectors && r.store != nil {
		r.store.Delete(row)
	}
	if r.d.bySeq.get(c.seq) == row+1 {
		r.d.bySeq.set(c.seq, 0)
	}
}

// attributes reads the values of rows.
func (r *checkpointLoader) attributes(e *sectionReader, n uint32) {
	for range e.u32() {
		name, form := e.str(), e.str()
		if e.err != nil {
			return
		}
		value, err := filter.Read([]byte(form))
		if err != nil {
			e.err = fmt.Errorf("%w: a value of %q: %w", errSections, name, err)
			return
		}
		var v *attributeValue
		for range e.u32() {
			row := e.u32()
			if e.err == nil && row >= n {
				e.err = fmt.Errorf("%w: a value of row %d of %d", errSections, row, n)
			}
			if e.err != nil {
				return
			}
			v = r.d.facets.attributes.add(filter.Attribute{Name: name, Value: value}, row)
		}
		if v != nil {
			r.p.values = append(r.p.values, valueOf{name, v})
		}
	}
}

// matchWords compares the checkpoint's rows with those that the text index holds, in ascending order. Rows that the
// text index lacks are analysed again; rows whose tag differs are deleted.
func (r *checkpointLoader) matchWords(words []text.Restored) {
	columns := r.d.cols.view()
	for row := range columns.n {
		for len(words) > 0 && words[0].Row < row {
			r.d.adopt(words[0])
			words = words[1:]
		}
		if columns.died(row).Load() != 0 {
			continue
		}
		c := columns.at(row)
		if len(words) > 0 && words[0].Row == row {
			tag := words[0].Tag
			words = words[1:]
			if oplog.Seq(tag.Number) == c.seq && tag.Revision == c.revision {
				continue
			}
			r.d.orphans[row] = struct{}{}
		}
		r.d.withoutWords, c.revision = append(r.d.withoutWords, c.seq), changedSince
	}
	for _, w := range words {
		r.d.adopt(w)
	}
}

// adopt remembers a row found on disk until the state confirms it.
func (d *database) adopt(r text.Restored) {
	seq := oplog.Seq(r.Tag.Number)
	if old, twice := d.adopted[seq]; twice { // a correction whose deletion had not reached the disk
		if old.revision > r.Tag.Revision {
			d.orphans[r.Row] = struct{}{}
			return
		}
		d.orphans[old.row] = struct{}{}
	}
	d.adopted[seq] = adoptedRow{r.Row, r.Tag.Revision, r.Length}
}
