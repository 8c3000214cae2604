package history

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// maxNumber bounds the numbers of one key, and so what a line of a file can make a Bits take.
const maxNumber = 1 << 20

// Bits are small whole numbers. In JSON they are ranges: "1-5,8".
type Bits []uint64

// Add puts numbers in.
func (b *Bits) Add(numbers ...int) {
	for _, n := range numbers {
		for len(*b) <= n/64 {
			*b = append(*b, 0)
		}
		(*b)[n/64] |= 1 << (n % 64)
	}
}

// Has says whether a number is in.
func (b Bits) Has(n int) bool { return n/64 < len(b) && b[n/64]&(1<<(n%64)) != 0 }

// Len is how many there are.
func (b Bits) Len() (n int) {
	for _, w := range b {
		n += bits.OnesCount64(w)
	}
	return n
}

// IsZero says whether there is none.
func (b Bits) IsZero() bool { return b.Len() == 0 }

// Without are those that are not in other.
func (b Bits) Without(other Bits) Bits {
	rest := make(Bits, len(b))
	for i, w := range b {
		if rest[i] = w; i < len(other) {
			rest[i] &^= other[i]
		}
	}
	return rest
}

// join puts all of other in.
func (b *Bits) join(other Bits) {
	for len(*b) < len(other) {
		*b = append(*b, 0)
	}
	for i, w := range other {
		(*b)[i] |= w
	}
}

// all are the numbers, in order.
func (b Bits) all(yield func(int) bool) {
	for i, w := range b {
		for ; w != 0; w &= w - 1 {
			if !yield(i*64 + bits.TrailingZeros64(w)) {
				return
			}
		}
	}
}

// String writes ranges.
func (b Bits) String() string {
	var s strings.Builder
	for n := range b.all {
		if n > 0 && b.Has(n-1) {
			continue
		}
		last := n
		for b.Has(last + 1) {
			last++
		}
		if s.Len() > 0 {
			s.WriteByte(',')
		}
		if fmt.Fprint(&s, n); last > n {
			fmt.Fprint(&s, "-", last)
		}
	}
	return s.String()
}

// MarshalText implements encoding.TextMarshaler.
func (b Bits) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bits) UnmarshalText(text []byte) error {
	*b = nil
	for part := range strings.SplitSeq(string(text), ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		from, err := strconv.Atoi(first)
		to, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || from < 0 || to < from || to > maxNumber {
			return fmt.Errorf("numbers %q: want ranges as 1-5,8 of at most %d", text, maxNumber)
		}
		for n := from; n <= to; n++ {
			b.Add(n)
		}
	}
	return nil
}
