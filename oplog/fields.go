package oplog

import (
	"encoding/binary"
)

// A Fielded value names its fields once, in the order of the struct, for writing and for reading. The bytes are those that the encoder would make of
// its tags by reflection, which would be most of what a write allocates.
type Fielded interface {
	Fields(*Fields)
}

// Fields writes the fields of a value as a map, or reads them. A field that may be omitted is left out when it is empty. It takes what it writes
// and little else: a value of another type, a number that its field cannot hold or a length beyond the input is refused where the decoder
// would make something of it; a field that the value does not name is passed over, as the decoder does. What it takes it reads as the decoder would.
type Fields struct {
	packing bool
	b       []byte // packing: what there is so far
	n       int    // packing: fields of the map

	in   unpacker // reading
	left int      // fields of the map, with the one that is read
	name []byte   // of that one; it belongs to the input
}

// Pack appends a value as msgpack with the shortest integers.
func Pack(dst []byte, v any) []byte {
	f := Fields{packing: true, b: dst}
	f.pack(v)
	return f.b
}

func (f *Fields) pack(v any) {
	if p, ok := v.(Fielded); ok {
		f.write(p)
	} else {
		f.b = append(f.b, reflected(v)...)
	}
}

// Unpack reads a value that Pack made.
func Unpack(b []byte, v any) error {
	f := Fields{in: unpacker{b: b, size: len(b)}}
	f.unpack(v)
	if u := &f.in; u.err == nil && len(u.b) != 0 {
		u.fail("%d bytes too many", len(u.b))
	}
	return f.in.err
}

func (f *Fields) unpack(v any) {
	if p, ok := v.(Fielded); ok {
		f.read(p)
	} else {
		f.in.reflect(v)
	}
}

// fixed is how many fields or elements a head of one byte can count.
const fixed = 15

func (f *Fields) write(v Fielded) {
	at, outer := len(f.b), f.n
	f.b, f.n = append(f.b, 0), 0
	v.Fields(f)
	if f.n <= fixed {
		f.b[at] = 0x80 | byte(f.n)
	} else {
		f.b = append(f.b, 0, 0)
		copy(f.b[at+3:], f.b[at+1:])
		f.b[at] = 0xde
		binary.BigEndian.PutUint16(f.b[at+1:], uint16(f.n))
	}
	f.n = outer
}

// read reads a map. Its fields come in the order in which the value names them, so that naming them once reads all; it takes more when another
// version or another encoder wrote them.
func (f *Fields) read(v Fielded) {
	left, name := f.left, f.name
	f.left = f.in.count(msgpackMap, 2) + 1
	for f.next(); f.left > 0; {
		before := f.left
		if v.Fields(f); f.left == before {
			f.in.skip()
			f.next()
		}
	}
	f.left, f.name = left, name
}

// next goes on to the next field; none is left after a failure.
func (f *Fields) next() {
	if f.left--; f.left > 0 {
		f.name = f.in.take(msgpackString)
	}
	if f.in.err != nil {
		f.left = 0
	}
}

// has says whether a field is to be written, and writes its name, or whether it is the one to be read.
func (f *Fields) has(name string, empty bool) bool {
	if !f.packing {
		return f.left > 0 && string(f.name) == name
	}
	if empty {
		return false
	}
	f.n, f.b = f.n+1, packString(f.b, name)
	return true
}

func (f *Fields) String(name string, v *string) { f.string(name, v, *v == "") }

func (f *Fields) StringAlways(name string, v *string) { f.string(name, v, false) }

func (f *Fields) string(name string, v *string, empty bool) {
	switch {
	case !f.has(name, empty):
	case f.packing:
		f.b = packString(f.b, *v)
	default:
		*v = string(f.in.take(msgpackString))
		f.next()
	}
}

func (f *Fields) Bytes(name string, v *[]byte) { f.bytes(name, v, len(*v) == 0) }

func (f *Fields) bytes(name string, v *[]byte, empty bool) {
	switch {
	case !f.has(name, empty):
	case f.packing:
		f.b = packBytes(f.b, *v)
	default:
		*v = f.in.bytes()
		f.next()
	}
}

// An Integer is what a number's field may be.
type Integer interface {
	~int | ~int64 | ~uint8 | ~uint32 | ~uint64
}

func Number[T Integer](f *Fields, name string, v *T) { number(f, name, v, *v == 0) }

func NumberAlways[T Integer](f *Fields, name string, v *T) { number(f, name, v, false) }

func number[T Integer](f *Fields, name string, v *T, empty bool) {
	switch {
	case !f.has(name, empty):
	case f.packing && *v < 0:
		f.b = packInt(f.b, int64(*v))
	case f.packing:
		f.b = packUint(f.b, uint64(*v))
	default:
		*v = unpackNumber[T](&f.in)
		f.next()
	}
}

func (f *Fields) Float(name string, v *float64) {
	switch {
	case !f.has(name, *v == 0):
	case f.packing:
		f.b = packFloat(f.b, *v)
	default:
		*v = f.in.float()
		f.next()
	}
}

// True is a truth value that is left out when it is false.
func (f *Fields) True(name string, v *bool) {
	switch {
	case !f.has(name, !*v):
	case f.packing:
		f.b = append(f.b, 0xc3)
	default:
		*v = f.in.truth()
		f.next()
	}
}

func (f *Fields) Strings(name string, v *[]string) {
	switch {
	case !f.has(name, len(*v) == 0):
	case f.packing:
		f.b = packArray(f.b, len(*v))
		for _, s := range *v {
			f.b = packString(f.b, s)
		}
	default:
		*v = f.in.strings()
		f.next()
	}
}

// Time is an HLC, of 16 bytes.
func (f *Fields) Time(name string, v *HLC) {
	switch {
	case !f.has(name, false):
	case f.packing:
		f.b = packBytes(f.b, v[:])
	default:
		f.in.time(v)
		f.next()
	}
}

// Any is a value that few have: it goes through the encoder and the decoder, and is left out when empty says so.
func Any[T any](f *Fields, name string, v *T, empty bool) {
	switch {
	case !f.has(name, empty):
	case f.packing:
		f.b = append(f.b, reflected(*v)...)
	default:
		f.in.reflect(v)
		f.next()
	}
}

// A fielded is a pointer to a T, which is Fielded.
type fielded[T any] interface {
	*T
	Fielded
}

// List is a list of values; ListAlways writes an empty one too.
func List[T any, P fielded[T]](f *Fields, name string, list *[]T) {
	each[T, P](f, name, list, len(*list) == 0)
}

func ListAlways[T any, P fielded[T]](f *Fields, name string, list *[]T) {
	each[T, P](f, name, list, false)
}

func each[T any, P fielded[T]](f *Fields, name string, list *[]T, empty bool) {
	switch {
	case !f.has(name, empty):
	case f.packing && *list == nil:
		f.b = append(f.b, null)
	case f.packing:
		f.b = packArray(f.b, len(*list))
		for i := range *list {
			f.write(P(&(*list)[i]))
		}
	default:
		readAll[T, P](f, list)
		f.next()
	}
}

func readAll[T any, P fielded[T]](f *Fields, list *[]T) {
	if *list != nil {
		f.in.fail("a second list")
		return
	}
	if f.in.null() {
		return
	}
	n := f.in.count(msgpackArray, 1)
	all := make([]T, 0, min(n, trusted))
	for i := range n {
		var zero T
		all = append(all, zero)
		if f.read(P(&all[i])); f.in.err != nil {
			return
		}
	}
	*list = all
}

// Value is a value that may be absent.
func Value[T any, P fielded[T]](f *Fields, name string, v *P) {
	switch {
	case !f.has(name, *v == nil):
	case f.packing:
		f.write(*v)
	default:
		if f.in.null() {
			*v = nil
		} else {
			if *v == nil {
				*v = new(T)
			}
			f.read(*v)
		}
		f.next()
	}
}
