package index

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/cairndb/cairn/index/rank"
	"github.com/cairndb/cairn/oplog"
)

// A column holds what scoring needs of a row, so that it reads no disk. Every field but the atomic one is written
// before the row is published and never again, so readers take no lock.
type column struct {
	rank.Row
	now      atomic.Pointer[mutable] // the row after reinforcement; nil: the row as it was stored
	updated  int64                   // when the memory was changed last, as it was stored
	seq      oplog.Seq
	revision uint32 // see textVersion
}

// mutable holds the numbers of a memory that change while its text stays.
type mutable struct {
	accessed, updated    int64
	halfLife, importance float64
}

// row returns the column with the current numbers.
func (c *column) row() rank.Row {
	r := c.Row
	if w := c.now.Load(); w != nil {
		r.Accessed, r.HalfLife, r.Importance = w.accessed, w.halfLife, w.importance
	}
	return r
}

// changed returns when the memory was changed last.
func (c *column) changed() int64 {
	if w := c.now.Load(); w != nil {
		return w.updated
	}
	return c.updated
}

// update stores a memory's current numbers, unless they are unchanged.
func (c *column) update(m *oplog.Memory) {
	w := mutable{int64(m.Accessed), int64(m.Updated), m.HalfLife, m.Importance}
	if old := c.now.Load(); old != nil && *old == w || old == nil && w == (mutable{c.Accessed, c.updated, c.HalfLife, c.Row.Importance}) {
		return
	}
	c.now.Store(&w)
}

const chunkRows = 1024

// A chunk holds the columns of chunkRows consecutive rows. The fields that filters read for every row are arrays of
// their own, so that a scan touches few cache lines.
type chunk struct {
	died   [chunkRows]atomic.Uint64 // number of the change that replaced or forgot the row; 0 while it lives
	facet  [chunkRows]atomic.Uint32
	stops  [chunkRows]uint64 // text.Stops; written as a column is
	column [chunkRows]column
	times  [2]atomic.Int64 // the first and the last of its rows' times and of the days that their texts say; 0 and 0 for none
	live   int             // rows that are not dead, as the writer counts them
}

// deadChunk returns the chunk that replaces every chunk whose rows are all dead.
var deadChunk = sync.OnceValue(func() *chunk {
	c := new(chunk)
	for i := range c.died {
		c.died[i].Store(1)
	}
	return c
})

// columns holds the columns of all rows, by row number. One goroutine appends; readers take no lock, because a chunk
// never moves.
type columns struct {
	chunks atomic.Pointer[[]*chunk]
	n      atomic.Uint32
}

// A columnView captures the columns at a moment. Their atomic fields still change.
type columnView struct {
	chunks []*chunk
	n      uint32
}

func (s *columnView) at(row uint32) *column { return &s.chunks[row/chunkRows].column[row%chunkRows] }

func (s *columnView) facet(row uint32) *atomic.Uint32 {
	return &s.chunks[row/chunkRows].facet[row%chunkRows]
}

func (s *columnView) stops(row uint32) *uint64 {
	return &s.chunks[row/chunkRows].stops[row%chunkRows]
}

func (s *columnView) died(row uint32) *atomic.Uint64 {
	return &s.chunks[row/chunkRows].died[row%chunkRows]
}

// view captures the rows that are published.
func (c *columns) view() columnView {
	n := c.n.Load() // before the table: it has the chunks of n rows or more
	if t := c.chunks.Load(); t != nil {
		return columnView{*t, n}
	}
	return columnView{}
}

// next makes room for one more row and returns its number; publish makes it visible. Only the writer calls the two.
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
		s := columnView{chunks: *c.chunks.Load()}
		s.died(row).Store(1)
		c.publish()
	}
}

// freeChunks frees those of the given chunks whose rows are all dead. It returns the ones that can still get rows:
// they are tried again later. Searches under way keep the chunks that they have.
func (c *columns) freeChunks(dead []int) (later []int) {
	table := slices.Clone(*c.chunks.Load())
	for _, at := range dead {
		switch {
		case table[at].live > 0 || table[at] == deadChunk():
		case (at+1)*chunkRows > int(c.n.Load()): // rows are to come
			later = append(later, at)
		default:
			table[at] = deadChunk()
		}
	}
	c.chunks.Store(&table)
	return later
}

// A seqTable finds a memory's row + 1 by its sequence number; 0 means none. One goroutine sets.
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
