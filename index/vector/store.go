package vector

import (
	"encoding/binary"
	"math"
	"sync/atomic"
	"unsafe"
)

// A Store holds the vectors of one database, all of one dimension.
type Store struct {
	Epoch uint32 // of the embedder that made the vectors, as the owner counts them; set before there are readers

	dim, columns, padded int // columns: bytes of a code
	rotation             *rotation
	kernels              kernels
	blocks               atomic.Pointer[[]*block]   // by row/256; nil where no row has a vector
	rows                 atomic.Int64               // live ones
	parts                atomic.Pointer[partitions] // nil: rows are not divided
	scratch              scratchPool
}

// New returns an empty store for vectors of dim dimensions, 1 at least.
func New(dim int) *Store {
	s := &Store{dim: dim, columns: (dim + 63) / 64 * 8, padded: (dim + 31) / 32 * 32, rotation: newRotation(dim), kernels: fastest()}
	s.blocks.Store(new([]*block))
	return s
}

// Dim returns the dimension of the vectors.
func (s *Store) Dim() int { return s.dim }

// Len counts the live rows.
func (s *Store) Len() int { return int(s.rows.Load()) }

// A Prepared holds what a store keeps of a vector. Prepare may run on many goroutines, Put on one.
type Prepared struct {
	code   []byte
	int8s  []int8
	factor float32
	scale  float32
}

// Prepare computes the code and the int8 form of a vector of unit length.
func (s *Store) Prepare(unit []float32) Prepared {
	p := Prepared{code: make([]byte, s.columns), int8s: make([]int8, s.padded)}
	p.scale = quantise(unit, p.int8s)
	rotated := append(make([]float32, 0, s.dim), unit...)
	s.rotation.apply(rotated)
	p.factor = code(rotated, p.code)
	return p
}

// Put stores a row's vector. A row is put once: a changed vector is a new row and a deleted old one.
func (s *Store) Put(row uint32, p Prepared) {
	b, i := s.block(row), int(row%blockRows)
	if _, ok := b.slot(i); ok {
		return
	}
	if b.packed != nil { // rows found on disk come in any order
		b = s.unpack(b)
		s.replace(int(row/blockRows), b)
	}
	s.write(b, i, p)
	s.rows.Add(1)
	if parts := s.parts.Load(); parts != nil {
		parts.add(row, p.int8s)
	}
}

// block returns the block of a row, made if it is the first of it. The table grows by doubling: it is a pointer a
// block.
func (s *Store) block(row uint32) *block {
	table, n := *s.blocks.Load(), int(row/blockRows)
	if n < len(table) && table[n] != nil {
		return table[n]
	}
	b := s.newBlock(blockRows)
	if n < len(table) {
		s.replace(n, b)
		return b
	}
	for len(table) < n {
		table = append(table, nil)
	}
	table = append(table, b)
	s.blocks.Store(&table)
	return b
}

// replace changes a place of the table, which readers have: it is copied.
func (s *Store) replace(n int, b *block) {
	table := append([]*block(nil), *s.blocks.Load()...)
	table[n] = b
	s.blocks.Store(&table)
}

// Delete removes a row's vector, if it has one. A block that is not the newest is packed when it is half empty, and
// freed when it is empty.
func (s *Store) Delete(row uint32) {
	table, n := *s.blocks.Load(), int(row/blockRows)
	if n >= len(table) || table[n] == nil {
		return
	}
	b := table[n]
	slot, ok := b.slot(int(row % blockRows))
	if !ok {
		return
	}
	b.live[slot/64].And(^(uint64(1) << (slot % 64)))
	s.rows.Add(-1)
	if parts := s.parts.Load(); parts != nil {
		defer parts.deleted(s)
	}
	if n == len(table)-1 {
		return
	}
	switch live := b.count(); {
	case live == 0:
		s.replace(n, nil)
	case 2*live <= b.slots && b.slots > groupRows:
		s.replace(n, s.pack(b))
	}
}

// Similarities estimates the cosines of n rows from their int8 forms, to about ±.005, and calls take with each; ok is
// false for a row without a vector.
func (s *Store) Similarities(q *Query, n int, row func(i int) uint32, visit func(i int, sim float64, ok bool)) {
	slot := func(i int) (at uint32, ok bool) {
		r := row(i)
		b := int(r / blockRows)
		if b >= len(q.blocks) || q.blocks[b] == nil {
			return 0, false
		}
		slot, ok := q.blocks[b].slot(int(r % blockRows))
		return uint32(b*blockRows + slot), ok
	}
	for i := range n {
		if i+loadAhead < n {
			if at, ok := slot(i + loadAhead); ok {
				s.prefetch(q, at)
			}
		}
		at, ok := slot(i)
		if !ok {
			visit(i, 0, false)
			continue
		}
		visit(i, s.int8Cosine(q, q.blocks[at/blockRows], int(at%blockRows)), true)
	}
}

// Cosine estimates the cosine of two rows from their int8 forms; ok is false when one has no vector.
func (s *Store) Cosine(a, b uint32) (cos float64, ok bool) {
	x, i, ok := s.find(a)
	if !ok {
		return 0, false
	}
	y, j, ok := s.find(b)
	if !ok {
		return 0, false
	}
	n := s.kernels.dot(x.int8s[i*s.padded:(i+1)*s.padded], y.int8s[j*s.padded:(j+1)*s.padded])
	return float64(float64(float64(n)*float64(x.scale[i])) * float64(y.scale[j])), true
}

// Has reports whether a row has a vector.
func (s *Store) Has(row uint32) bool {
	_, _, ok := s.find(row)
	return ok
}

func (s *Store) find(row uint32) (b *block, slot int, ok bool) {
	table, n := *s.blocks.Load(), int(row/blockRows)
	if n >= len(table) || table[n] == nil {
		return nil, 0, false
	}
	slot, ok = table[n].slot(int(row % blockRows))
	return table[n], slot, ok
}

func (s *Store) int8Cosine(q *Query, b *block, slot int) float64 {
	n := s.kernels.dot(q.int8s, b.int8s[slot*s.padded:(slot+1)*s.padded])
	return float64(float64(float64(n)*float64(q.scale)) * float64(b.scale[slot]))
}

// At returns what is kept of a row's vector; ok is false when it has none. The result is valid until the row is
// deleted.
func (s *Store) At(row uint32) (p Prepared, ok bool) {
	b, slot, ok := s.find(row)
	if !ok {
		return p, false
	}
	return s.read(b, slot), true
}

// Size returns how many bytes Append adds.
func (s *Store) Size() int { return 8 + s.columns + s.padded }

// Append writes a prepared vector as the factor and the scale, both little endian, the code and the int8 form.
func (p Prepared) Append(to []byte) []byte {
	to = binary.LittleEndian.AppendUint32(to, math.Float32bits(p.factor))
	to = binary.LittleEndian.AppendUint32(to, math.Float32bits(p.scale))
	to = append(to, p.code...)
	for _, x := range p.int8s {
		to = append(to, byte(x))
	}
	return to
}

// Parse reads the Size bytes that Append wrote. The result refers to them: put it before they change.
func (s *Store) Parse(b []byte) (p Prepared) {
	p.factor, p.scale = math.Float32frombits(binary.LittleEndian.Uint32(b)), math.Float32frombits(binary.LittleEndian.Uint32(b[4:]))
	p.code = b[8 : 8+s.columns]
	from := b[8+s.columns:][:s.padded]
	p.int8s = unsafe.Slice((*int8)(unsafe.Pointer(unsafe.SliceData(from))), len(from)) // a byte is one as it stands
	return p
}
