package wire

import (
	"encoding/binary"
	"math"
)

// The append functions write msgpack in its smallest form, as every peer does.

func appendMap(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x80|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xDE), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, 0xDF), uint32(n))
	}
}

func appendArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xDC), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, 0xDD), uint32(n))
	}
}

func appendStr(b []byte, s string) []byte {
	switch n := len(s); {
	case n < 32:
		b = append(b, 0xA0|byte(n))
	case n <= math.MaxUint8:
		b = append(b, 0xD9, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xDA), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xDB), uint32(n))
	}
	return append(b, s...)
}

func appendBin(b, v []byte) []byte {
	switch n := len(v); {
	case n <= math.MaxUint8:
		b = append(b, 0xC4, byte(n))
	case n <= math.MaxUint16:
		b = binary.BigEndian.AppendUint16(append(b, 0xC5), uint16(n))
	default:
		b = binary.BigEndian.AppendUint32(append(b, 0xC6), uint32(n))
	}
	return append(b, v...)
}

func appendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 0xC3)
	}
	return append(b, 0xC2)
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

func appendUint[T unsigned](b []byte, x T) []byte {
	switch v := uint64(x); {
	case v < 128:
		return append(b, byte(v))
	case v <= math.MaxUint8:
		return append(b, 0xCC, byte(v))
	case v <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xCD), uint16(v))
	case v <= math.MaxUint32:
		return binary.BigEndian.AppendUint32(append(b, 0xCE), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xCF), v)
	}
}

func appendInt[T int | int64](b []byte, x T) []byte {
	switch v := int64(x); {
	case v >= 0:
		return appendUint(b, uint64(v))
	case v >= -32:
		return append(b, byte(v))
	case v >= math.MinInt8:
		return append(b, 0xD0, byte(v))
	case v >= math.MinInt16:
		return binary.BigEndian.AppendUint16(append(b, 0xD1), uint16(v))
	case v >= math.MinInt32:
		return binary.BigEndian.AppendUint32(append(b, 0xD2), uint32(v))
	default:
		return binary.BigEndian.AppendUint64(append(b, 0xD3), uint64(v))
	}
}

func appendF64(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(append(b, 0xCB), math.Float64bits(v))
}
