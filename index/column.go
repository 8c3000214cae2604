package index

import (
	"sync/atomic"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
)

// A column holds what scores need of a row, without a look at the disk. All but the atomic field is written before the row
// can be seen and never again.
type column struct {
	rank.Row
	now      atomic.Pointer[worth] // what reinforcement made of the row; nil: what it was stored with
	seq      oplog.Seq
	revision uint32
	place    int32 // in its session's rows
}

// worth is what may change of a memory without a change of its text.
type worth struct {
	accessed             int64
	halfLife, importance float64
}

// row is the column as it is worth now.
func (c *column) row() rank.Row {
	r := c.Row
	if w := c.now.Load(); w != nil {
		r.Accessed, r.HalfLife, r.Importance = w.accessed, w.halfLife, w.importance
	}
	return r
}

// touch takes over what changes without a change of the text.
func (c *column) touch(m *oplog.Memory) {
	w := worth{int64(m.Accessed), m.HalfLife, m.Importance}
	if old := c.now.Load(); old != nil && *old == w || old == nil && w == (worth{c.Accessed, c.HalfLife, c.Row.Importance}) {
		return
	}
	c.now.Store(&w)
}

const chunkRows = 1024

// A chunk is the columns of consecutive rows. What filters ask of every row lies together.
type chunk struct {
	died   [chunkRows]atomic.Uint64 // number of the change that replaced or forgot the row; 0 while it lives
	facet  [chunkRows]atomic.Uint32
	column [chunkRows]column
}

// columns are the rows by number. One goroutine appends; readers take no lock, for a chunk never moves.
type columns struct {
	chunks atomic.Pointer[[]*chunk]
	n      atomic.Uint32
}

// A shelf is the columns as they were at a moment, but for the atomic fields.
type shelf struct {
	chunks []*chunk
	n      uint32
}

func (s *shelf) at(row uint32) *column { return &s.chunks[row/chunkRows].column[row%chunkRows] }

func (s *shelf) facet(row uint32) *atomic.Uint32 {
	return &s.chunks[row/chunkRows].facet[row%chunkRows]
}

func (s *shelf) died(row uint32) *atomic.Uint64 {
	return &s.chunks[row/chunkRows].died[row%chunkRows]
}

// shelf captures the rows that are there.
func (c *columns) shelf() shelf {
	n := c.n.Load() // before the table: it has the chunks of n rows or more
	if t := c.chunks.Load(); t != nil {
		return shelf{*t, n}
	}
	return shelf{}
}

// next is the row that publish will show, with room for it. The writer alone calls both.
func (c *columns) next() uint32 {
	n := c.n.Load()
	var table []*chunk
	if t := c.chunks.Load(); t != nil {
		table = *t
	}
	for len(table) <= int(n/chunkRows) {
		table = append(table, new(chunk))
		grown := table
		c.chunks.Store(&grown)
	}
	return n
}

func (c *columns) publish() { c.n.Add(1) }

// skip leaves row numbers below n unused: they are dead.
func (c *columns) skip(n uint32) {
	for c.n.Load() < n {
		row := c.next()
		s := shelf{chunks: *c.chunks.Load()}
		s.died(row).Store(1)
		c.publish()
	}
}

// A seqTable finds a memory's row + 1 by its sequence number; 0 is none. One goroutine sets.
type seqTable struct {
	chunks atomic.Pointer[[]*[chunkRows]atomic.Uint32]
	top    atomic.Uint64 // the highest number set
}

func (t *seqTable) get(seq oplog.Seq) uint32 {
	table := t.chunks.Load()
	if table == nil || uint64(seq)/chunkRows >= uint64(len(*table)) {
		return 0
	}
	return (*table)[seq/chunkRows][seq%chunkRows].Load()
}

func (t *seqTable) set(seq oplog.Seq, row uint32) {
	var table []*[chunkRows]atomic.Uint32
	if p := t.chunks.Load(); p != nil {
		table = *p
	}
	for uint64(len(table)) <= uint64(seq)/chunkRows {
		table = append(table, new([chunkRows]atomic.Uint32))
		grown := table
		t.chunks.Store(&grown)
	}
	table[seq/chunkRows][seq%chunkRows].Store(row)
	t.top.Store(max(t.top.Load(), uint64(seq)))
}
