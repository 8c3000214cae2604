package rank

import "math/bits"

// A table holds clues by row. It is a hash table with open addressing: a question looks up rows tens of thousands of times.
type table struct {
	rows  []uint32
	clues []*clue // nil where the slot is free
	count int
	slab  []clue // clues are made many at a time; a slab never grows, so that they stay where they are
	order []*clue
}

const slabSize = 256

func newTable(expect int) *table {
	size := 1 << bits.Len(uint(max(expect, 16)))
	return &table{rows: make([]uint32, size), clues: make([]*clue, size)}
}

// slot is a row's place, or the free one where it would be.
func (t *table) slot(row uint32) int {
	mask := len(t.rows) - 1
	for i := int(row*0x9e3779b1>>7) & mask; ; i = (i + 1) & mask {
		if t.clues[i] == nil || t.rows[i] == row {
			return i
		}
	}
}

func (t *table) get(row uint32) *clue { return t.clues[t.slot(row)] }

// put returns a row's clue, made if there is none.
func (t *table) put(row uint32) *clue {
	i := t.slot(row)
	if t.clues[i] != nil {
		return t.clues[i]
	}
	if 2*(t.count+1) > len(t.rows) {
		t.grow()
		i = t.slot(row)
	}
	if len(t.slab) == cap(t.slab) {
		t.slab = make([]clue, 0, slabSize)
	}
	t.slab = append(t.slab, clue{})
	c := &t.slab[len(t.slab)-1]
	t.rows[i], t.clues[i] = row, c
	t.order = append(t.order, c)
	t.count++
	return c
}

// all are the clues in the order in which they came.
func (t *table) all() []*clue { return t.order }

func (t *table) grow() {
	old := *t
	t.rows, t.clues = make([]uint32, 2*len(old.rows)), make([]*clue, 2*len(old.rows))
	for i, c := range old.clues {
		if c != nil {
			at := t.slot(old.rows[i])
			t.rows[at], t.clues[at] = old.rows[i], c
		}
	}
}
