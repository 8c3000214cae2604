package index

import (
	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
)

const endOfRows = ^uint32(0)

// A pieceWriter holds one database as it was between two steps of Follow, and writes a piece of its checkpoint.
// Atomic fields may be newer by the time they are written; the entries that changed them come after the checkpoint's
// index, and the next start applies them again.
type pieceWriter struct {
	piece
	cols     columnView
	seq      uint64
	top      oplog.Seq
	facets   *facets
	sessions []*session // by number
	vectors  *vector.Store

	facetRefs, sessionRefs map[uint32]uint32
	speakerRefs            map[string]uint32
}

// alive reports whether a row was alive when the checkpoint was captured.
func (p *pieceWriter) alive(row uint32) bool {
	died := p.cols.died(row).Load()
	return died == 0 || died > p.seq
}

func (p *pieceWriter) write(out *sectionWriter) {
	p.facetRefs, p.sessionRefs, p.speakerRefs = map[uint32]uint32{}, map[uint32]uint32{}, map[string]uint32{}
	var assigned vector.Assignment
	dim := 0
	if p.vectors != nil {
		dim, assigned = p.vectors.Dim(), p.vectors.Assignment(p.From, p.To)
	}
	if assigned.Sum != p.sum { // another partition divides them since
		assigned.Of = nil
	}
	out.u32(p.From)
	out.u32(p.To)
	out.u64(uint64(p.top))
	out.u32(uint32(dim))
	out.buf = append(out.buf, p.sum[:]...)
	for _, row := range p.rows {
		if p.alive(row) {
			p.record(out, row, vector.Unassigned)
		}
	}
	for row := p.From; row < p.To; row++ {
		if !p.alive(row) {
			continue
		}
		partition := uint16(vector.Unassigned)
		if assigned.Of != nil {
			partition = assigned.Of[row-p.From]
		}
		p.record(out, row, partition)
	}
	out.u32(endOfRows)
	for _, row := range p.rows {
		if !p.alive(row) {
			out.u32(row)
			out.endSection(false)
		}
	}
	out.u32(endOfRows)
	p.attributes(out)
}

// record writes a row.
func (p *pieceWriter) record(out *sectionWriter, row uint32, partition uint16) {
	c := p.cols.at(row)
	r := c.row()
	out.u32(row)
	out.u64(uint64(c.seq))
	out.u32(c.revision)
	facet := p.cols.facet(row).Load()
	if refer(out, p.facetRefs, facet) {
		f := p.facets.at(facet)
		for _, s := range f.texts() {
			out.str(*s)
		}
		out.u8(uint8(f.status))
	}
	if refer(out, p.speakerRefs, r.Speaker) {
		out.str(r.Speaker)
	}
	p.session(out, r.Session)
	out.u32(r.Length)
	out.times(r.Created, r.Accessed, c.changed())
	out.f64(r.Importance)
	out.f64(r.HalfLife)
	var v vector.Prepared
	hasVector := false
	if p.vectors != nil {
		v, hasVector = p.vectors.At(row)
	}
	out.u8(rowFlags(&r, hasVector))
	out.u32(uint32(r.Said))
	out.u64(*p.cols.stops(row))
	out.u16(partition)
	out.str(r.RID.String())
	if hasVector {
		out.buf = v.Append(out.buf)
	}
	out.endSection(false)
}

// refer writes a reference, which is a number within this file, and reports whether it is the first one.
func refer[K comparable](out *sectionWriter, refs map[K]uint32, to K) (first bool) {
	n, known := refs[to]
	if !known {
		n = uint32(len(refs))
		refs[to] = n
	}
	out.u32(n)
	return !known
}

// session writes a reference to a session; number 0 is not a session.
func (p *pieceWriter) session(out *sectionWriter, id uint32) {
	if !refer(out, p.sessionRefs, id) {
		return
	}
	var s sessionName
	if id != 0 {
		s = p.sessions[id].sessionName
	}
	out.u8(uint8(min(id, 1)))
	out.str(s.namespace)
	out.str(s.session)
}

// attributes writes the values that rows of the piece have. The rows of a value ascend. Rows adopted from an earlier
// run do not, but after them the next piece holds everything.
func (p *pieceWriter) attributes(out *sectionWriter) {
	out.u32(uint32(len(p.values)))
	for _, v := range p.values {
		all := *v.rows.Load()
		var rows []uint32
		for i := len(all) - 1; i >= 0 && (all[i] >= p.From || p.From == 0); i-- {
			if row := all[i]; row < p.To && p.alive(row) {
				rows = append(rows, row)
			}
		}
		out.str(v.name)
		out.str(v.String())
		out.u32(uint32(len(rows)))
		for i := len(rows) - 1; i >= 0; i-- {
			out.u32(rows[i])
		}
		out.endSection(false)
	}
}

// The flags of a row, one bit each.
const (
	rowAsks = 1 << iota
	rowTimed
	rowSaidDay
	rowRefers
	rowVector   // the row has a vector
	rowDistrust // and the bits above it: Row.Distrust
)

// rowFlags returns the flags of a row: the bits are in the order of the constants.
func rowFlags(r *rank.Row, vector bool) uint8 {
	flags := r.Distrust * rowDistrust
	for bit, set := range [...]bool{r.Asks, r.Timed, r.SaidDay, r.Refers, vector} {
		if set {
			flags |= 1 << bit
		}
	}
	return flags
}
