package oplog

import (
	"encoding/binary"
	"math"
)

const (
	null  = 0xc0 // a nil
	fixed = 15   // how many fields or elements a head of one byte can count
)

func packString(b []byte, s string) []byte {
	if len(s) < 32 {
		b = append(b, 0xa0|byte(len(s)))
	} else {
		b = packLen(b, len(s), 0xd9)
	}
	return append(b, s...)
}

func packBytes(b, v []byte) []byte {
	if v == nil {
		return append(b, null)
	}
	return append(packLen(b, len(v), 0xc4), v...)
}

func packFloat(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0xcb), math.Float64bits(v))
}

// packLen appends a length behind the first of three codes that follow each other: of one byte, two and four.
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

func packArray(b []byte, n int) []byte { return packCount(b, n, 0x90, 0xdc) }

func packMap(b []byte, n int) []byte { return packCount(b, n, 0x80, 0xde) }

// packCount appends how many elements follow: in the head itself, or behind one of two codes that follow each other.
func packCount(b []byte, n int, head, code byte) []byte {
	switch {
	case n <= fixed:
		return append(b, head|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, code), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, code+1), uint32(n))
	}
}

func packTruth(b []byte, v bool) []byte {
	if v {
		return append(b, 0xc3)
	}
	return append(b, 0xc2)
}

func packUint(b []byte, n uint64) []byte {
	switch {
	case n <= math.MaxInt8:
		return append(b, byte(n))
	case n <= math.MaxUint8:
		return append(b, 0xcc, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xcd), uint16(n))
	case n <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xcf), n)
	}
}

func packInt(b []byte, n int64) []byte {
	switch {
	case n >= 0:
		return packUint(b, uint64(n))
	case n >= -32:
		return append(b, byte(n))
	case n >= math.MinInt8:
		return append(b, 0xd0, byte(n))
	case n >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, 0xd1), uint16(n))
	case n >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, 0xd2), uint32(n))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xd3), uint64(n))
	}
}
