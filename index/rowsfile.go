package index

import (
	"fmt"
	"slices"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
)

// The file of rows is
//
//	rows u32, highest sequence number u64
//	facets:   count u32, then type, namespace, domain, source, tier, owner (strings), status u8
//	attributes: count u32, then name (string), its values: count u32, then value (a string of JSON), its rows: count
//	          u32, a number u32 each
//	speakers: count u32, then a string each
//	sessions: count u32, then namespace, name (strings), its rows: count u32, a number u32 each, 2^32-1 for what is gone
//	what divides the vectors of these rows: SHA-256; 0 where nothing does
//	live rows, by number: the fields of record below; and a row 2^32-1 at the end
//
// and a string is its length u32 and its bytes.
const noMore = ^uint32(0)

// changedSince is a revision that no memory has: a row whose words the text index lost gets it, so that the state's
// memory replaces it.
const changedSince = ^uint32(0)

// alive reports whether a row was alive when the checkpoint was captured.
func (p *checkpointWriter) alive(row uint32) bool {
	died := p.cols.died(row).Load()
	return died == 0 || died > p.seq
}

// facetNumber is the number of a row's facet. A facet made after the capture is not in the file: another of the same
// namespace stands in for it, because the entry that changed it lies behind the checkpoint and is applied again at
// the next start.
func (p *checkpointWriter) facetNumber(row uint32) uint32 {
	n := p.cols.facet(row).Load()
	if int(n) < len(p.facetList) {
		return n
	}
	since := p.facets.at(n)
	return uint32(slices.IndexFunc(p.facetList, func(f *facet) bool { return f.namespace == since.namespace }))
}

func (p *checkpointWriter) write(out *sectionWriter) {
	out.u32(p.cols.n)
	out.u64(uint64(p.top))
	out.u32(uint32(len(p.facetList)))
	for _, f := range p.facetList {
		for _, s := range f.texts() {
			out.str(*s)
		}
		out.u8(uint8(f.status))
		out.cut(false)
	}
	p.attributes(out)
	speakers := p.speakers(out)
	out.u32(uint32(len(p.sessions)))
	for _, s := range p.sessions {
		out.str(s.namespace)
		out.str(s.session)
		out.u32(uint32(len(s.rows)))
		for _, row := range s.rows {
			if row != noRow && !p.alive(row) {
				row = noRow
			}
			out.u32(row)
		}
		out.cut(false)
	}
	var assigned vector.Assignment
	if p.vectors != nil {
		assigned = p.vectors.Assignment(p.cols.n)
	}
	out.buf = append(out.buf, assigned.Sum[:]...)
	for row := range p.cols.n {
		if !p.alive(row) {
			continue
		}
		c := p.cols.at(row)
		r := c.row()
		out.u32(row)
		out.u64(uint64(c.seq))
		out.u32(c.revision)
		out.u32(uint32(c.place))
		out.u32(p.facetNumber(row))
		out.u32(speakers[r.Speaker])
		out.u32(r.Session)
		out.u32(r.Length)
		out.times(r.Created, r.Accessed, c.changed())
		out.f64(r.Importance)
		out.f64(r.HalfLife)
		out.u8(rowFlags(&r))
		out.u32(uint32(r.Said))
		out.u64(*p.cols.stops(row))
		if assigned.Of != nil {
			out.u16(assigned.Of[row])
		}
		out.str(r.RID.String())
		out.cut(false)
	}
	out.u32(noMore)
}

// The kinds of a row's text, one byte each.
const (
	rowAsks = 1 << iota
	rowTimed
	rowSaidDay
	rowRefers
	rowDistrust // and the bits above it: Row.Distrust
)

func rowFlags(r *rank.Row) (flags uint8) {
	for _, f := range []struct {
		set bool
		bit uint8
	}{{r.Asks, rowAsks}, {r.Timed, rowTimed}, {r.SaidDay, rowSaidDay}, {r.Refers, rowRefers}} {
		if f.set {
			flags |= f.bit
		}
	}
	flags |= r.Distrust * rowDistrust
	return flags
}

// speakers writes the names of those who speak and returns their numbers.
func (p *checkpointWriter) speakers(out *sectionWriter) map[string]uint32 {
	number := map[string]uint32{}
	var names []string
	for row := range p.cols.n {
		if s := p.cols.at(row).Speaker; p.alive(row) {
			if _, ok := number[s]; !ok {
				number[s] = uint32(len(names))
				names = append(names, s)
			}
		}
	}
	out.u32(uint32(len(names)))
	for _, s := range names {
		out.str(s)
		out.cut(false)
	}
	return number
}

// A checkpointLoader fills an empty database from the files of a checkpoint.
type checkpointLoader struct {
	d        *database
	speakers []string
}

// rows reads the file of rows.
func (r *checkpointLoader) rows(e *sectionReader) error {
	n := e.u32()
	top := e.u64()
	for range e.u32() {
		var f facet
		for _, s := range f.texts() {
			*s = e.str()
		}
		if f.status = oplog.Status(e.u8()); e.err != nil {
			return e.err
		}
		r.d.facets.of(f)
	}
	if err := r.attributes(e, n); err != nil {
		return err
	}
	for range e.u32() {
		if r.speakers = append(r.speakers, r.d.intern(e.str())); e.err != nil {
			return e.err
		}
	}
	for range e.u32() {
		r.session(e, n)
		if e.err != nil {
			return e.err
		}
	}
	if copy(r.d.assigned.Sum[:], e.take(len(r.d.assigned.Sum))); r.d.assigned.Sum != (vector.Assignment{}).Sum && e.err == nil {
		r.d.assigned.Of = slices.Repeat([]uint16{vector.Unassigned}, int(n))
	}
	r.d.cols.skip(n)
	shelf := r.d.cols.view()
	for row := e.u32(); row != noMore && e.err == nil; row = e.u32() {
		if row >= n {
			return fmt.Errorf("%w: row %d of %d", errSections, row, n)
		}
		if err := r.record(e, &shelf, row, shelf.at(row)); err != nil {
			return err
		}
	}
	r.d.bySeq.top.Store(max(top, r.d.bySeq.top.Load()))
	return e.err
}

// matchWords compares the checkpoint's rows with those that the text index holds, in ascending order. Rows that the
// text index lacks are analysed again; rows whose tag differs are deleted.
func (r *checkpointLoader) matchWords(words []text.Restored) {
	shelf := r.d.cols.view()
	for row := range shelf.n {
		for len(words) > 0 && words[0].Row < row {
			r.d.adopt(words[0])
			words = words[1:]
		}
		if shelf.died(row).Load() != 0 {
			continue
		}
		c := shelf.at(row)
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

func (r *checkpointLoader) session(e *sectionReader, n uint32) {
	name := sessionName{e.str(), e.str()}
	count := e.u32()
	rows := make([]uint32, 0, min(count, 1<<20)) // grows as bytes arrive
	for range count {
		row := e.u32()
		if e.err == nil && row != noRow && row >= n {
			e.err = fmt.Errorf("%w: a session with row %d of %d", errSections, row, n)
		}
		if e.err != nil {
			return
		}
		rows = append(rows, row)
	}
	if e.err == nil {
		r.d.namespace(name.namespace)
		s, _ := r.d.session(name.namespace, name.session)
		s.rows.Store(&rows)
	}
}

// record reads one live row.
func (r *checkpointLoader) record(e *sectionReader, shelf *columnView, row uint32, c *column) error {
	c.seq, c.revision, c.place = oplog.Seq(e.u64()), e.u32(), int32(e.u32())
	face, speaker := e.u32(), e.u32()
	c.Row = rank.Row{Session: e.u32(), Length: e.u32(), Created: int64(e.u64()), Accessed: int64(e.u64())}
	c.updated, c.Importance, c.HalfLife = int64(e.u64()), e.f64(), e.f64()
	flags := e.u8()
	c.Distrust = flags / rowDistrust
	c.Asks, c.Timed, c.SaidDay, c.Refers = flags&rowAsks != 0, flags&rowTimed != 0, flags&rowSaidDay != 0, flags&rowRefers != 0
	c.Said, *shelf.stops(row) = int32(e.u32()), e.u64()
	if r.d.assigned.Of != nil {
		r.d.assigned.Of[row] = e.u16()
	}
	c.RID = rank.MakeRID(e.str())
	if e.err != nil {
		return e.err
	}
	if int(face) >= len(r.d.facets.number) || int(speaker) >= len(r.speakers) || int(c.Session) >= len(r.d.sessions) {
		return fmt.Errorf("%w: row %d refers to a facet, speaker or session that the file lacks", errSections, row)
	}
	c.Speaker = r.speakers[speaker]
	r.d.namespace(r.d.facets.at(face).namespace)
	if c.Session != 0 {
		r.d.count(c, uint64(c.Length))
	}
	r.d.enter(shelf, row, face)
	shelf.died(row).Store(0)
	r.d.bySeq.set(c.seq, row+1)
	return nil
}

// vectors reads a file of vectors and skips those of dead rows.
func (r *checkpointLoader) vectors(e *sectionReader, f vectorFile) error {
	dim := int(e.u32())
	if e.err != nil || dim < 1 || dim > maxDim {
		return fmt.Errorf("%w: vectors of %d dimensions", errSections, dim)
	}
	store := r.d.vectors.Load()
	if store == nil {
		store = vector.New(dim)
		r.d.vectors.Store(store)
	}
	if store.Dim() != dim {
		return fmt.Errorf("%w: vectors of %d and of %d dimensions", errSections, dim, store.Dim())
	}
	shelf := r.d.cols.view()
	var p vector.Prepared
	for range f.Count {
		row, raw := e.u32(), e.take(store.Size())
		if e.err != nil {
			return e.err
		}
		if row >= shelf.n || shelf.died(row).Load() != 0 {
			continue
		}
		store.Parse(raw, &p)
		store.Put(row, p)
	}
	return nil
}

// maxDim is the most dimensions that a file is believed to have.
const maxDim = 1 << 16

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
