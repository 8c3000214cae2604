package oplog

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/vmihailenco/msgpack/v5"
)

// A Packed is a value that makes its own msgpack: the bytes that the encoder would make of its fields by reflection, which is most of what
// a write allocated.
type Packed interface {
	Pack(dst []byte) []byte
}

// Fields appends the fields of a struct as a map. The fields come in the order of the struct; those that may be omitted have methods that
// leave out what is empty.
type Fields struct {
	b     []byte
	at, n int // of the map's head, and how many fields
}

// PackFields begins a map behind dst.
func PackFields(dst []byte) Fields { return Fields{b: append(dst, 0), at: len(dst)} }

// fixed is how many fields a head of one byte can count.
const fixed = 15

// End returns dst with the map.
func (f *Fields) End() []byte {
	if f.n <= fixed {
		f.b[f.at] = 0x80 | byte(f.n)
		return f.b
	}
	f.b = append(f.b, 0, 0)
	copy(f.b[f.at+3:], f.b[f.at+1:])
	f.b[f.at] = 0xde
	binary.BigEndian.PutUint16(f.b[f.at+1:], uint16(f.n))
	return f.b
}

func (f *Fields) name(name string) { f.n, f.b = f.n+1, packString(f.b, name) }

func (f *Fields) String(name, v string) {
	if v != "" {
		f.StringAlways(name, v)
	}
}

func (f *Fields) StringAlways(name, v string) {
	f.name(name)
	f.b = packString(f.b, v)
}

func (f *Fields) Bytes(name string, v []byte) {
	if len(v) > 0 {
		f.BytesAlways(name, v)
	}
}

func (f *Fields) BytesAlways(name string, v []byte) {
	f.name(name)
	if v == nil {
		f.b = append(f.b, 0xc0)
		return
	}
	f.b = append(packLen(f.b, len(v), 0xc4), v...)
}

func (f *Fields) Uint(name string, v uint64) {
	if v != 0 {
		f.UintAlways(name, v)
	}
}

func (f *Fields) UintAlways(name string, v uint64) {
	f.name(name)
	f.b = packUint(f.b, v)
}

func (f *Fields) Int(name string, v int64) {
	if v != 0 {
		f.IntAlways(name, v)
	}
}

func (f *Fields) IntAlways(name string, v int64) {
	f.name(name)
	f.b = packInt(f.b, v)
}

func (f *Fields) Float(name string, v float64) {
	if v != 0 {
		f.name(name)
		f.b = binary.BigEndian.AppendUint64(append(f.b, 0xcb), math.Float64bits(v))
	}
}

func (f *Fields) True(name string, v bool) {
	if v {
		f.name(name)
		f.b = append(f.b, 0xc3)
	}
}

func (f *Fields) Strings(name string, v []string) {
	if len(v) > 0 {
		f.name(name)
		f.b = packArray(f.b, len(v))
		for _, s := range v {
			f.b = packString(f.b, s)
		}
	}
}

// Any appends a value that few have, by reflection.
func (f *Fields) Any(name string, v any) {
	f.name(name)
	f.b = append(f.b, reflected(v)...)
}

// reflected is what the encoder makes of a value that does not pack itself.
func reflected(v any) []byte {
	var buf bytes.Buffer
	enc := msgpack.GetEncoder()
	defer msgpack.PutEncoder(enc)
	enc.Reset(&buf)
	enc.UseCompactInts(true)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("oplog: encode %T: %v", v, err))
	}
	return buf.Bytes()
}

// Pack appends a value as msgpack with the shortest integers.
func Pack(dst []byte, v any) []byte {
	if p, ok := v.(Packed); ok {
		return p.Pack(dst)
	}
	return append(dst, reflected(v)...)
}

// PackAll appends a list of values that pack themselves; nil is none.
func PackAll[T Packed](f *Fields, name string, list []T) {
	f.name(name)
	if list == nil {
		f.b = append(f.b, 0xc0)
		return
	}
	f.b = packArray(f.b, len(list))
	for _, v := range list {
		f.b = v.Pack(f.b)
	}
}

func packString(b []byte, s string) []byte {
	if len(s) < 32 {
		b = append(b, 0xa0|byte(len(s)))
	} else {
		b = packLen(b, len(s), 0xd9)
	}
	return append(b, s...)
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

func packArray(b []byte, n int) []byte {
	switch {
	case n <= fixed:
		return append(b, 0x90|byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(b, 0xdc), uint16(n))
	default:
		return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
	}
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
