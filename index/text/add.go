package text

import "math/bits"

// Rows are added up a window at a time, so that what is added up stays in the processor's nearest caches.
const (
	windowBits = pageBits
	windowRows = 1 << windowBits
)

// An adder sums up the parts of a search's rows.
type adder struct {
	cells   [windowRows]cell   // of a window's rows; all zero between windows
	touched [windowRows]uint16 // those that are not zero
	cursors []cursor
	coords  [maxTerms + 1]float64
	scale   scale
	matches []match
	spread  spread // of their scores
}

// A cell sums up one row: its parts so far, and which terms they came from.
type cell struct {
	sum  float64
	mask uint32
}

// A cursor is a term's list from where the next window begins.
type cursor struct {
	list   []posting
	window uint32 // of list[0]
	bit    uint32
	weight float64
}

// A match is a row and its score before rounding.
type match struct {
	raw     float64
	row     uint32
	matched uint32 // terms
}

// add adds up each row's parts in the order of the terms.
func (s *search) add() {
	a := &s.adder
	a.matches, a.cursors, a.scale, a.spread = a.matches[:0], a.cursors[:0], scale{params: s.params, totals: s.totals}, spread{}
	for n := range len(s.terms) + 1 {
		a.coords[n] = s.params.coord(n, len(s.terms))
	}
	for i := range s.terms {
		t := &s.terms[i]
		weight := float64(t.share * s.params.weight(s.totals.Rows, t.df))
		for _, list := range t.lists {
			a.cursors = append(a.cursors, cursor{list, list[0].row >> windowBits, 1 << i, weight})
		}
	}
	for w := range uint32(s.rows >> windowBits) {
		a.window(w)
	}
}

// window adds up a window's rows.
func (a *adder) window(w uint32) {
	touched := 0
	for i := range a.cursors {
		c := &a.cursors[i]
		if c.window != w {
			continue
		}
		n := 0
		for ; n < len(c.list); n++ {
			p := c.list[n]
			if p.row>>windowBits != w {
				c.window = p.row >> windowBits
				break
			}
			at := p.row % windowRows
			cell := &a.cells[at]
			if cell.mask == 0 {
				a.touched[touched%windowRows] = uint16(at)
				touched++
			}
			cell.mask |= c.bit
			cell.sum += float64(c.weight * a.scale.of(p.tf, p.length))
		}
		c.list = c.list[n:]
	}
	for _, at := range a.touched[:touched] {
		c := &a.cells[at]
		n := bits.OnesCount32(c.mask)
		raw := float64(c.sum * a.coords[n])
		a.matches = append(a.matches, match{raw, w<<windowBits | uint32(at), uint32(n)})
		a.spread.add(raw)
		*c = cell{}
	}
}

// forget lets go of the lists.
func (a *adder) forget() { clear(a.cursors) }

// A rowSet is rows that are numbered in their order.
type rowSet struct {
	bits   []uint64
	before []uint32 // rows in the words before
}

// fill makes the set that of the hits, of rows below a number, and appends the rows in order to dst.
func (r *rowSet) fill(hits []ranked, rows int, dst []uint32) []uint32 {
	words := (rows + 63) / 64
	if cap(r.bits) < words {
		r.bits, r.before = make([]uint64, words), make([]uint32, words)
	}
	r.bits, r.before = r.bits[:words], r.before[:words]
	clear(r.bits)
	for _, h := range hits {
		r.bits[h.row/64] |= 1 << (h.row % 64)
	}
	n := uint32(0)
	for w, b := range r.bits {
		r.before[w] = n
		n += uint32(bits.OnesCount64(b))
		for ; b != 0; b &= b - 1 {
			dst = append(dst, uint32(w*64+bits.TrailingZeros64(b)))
		}
	}
	return dst
}

// at is a row's number in the set.
func (r *rowSet) at(row uint32) (int, bool) {
	b, bit := r.bits[row/64], uint64(1)<<(row%64)
	return int(r.before[row/64]) + bits.OnesCount64(b&(bit-1)), b&bit != 0
}
