package wire

import (
	"errors"
	"fmt"
	"math"
)

// MaxDepth limits the nesting of a payload.
const MaxDepth = 1024

// ErrPayload reports an invalid payload.
var ErrPayload = errors.New("invalid payload")

// Scan validates one msgpack value without recursion and allocation, so that a hostile payload is rejected before it
// is decoded: nesting is at most MaxDepth, and no header announces more than follows. It returns the length of the
// value, and ignores bytes after it.
func Scan(b []byte) (int, error) {
	var depth int
	var left [MaxDepth + 1]uint64 // values left on each level
	left[0] = 1
	pos := 0
	for {
		for left[depth] == 0 {
			if depth == 0 {
				return pos, nil
			}
			depth--
		}
		left[depth]--
		if pos >= len(b) {
			return 0, fmt.Errorf("%w: end of input at byte %d", ErrPayload, pos)
		}
		if n := scalarLengths[b[pos]]; n != 0 && n <= len(b)-pos {
			pos += n
			continue
		}
		h, err := header(b[pos:])
		if err != nil {
			return 0, fmt.Errorf("%w at byte %d", err, pos)
		}
		pos += h.size
		switch {
		case h.kind == kArray || h.kind == kMap:
			n := uint64(h.n)
			if h.kind == kMap {
				n *= 2
			}
			if n > uint64(len(b)-pos) {
				return 0, fmt.Errorf("%w: %d elements announced, %d bytes left", ErrPayload, h.n, len(b)-pos)
			}
			if depth++; depth > MaxDepth {
				return 0, fmt.Errorf("%w: depth limit exceeded", ErrPayload)
			}
			left[depth] = n
		default:
			if uint64(h.n) > uint64(len(b)-pos) {
				return 0, fmt.Errorf("%w: %d bytes announced, %d left", ErrPayload, h.n, len(b)-pos)
			}
			pos += int(h.n)
		}
	}
}

type kind uint8

const (
	kNil kind = iota
	kBool
	kUint  // value in u
	kInt   // negative; value in u as int64
	kFloat // float64 bits in u
	kStr   // n bytes follow
	kBin
	kExt
	kArray // n values follow
	kMap   // n pairs follow
)

var kindNames = [...]string{"nil", "boolean", "integer", "integer", "float", "string", "bytes", "extension", "sequence", "map"}

func (k kind) String() string { return kindNames[k] }

// head is the decoded header of a value.
type head struct {
	kind kind
	size int    // bytes of the header itself, including a scalar
	n    uint32 // number of bytes, elements or pairs that follow
	u    uint64 // of a scalar: the integer or the float64 bits
}

// header decodes the header at b[0]. It reads no bytes after the header.
func header(b []byte) (h head, err error) {
	c := b[0]
	switch {
	case c <= 0x7F:
		return head{kind: kUint, size: 1, u: uint64(c)}, nil
	case c >= 0xE0:
		return head{kind: kInt, size: 1, u: uint64(int64(int8(c)))}, nil
	case c <= 0x8F:
		return head{kind: kMap, size: 1, n: uint32(c & 0x0F)}, nil
	case c <= 0x9F:
		return head{kind: kArray, size: 1, n: uint32(c & 0x0F)}, nil
	case c <= 0xBF:
		return head{kind: kStr, size: 1, n: uint32(c & 0x1F)}, nil
	}
	f := formats[c-0xC0]
	if f.width < 0 {
		return h, fmt.Errorf("%w: reserved byte 0xc1", ErrPayload)
	}
	if len(b) < 1+f.width {
		return h, fmt.Errorf("%w: end of input", ErrPayload)
	}
	var v uint64
	for _, x := range b[1 : 1+f.width] {
		v = v<<8 | uint64(x)
	}
	h = head{kind: f.kind, size: 1 + f.width}
	switch f.kind {
	case kBool:
		h.u = uint64(c & 1)
	case kUint, kFloat:
		h.u = v
		if c == 0xCA {
			h.u = math.Float64bits(float64(math.Float32frombits(uint32(v))))
		}
	case kInt:
		shift := 64 - 8*f.width
		h.u = uint64(int64(v<<shift) >> shift) // sign-extended from its width
		if int64(h.u) >= 0 {
			h.kind = kUint
		}
	case kExt:
		h.n = uint32(v) + 1 // plus the type byte
		if f.width == 0 {
			h.n = 1 + 1<<(c-0xD4)
		} else if h.n == 0 {
			return h, fmt.Errorf("%w: extension too long", ErrPayload)
		}
	default:
		h.n = uint32(v)
	}
	return h, nil
}

// formats describes the headers 0xC0 to 0xDF: the kind, and the number of bytes of the length or scalar after the
// first.
var formats = [32]struct {
	kind  kind
	width int
}{
	{kNil, 0}, {kNil, -1}, {kBool, 0}, {kBool, 0}, {kBin, 1}, {kBin, 2}, {kBin, 4}, {kExt, 1},
	{kExt, 2}, {kExt, 4}, {kFloat, 4}, {kFloat, 8}, {kUint, 1}, {kUint, 2}, {kUint, 4}, {kUint, 8},
	{kInt, 1}, {kInt, 2}, {kInt, 4}, {kInt, 8}, {kExt, 0}, {kExt, 0}, {kExt, 0}, {kExt, 0},
	{kExt, 0}, {kStr, 1}, {kStr, 2}, {kStr, 4}, {kArray, 2}, {kArray, 4}, {kMap, 2}, {kMap, 4},
}

// scalarLengths maps the first byte of a scalar to the length of the value; 0 for other values. It makes Scan fast
// for vectors, which consist of many scalars.
var scalarLengths = func() (lengths [256]int) {
	for c := range lengths {
		switch f := formats[c&0x1F]; {
		case c <= 0x7F, c >= 0xE0:
			lengths[c] = 1
		case c >= 0xC0 && f.width >= 0 && f.kind <= kFloat:
			lengths[c] = 1 + f.width
		}
	}
	return lengths
}()
