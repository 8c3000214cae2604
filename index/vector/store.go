package vector

import (
	"sync/atomic"
)

const (
	blockRows = 256
	blockBits = blockRows / 64
)

// A block is what is kept of 256 consecutive rows. A row's columns are written before its live bit.
type block struct {
	live   [blockBits]atomic.Uint64
	codes  []uint64
	int8s  []int8
	factor [blockRows]float32
	scale  [blockRows]float32
}

// A Store holds the vectors of one database, all of one dimension.
type Store struct {
	dim, words, padded int
	rotation           *rotation
	dot                func(a, b []int8) int32
	blocks             atomic.Pointer[[]*block] // by row/256; nil where no row has a vector
	rows               atomic.Int64             // live ones
}

// New returns an empty store for vectors of dim dimensions, 1 at least.
func New(dim int) *Store {
	s := &Store{dim: dim, words: (dim + 63) / 64, padded: (dim + 31) / 32 * 32, rotation: newRotation(dim), dot: dotInt8()}
	s.blocks.Store(new([]*block))
	return s
}

// Dim is the dimension of the vectors.
func (s *Store) Dim() int { return s.dim }

// Len counts the live rows.
func (s *Store) Len() int { return int(s.rows.Load()) }

// A Prepared vector is what a store keeps of one: Prepare may run on many goroutines, Put on one.
type Prepared struct {
	code   []uint64
	int8s  []int8
	factor float32
	scale  float32
}

// Prepare condenses a vector of unit length.
func (s *Store) Prepare(unit []float32) Prepared {
	p := Prepared{code: make([]uint64, s.words), int8s: make([]int8, s.padded)}
	p.scale = quantise(unit, p.int8s)
	rotated := append(make([]float32, 0, s.dim), unit...)
	s.rotation.apply(rotated)
	p.factor = code(rotated, p.code)
	return p
}

// Put stores a row's vector. A row is put once: a changed vector is a new row and a deleted old one.
func (s *Store) Put(row uint32, p Prepared) {
	b, i := s.block(row), int(row%blockRows)
	if b.live[i/64].Load()>>(i%64)&1 == 1 {
		return
	}
	copy(b.codes[i*s.words:], p.code)
	copy(b.int8s[i*s.padded:], p.int8s)
	b.factor[i], b.scale[i] = p.factor, p.scale
	b.live[i/64].Or(1 << (i % 64))
	s.rows.Add(1)
}

// block returns the block of a row, made if it is the first of it. The table grows by doubling: it is a pointer a block.
func (s *Store) block(row uint32) *block {
	table, n := *s.blocks.Load(), int(row/blockRows)
	if n < len(table) && table[n] != nil {
		return table[n]
	}
	b := &block{codes: make([]uint64, blockRows*s.words), int8s: make([]int8, blockRows*s.padded)}
	grown := table
	if n < len(table) { // a hole: readers have the table, so it is copied
		grown = append([]*block(nil), table...)
		grown[n] = b
	} else {
		for len(grown) < n {
			grown = append(grown, nil)
		}
		grown = append(grown, b)
	}
	s.blocks.Store(&grown)
	return b
}

// Delete takes a row out; a row without a vector is let be.
func (s *Store) Delete(row uint32) {
	table, n, i := *s.blocks.Load(), int(row/blockRows), int(row%blockRows)
	if n >= len(table) || table[n] == nil {
		return
	}
	bit := uint64(1) << (i % 64)
	if table[n].live[i/64].And(^bit)&bit != 0 {
		s.rows.Add(-1)
	}
}

// Similarity estimates the cosine of a row from its int8 form, to about ±.005; ok is false when it has no vector.
func (s *Store) Similarity(q *Query, row uint32) (sim float64, ok bool) {
	table, n, i := q.blocks, int(row/blockRows), int(row%blockRows)
	if n >= len(table) || table[n] == nil || table[n].live[i/64].Load()>>(i%64)&1 == 0 {
		return 0, false
	}
	return s.middle(q, table[n], i), true
}

func (s *Store) middle(q *Query, b *block, i int) float64 {
	n := s.dot(q.int8s, b.int8s[i*s.padded:(i+1)*s.padded])
	return float64(float64(float64(n)*float64(q.scale)) * float64(b.scale[i]))
}
