package wire

import (
	"encoding/binary"
	"math"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// The append functions append msgpack in its shortest encoding, as every peer does.

func appendMap(b []byte, n int) []byte {
	return appendCount(b, n, msgpcode.FixedMapLow, msgpcode.Map16)
}

func appendArray(b []byte, n int) []byte {
	return appendCount(b, n, msgpcode.FixedArrayLow, msgpcode.Array16)
}

// appendCount appends the header of n elements: few contains the count; many is followed by it.
func appendCount(b []byte, n int, few, many byte) []byte {
	switch {
	case n < 16:
		return append(b, few|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, many), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, many+1), uint32(n))
	}
}

func appendStr(b []byte, s string) []byte {
	if len(s) < 32 {
		return append(append(b, msgpcode.FixedStrLow|byte(len(s))), s...)
	}
	return appendLong(b, s, msgpcode.Str8)
}

func appendBin(b, v []byte) []byte { return appendLong(b, v, msgpcode.Bin8) }

// appendLong appends bytes after their length. head is the code for a length of one byte; the next two codes are for
// two and four bytes.
func appendLong[T string | []byte](b []byte, v T, head byte) []byte {
	switch n := len(v); {
	case n <= math.MaxUint8:
		b = append(b, head, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, head+1), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, head+2), uint32(n))
	}
	return append(b, v...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, msgpcode.True)
	}
	return append(b, msgpcode.False)
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

func appendUint[T unsigned](b []byte, x T) []byte {
	switch v := uint64(x); {
	case v < 128:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, msgpcode.Uint8, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, msgpcode.Uint16), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, msgpcode.Uint32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, msgpcode.Uint64), v)
	}
}

func appendInt[T int | int64](b []byte, x T) []byte {
	switch v := int64(x); {
	case v >= 0:
		return appendUint(b, uint64(v))
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, msgpcode.Int8, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, msgpcode.Int16), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, msgpcode.Int32), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, msgpcode.Int64), uint64(v))
	}
}

func appendF64(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, msgpcode.Double), math.Float64bits(v))
}
