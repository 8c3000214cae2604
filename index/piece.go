package index

import (
	"crypto/sha256"
	"fmt"
	"math/bits"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// A checkpoint of a database is a list of pieces. A piece holds the rows that came after the piece before it, and the
// older rows that changed or died since. So a checkpoint writes changes and not everything. Pieces of about the same
// size are merged into one, which is written from memory.
//
// The file of a piece is
//
//	rows from u32, to u32, highest sequence number u64, dimensions of its vectors u32 (0: none)
//	the partition that divides these vectors: SHA-256; 0 if none
//	live rows, by number: the fields of record (piece_read.go); and a row 2^32-1 at the end
//	rows that died, by number; and a row 2^32-1 at the end
//	values of attributes: count u32, then name, value (strings, the value is JSON), its rows: count u32, a number u32 each
//
// A string is its length u32 and its bytes. Facets, speakers and sessions are numbered in the order in which a file
// names them: the first reference to one is followed by its fields.
type piece struct {
	pieceFile
	marks
	sum [sha256.Size]byte // of the partition that divides its vectors
}

// A pieceFile describes a piece in the head of a checkpoint.
type pieceFile struct {
	File string `json:"file"`
	From uint32 `json:"from"` // the piece has all rows from this number on
	To   uint32 `json:"to"`   // and below this one
	Size int    `json:"rows"` // the largest number of rows that it can have
}

// marks holds the content of a piece apart from its new rows.
type marks struct {
	rows   []uint32 // older rows that changed or died
	values []valueOf
}

// A valueOf is a value of an attribute with its name.
type valueOf struct {
	name string
	*attributeValue
}

// capturing holds the numbers of the pieces for which a value was last marked and taken.
type capturing struct{ marked, taken uint64 }

// markRow marks a row that changed or died.
func (d *database) markRow(row uint32) {
	if !d.memory {
		d.marks.rows = append(d.marks.rows, row)
	}
}

// markValue marks a value that got a row.
func (d *database) markValue(name string, v *attributeValue) {
	if !d.memory && v.marked != d.capturing {
		v.marked = d.capturing
		d.marks.values = append(d.marks.values, valueOf{name, v})
	}
}

const (
	pieceRows = 20_000 // changes after which another piece is written
	merges    = 4      // pieces of about the same size that are merged
)

// class returns a number that is equal for pieces of about the same size.
func class(size, unit int) int { return bits.Len(uint(size/unit)) / bits.Len(merges-1) }

// mergedFrom returns the index of the first piece that is merged with a new piece of the given size; len(pieces) if
// none is.
func mergedFrom(pieces []piece, size, unit int) (first int) {
	for first = len(pieces); ; {
		begin, sum := first, size
		for begin > 0 && class(pieces[begin-1].Size, unit) <= class(size, unit) {
			begin--
			sum += pieces[begin].Size
		}
		if first-begin+1 < merges {
			return first
		}
		first, size = begin, sum
	}
}

// nextPiece captures the changes since the last piece, and merges earlier pieces into the new one where that is due.
// whole makes it hold everything. It returns the pieces that stay.
func (d *database) nextPiece(at oplog.Index, unit int, whole bool) (kept []piece, next piece) {
	next = piece{pieceFile: pieceFile{File: d.unusedName(at), To: d.cols.n.Load()}}
	if v := d.vectors.Load(); v != nil {
		next.sum = v.Division()
	}
	if kept = d.pieces; len(kept) > 0 {
		next.From = kept[len(kept)-1].To
		whole = whole || kept[len(kept)-1].sum != next.sum
	}
	changed := d.marks
	d.marks = marks{}
	d.capturing++
	slices.Sort(changed.rows)
	changed.rows = slices.Compact(changed.rows)
	d.addMarks(&next, changed)
	first, sum := mergedFrom(kept, next.size(), unit), next.size()
	for _, p := range kept {
		sum += p.Size
	}
	if whole || sum > 2*d.live()+unit {
		first = 0
	}
	if first == 0 {
		next.From, next.marks = 0, d.allMarks()
	} else {
		for _, p := range kept[first:] {
			next.From = min(next.From, p.From)
			d.addMarks(&next, p.marks)
		}
	}
	next.Size = next.size()
	kept = kept[:first:first]
	d.pieces = append(kept, next)
	return kept, next
}

// size returns how many rows a piece has at most.
func (p *piece) size() int { return int(p.To-p.From) + len(p.rows) }

// addMarks adds marked rows and values to a piece. Its marked rows ascend, and leave out its new rows.
func (d *database) addMarks(p *piece, m marks) {
	rows := make([]uint32, 0, len(p.rows)+len(m.rows))
	for x, y := p.rows, m.rows; len(x)+len(y) > 0; {
		if len(x) == 0 || len(y) > 0 && y[0] < x[0] {
			x, y = y, x
		}
		if n := len(rows); n == 0 || rows[n-1] != x[0] {
			rows = append(rows, x[0])
		}
		x = x[1:]
	}
	n, _ := slices.BinarySearch(rows, p.From)
	p.rows = rows[:n]
	for _, v := range m.values {
		if v.taken != d.capturing {
			v.taken = d.capturing
			p.values = append(p.values, v)
		}
	}
}

// unusedName returns a name for a new file of the checkpoint at an index.
func (d *database) unusedName(at oplog.Index) (name string) {
	for n := 0; ; n++ {
		name = fmt.Sprintf("rows-%d-%d", at, n)
		if !slices.ContainsFunc(d.pieces, func(p piece) bool { return p.File == name }) {
			return name
		}
	}
}

// allMarks returns the marks of a piece that holds everything.
func (d *database) allMarks() (m marks) {
	for name, attr := range d.facets.attributes.named {
		for _, v := range *attr.values.Load() {
			m.values = append(m.values, valueOf{name, v})
		}
	}
	return m
}

// live counts the rows that are not dead.
func (d *database) live() (n int) {
	for _, m := range *d.facets.members.Load() {
		n += int(m.live.Load())
	}
	return n
}
