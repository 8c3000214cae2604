package vector

import (
	"math/bits"
	"sync/atomic"
)

const (
	blockRows = 256
	groupRows = 32 // whose codes lie side by side
	groups    = blockRows / groupRows
)

// A block holds what is kept of the vectors of 256 consecutive rows, each in a slot. Slots are rows until so many
// rows have died that the block is packed. A slot's columns are written before its live bit.
type block struct {
	live   [blockRows / 64]atomic.Uint64 // by slot
	slots  int                           // room, a multiple of groupRows
	packed *packing                      // nil while slots are rows
	codes  []byte                        // groups of slots; in each a byte of every slot, then the next byte of every slot
	int8s  []int8
	factor []float32
	scale  []float32
}

// packing holds the rows in a packed block's slots.
type packing struct {
	row  [blockRows]uint8 // by slot
	slot [blockRows]int16 // by row; -1 is none
}

func (s *Store) newBlock(slots int) *block {
	slots = (slots + groupRows - 1) / groupRows * groupRows
	return &block{slots: slots, codes: make([]byte, slots*s.columns), int8s: make([]int8, slots*s.padded),
		factor: make([]float32, slots), scale: make([]float32, slots)}
}

// slot returns where a row's vector is; ok is false if the row has none.
func (b *block) slot(row int) (slot int, ok bool) {
	if slot = b.place(row); slot < 0 {
		return 0, false
	}
	return slot, b.live[slot/64].Load()>>(slot%64)&1 == 1
}

// place returns the slot of a row, live or not; below 0 if it has none.
func (b *block) place(row int) int {
	if b.packed != nil {
		return int(b.packed.slot[row])
	}
	return row
}

// row returns the row whose vector is in a slot.
func (b *block) row(slot int) int {
	if b.packed != nil {
		return int(b.packed.row[slot])
	}
	return slot
}

// count returns the number of live slots.
func (b *block) count() (n int) {
	for w := range b.live {
		n += bits.OnesCount64(b.live[w].Load())
	}
	return n
}

// write fills a slot and then shows it.
func (s *Store) write(b *block, slot int, p Prepared) {
	group := b.codes[slot/groupRows*groupRows*s.columns:]
	for c, x := range p.code {
		group[c*groupRows+slot%groupRows] = x
	}
	copy(b.int8s[slot*s.padded:], p.int8s)
	b.factor[slot], b.scale[slot] = p.factor, p.scale
	b.live[slot/64].Or(1 << (slot % 64))
}

// read returns the reverse of write.
func (s *Store) read(b *block, slot int) Prepared {
	p := Prepared{code: make([]byte, s.columns), int8s: b.int8s[slot*s.padded : (slot+1)*s.padded], factor: b.factor[slot],
		scale: b.scale[slot]}
	group := b.codes[slot/groupRows*groupRows*s.columns:]
	for c := range p.code {
		p.code[c] = group[c*groupRows+slot%groupRows]
	}
	return p
}

// pack copies the live slots of a block into one without free slots. Searches under way keep the old one.
func (s *Store) pack(b *block) *block {
	packed := s.newBlock(b.count())
	packed.packed = &packing{}
	for i := range packed.packed.slot {
		packed.packed.slot[i] = -1
	}
	next := 0
	for slot := range b.slots {
		if b.live[slot/64].Load()>>(slot%64)&1 == 0 {
			continue
		}
		row := b.row(slot)
		packed.packed.row[next], packed.packed.slot[row] = uint8(row), int16(next)
		s.write(packed, next, s.read(b, slot))
		next++
	}
	return packed
}

// unpack copies a block into one whose slots are rows.
func (s *Store) unpack(b *block) *block {
	unpacked := s.newBlock(blockRows)
	for row := range blockRows {
		if slot, ok := b.slot(row); ok {
			s.write(unpacked, row, s.read(b, slot))
		}
	}
	return unpacked
}
