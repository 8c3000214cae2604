package oplog

import (
	"encoding/binary"
	"math"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

const maxFixed = 15 // the most fields or elements that a head of one byte can count

func packString(b []byte, s string) []byte {
	if len(s) < 32 {
		b = append(b, msgpcode.FixedStrLow|byte(len(s)))
	} else {
		b = packLen(b, len(s), msgpcode.Str8)
	}
	return append(b, s...)
}

func packBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, msgpcode.Nil)
	}
	return append(packLen(b, len(v), msgpcode.Bin8), v...)
}

func packFloat(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, msgpcode.Double), math.Float64bits(v))
}

// packLen appends a length of one, two or four bytes after its code. code is the first of three consecutive codes.
func packLen(b []byte, n int, code byte) []byte {
	switch {
	case n <= math.MaxUint8:
		return append(b, code, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, code+1), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, code+2), uint32(n))
	}
}

// packArray appends the number of elements: in the code itself, or after it.
func packArray(b []byte, n int) []byte {
	switch {
	case n <= maxFixed:
		return append(b, msgpcode.FixedArrayLow|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, msgpcode.Array16), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, msgpcode.Array32), uint32(n))
	}
}

func packBool(b []byte, v bool) []byte {
	if v {
		return append(b, msgpcode.True)
	}
	return append(b, msgpcode.False)
}

func packUint(b []byte, n uint64) []byte {
	switch {
	case n <= math.MaxInt8:
		return append(b, byte(n))
	case n <= math.MaxUint8:
		return append(b, msgpcode.Uint8, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, msgpcode.Uint16), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, msgpcode.Uint32), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, msgpcode.Uint64), n)
	}
}

func packInt(b []byte, n int64) []byte {
	switch {
	case n >= 0:
		return packUint(b, uint64(n))
	case n >= -32:
		return append(b, byte(n))
	case n >= math.MinInt8:
		return append(b, msgpcode.Int8, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, msgpcode.Int16), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, msgpcode.Int32), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, msgpcode.Int64), uint64(n))
	}
}
