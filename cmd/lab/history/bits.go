package history

import (
	"fmt"
	"iter"
	"strconv"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
)

// maxNumber bounds the numbers of a key, and so the memory of a Bits read from a file.
const maxNumber = 1 << 20

// Bits is a set of small whole numbers. The zero value is empty. In JSON it is written as ranges: "1-5,8". Copies
// share their content.
type Bits struct{ in roaring.Bitmap }

// Add adds numbers.
func (b *Bits) Add(numbers ...int) {
	for _, n := range numbers {
		b.in.AddInt(n)
	}
}

// Has reports whether the set contains a number.
func (b Bits) Has(n int) bool { return b.in.ContainsInt(n) }

// Len returns the number of elements.
func (b Bits) Len() int { return int(b.in.GetCardinality()) }

// IsZero reports whether the set is empty.
func (b Bits) IsZero() bool { return b.in.IsEmpty() }

// Without returns the elements that are not in other.
func (b Bits) Without(other Bits) Bits { return Bits{*roaring.AndNot(&b.in, &other.in)} }

// union adds all numbers of other.
func (b *Bits) union(other Bits) { b.in.Or(&other.in) }

// all returns the numbers in order.
func (b Bits) all() iter.Seq[uint32] { return roaring.Values(&b.in) }

// String returns the set as ranges.
func (b Bits) String() string {
	var ranges []string
	first := 0
	for n := range b.all() {
		at := int(n)
		if !b.Has(at - 1) {
			first = at
		}
		switch {
		case b.Has(at + 1):
		case first == at:
			ranges = append(ranges, strconv.Itoa(at))
		default:
			ranges = append(ranges, fmt.Sprint(first, "-", at))
		}
	}
	return strings.Join(ranges, ",")
}

// MarshalText implements encoding.TextMarshaler.
func (b Bits) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (b *Bits) UnmarshalText(text []byte) error {
	*b = Bits{}
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
		b.in.AddRange(uint64(from), uint64(to)+1)
	}
	return nil
}
