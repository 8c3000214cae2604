package vector

// maxEntry bounds an entry of a table: two are added in a byte.
const maxEntry = 127

// A table computes the product of one question with the signs of a code. It has an entry of 0 to maxEntry for each
// value of each four bits of a code. If the entries of a code add up to sum, the product is offset + step·sum.
type table struct {
	entries      []byte   // 16 for the low half of the code's first byte, 16 for its high half, and so on
	bytes        []uint16 // the same by whole bytes, 256 for each; only for kernels that ask for it
	offset, step float32
}

// newTable makes the table of a rotated question.
func newTable(rotated []float32, columns int, wholeBytes bool) *table {
	t := &table{entries: make([]byte, columns*32)}
	exact := make([]float64, columns*32)
	var offset, widest float64
	for n := range columns * 2 {
		part := exact[n*16 : n*16+16]
		for i := range 4 {
			if d := n*4 + i; d < len(rotated) {
				for v := range part {
					if v>>i&1 == 1 { // a set bit is a negative sign
						part[v] -= float64(rotated[d])
					} else {
						part[v] += float64(rotated[d])
					}
				}
			}
		}
		lowest, highest := part[0], part[0]
		for _, x := range part {
			lowest, highest = min(lowest, x), max(highest, x)
		}
		for v := range part {
			part[v] -= lowest
		}
		offset += lowest
		widest = max(widest, highest-lowest)
	}
	top := float64(min(maxEntry, 65535/(2*columns))) // the sum is held in 16 bits
	step := widest / top
	for i, x := range exact {
		if step > 0 {
			t.entries[i] = byte(x/step + .5)
		}
	}
	t.offset, t.step = float32(offset), float32(step)
	if wholeBytes {
		t.bytes = make([]uint16, columns*256)
		for c := range columns {
			low, high := t.entries[c*32:], t.entries[c*32+16:]
			for v := range 256 {
				t.bytes[c*256+v] = uint16(low[v&15]) + uint16(high[v>>4])
			}
		}
	}
	return t
}
