package oplog

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// An unpacker decodes values one after the other. After an error its input is empty, and it returns zero values.
type unpacker struct {
	b    []byte // the remaining input
	size int    // of the whole input
	err  error
}

func (u *unpacker) fail(format string, args ...any) {
	if u.err == nil {
		u.err = fmt.Errorf("byte %d: "+format, append([]any{u.size - len(u.b)}, args...)...)
	}
	u.b = nil
}

// bytes reads bytes and copies them; nil for nil.
func (u *unpacker) bytes() []byte {
	if u.isNil() {
		return nil
	}
	b := u.take(msgpackBytes)
	if u.err != nil {
		return nil
	}
	return append(make([]byte, 0, len(b)), b...)
}

// float reads a number of 64 bits.
func (u *unpacker) float() float64 {
	if len(u.b) < 9 || u.b[0] != msgpcode.Double {
		u.unexpected("a float")
		return 0
	}
	v := math.Float64frombits(binary.BigEndian.Uint64(u.b[1:]))
	u.b = u.b[9:]
	return v
}

// bool reads a boolean.
func (u *unpacker) bool() bool {
	if len(u.b) == 0 || u.b[0] != msgpcode.False && u.b[0] != msgpcode.True {
		u.unexpected("a truth value")
		return false
	}
	v := u.b[0] == msgpcode.True
	u.b = u.b[1:]
	return v
}

// fill reads exactly len(dst) bytes.
func (u *unpacker) fill(dst []byte) {
	if b := u.take(msgpackBytes); copy(dst, b) != len(b) || len(b) != len(dst) {
		u.fail("%d bytes, not %d", len(b), len(dst))
	}
}

// unpackInteger reads an integer, and fails if T cannot hold it.
func unpackInteger[T int | int8 | int64 | uint8 | uint32 | uint64](u *unpacker) T {
	n, negative := u.integer()
	v := T(n)
	if uint64(v) != n || (v < 0) != negative {
		u.fail("a number that %T cannot hold", v)
		return 0
	}
	return v
}

// isNil reports whether a nil comes next, and consumes it.
func (u *unpacker) isNil() bool {
	if len(u.b) == 0 || u.b[0] != msgpcode.Nil {
		return false
	}
	u.b = u.b[1:]
	return true
}

func (u *unpacker) unexpected(what string) {
	if len(u.b) == 0 {
		u.fail("the input ends where %s is to come", what)
		return
	}
	u.fail("%s is expected, not %#x", what, u.b[0])
}

// integer reads an integer: its bits, and whether it is negative.
func (u *unpacker) integer() (n uint64, negative bool) {
	if len(u.b) == 0 {
		u.unexpected("an integer")
		return 0, false
	}
	c := u.b[0]
	switch {
	case c <= msgpcode.PosFixedNumHigh:
		u.b = u.b[1:]
		return uint64(c), false
	case c >= msgpcode.NegFixedNumLow:
		u.b = u.b[1:]
		return uint64(int8(c)), true
	case c < msgpcode.Uint8 || c > msgpcode.Int64:
		u.unexpected("an integer")
		return 0, false
	}
	size := 1 << (c & 3) // the codes of unsigned integers are consecutive, and so are those of signed ones
	if n = u.bigEndian(size, "an integer"); c < msgpcode.Int8 {
		return n, false
	}
	shift := 64 - 8*size
	signed := int64(n<<shift) >> shift
	return uint64(signed), signed < 0
}

// A lengthFormat describes how msgpack encodes the lengths of one type: short ones in the code itself, others in one,
// two or four bytes after a code.
type lengthFormat struct {
	what     string
	from, to byte // codes that hold a short length; none if to < from
	next     byte // the first of the consecutive codes for longer lengths
	width    int  // the bytes of a length after next
}

var (
	msgpackString = lengthFormat{"a string", msgpcode.FixedStrLow, msgpcode.FixedStrHigh, msgpcode.Str8, 1}
	msgpackBytes  = lengthFormat{"bytes", 1, 0, msgpcode.Bin8, 1}
	msgpackArray  = lengthFormat{"a list", msgpcode.FixedArrayLow, msgpcode.FixedArrayHigh, msgpcode.Array16, 2}
	msgpackMap    = lengthFormat{"a map", msgpcode.FixedMapLow, msgpcode.FixedMapHigh, msgpcode.Map16, 2}
)

// length reads the head of a value.
func (u *unpacker) length(f lengthFormat) int {
	if len(u.b) == 0 {
		u.unexpected(f.what)
		return 0
	}
	c := u.b[0]
	if c >= f.from && c <= f.to {
		u.b = u.b[1:]
		return int(c - f.from)
	}
	size := f.width << (c - f.next)
	if c < f.next || size > 4 || size == 0 {
		u.unexpected(f.what)
		return 0
	}
	return int(u.bigEndian(size, f.what))
}

// bigEndian reads the bytes of a number or a length after a code.
func (u *unpacker) bigEndian(size int, what string) (n uint64) {
	if len(u.b) <= size {
		u.fail("the input ends in the head of %s", what)
		return 0
	}
	for _, b := range u.b[1 : 1+size] {
		n = n<<8 | uint64(b)
	}
	u.b = u.b[1+size:]
	return n
}

// take reads a string or bytes, without a copy.
func (u *unpacker) take(f lengthFormat) []byte {
	n := u.length(f)
	if n > len(u.b) {
		u.fail("%s of %d bytes, of which %d are there", f.what, n, len(u.b))
		return nil
	}
	b := u.b[:n]
	u.b = u.b[n:]
	return b
}

// count reads the number of elements that follow. Each takes at least least bytes, so the rest of the input bounds
// it.
func (u *unpacker) count(f lengthFormat, least int) int {
	n := u.length(f)
	if n > len(u.b)/least {
		u.fail("%s of %d elements in %d bytes", f.what, n, len(u.b))
		return 0
	}
	return n
}

// skip skips a value. It counts nested values instead of recursing.
func (u *unpacker) skip() {
	for left := 1; left > 0 && u.err == nil; left-- {
		if left > len(u.b) {
			u.fail("%d values in %d bytes", left, len(u.b))
			return
		}
		switch c := u.b[0]; {
		case msgpcode.IsFixedNum(c) || c == msgpcode.Nil || c == msgpcode.False || c == msgpcode.True:
			u.b = u.b[1:]
		case msgpcode.IsFixedMap(c) || c == msgpcode.Map16 || c == msgpcode.Map32:
			left += 2 * u.count(msgpackMap, 2)
		case msgpcode.IsFixedArray(c) || c == msgpcode.Array16 || c == msgpcode.Array32:
			left += u.count(msgpackArray, 1)
		case msgpcode.IsString(c):
			u.take(msgpackString)
		case msgpcode.IsBin(c):
			u.take(msgpackBytes)
		case c == msgpcode.Float || c == msgpcode.Double: // a float of 32 or 64 bits
			u.advance(1 + 4<<(c-msgpcode.Float))
		case c >= msgpcode.Uint8 && c <= msgpcode.Int64:
			u.advance(1 + 1<<(c&3))
		case msgpcode.IsFixedExt(c): // an extension of 1 to 16 bytes, behind its kind
			u.advance(2 + 1<<(c-msgpcode.FixExt1))
		default: // an extension with an explicit length; or 0xc1, which is not valid
			u.unexpected("a value")
		}
	}
}

func (u *unpacker) advance(n int) {
	if n > len(u.b) {
		u.fail("the input ends in a value of %d bytes", n)
		return
	}
	u.b = u.b[n:]
}
