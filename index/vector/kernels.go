package vector

import "math/bits"

// kernels are the inner loops for one kind of processor. Their results are integers, so all agree.
type kernels struct {
	name  string
	bytes bool // wants table.bytes
	dot   func(a, b []int8) int32
	scan  func(s *Store, q *Query, b *block, group int, live uint32, out *[groupRows]uint16)

	dots     func(a, rows []int8, out []int32) // products with the vectors of rows, which lie one behind the other
	prefetch func(p []int8)                    // has what is compared soon loaded into the processor's cache
}

var portable = kernels{"portable", true, dotGeneric, scanGeneric, dotsGeneric, func([]int8) {}}

// dotGeneric returns the product of two int8 vectors of one length.
func dotGeneric(a, b []int8) (sum int32) {
	b = b[:len(a)]
	for i, x := range a {
		sum += int32(x) * int32(b[i])
	}
	return sum
}

func dotsGeneric(a, rows []int8, out []int32) {
	for i := range out {
		out[i] = dotGeneric(a, rows[i*len(a):(i+1)*len(a)])
	}
}

// scanGeneric adds up the table's entries of a group's live slots.
func scanGeneric(s *Store, q *Query, b *block, group int, live uint32, out *[groupRows]uint16) {
	codes := b.codes[group*groupRows*s.columns : (group+1)*groupRows*s.columns]
	for ; live != 0; live &= live - 1 {
		i := bits.TrailingZeros32(live)
		var sum uint16
		for at, t := i, q.table.bytes; at < len(codes); at, t = at+groupRows, t[256:] {
			sum += t[codes[at]]
		}
		out[i] = sum
	}
}
