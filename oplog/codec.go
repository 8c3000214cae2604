package oplog

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// A codec encodes and decodes the values of one Go type as msgpack. It is built once for each type, from the tags of
// its fields, because reflection over every value would cause most of a write's allocations. Its functions take a
// pointer to a value of exactly that type.
//
// The bytes are those of the msgpack library, with the shortest integers. Decoding is stricter than the library: it
// rejects a value of another type, a number that the field cannot hold and a length beyond the input. It skips
// unknown fields.
type codec struct {
	pack   func(b []byte, p unsafe.Pointer) []byte
	unpack func(u *unpacker, p unsafe.Pointer)
	empty  func(p unsafe.Pointer) bool // whether omitempty leaves the value out
}

// Pack appends the encoding of *v.
func Pack(dst []byte, v any) []byte {
	p := reflect.ValueOf(v)
	return codecOf(p.Type().Elem()).pack(dst, p.UnsafePointer())
}

// Unpack decodes the bytes of Pack into *v.
func Unpack(b []byte, v any) error {
	u := unpacker{b: b, size: len(b)}
	if u.value(v); u.err == nil && len(u.b) != 0 {
		u.fail("%d bytes too many", len(u.b))
	}
	return u.err
}

func (u *unpacker) value(v any) {
	p := reflect.ValueOf(v)
	codecOf(p.Type().Elem()).unpack(u, p.UnsafePointer())
}

var codecs sync.Map // reflect.Type to *codec

func codecOf(t reflect.Type) *codec {
	f, ok := codecs.Load(t)
	if !ok {
		f, _ = codecs.LoadOrStore(t, newCodec(t))
	}
	return f.(*codec)
}

// newCodec panics for a type that cannot be stored; a test of all types would find it.
func newCodec(t reflect.Type) *codec {
	if f := scalarCodecs[t.Kind()]; f != nil {
		return f
	}
	octets := (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) && t.Elem().Kind() == reflect.Uint8
	switch {
	case octets && t.Kind() == reflect.Slice:
		return &codec{
			pack:   func(b []byte, p unsafe.Pointer) []byte { return packBytes(b, *(*[]byte)(p)) },
			unpack: func(u *unpacker, p unsafe.Pointer) { *(*[]byte)(p) = u.bytes() },
			empty:  func(p unsafe.Pointer) bool { return len(*(*[]byte)(p)) == 0 },
		}
	case octets:
		in := func(p unsafe.Pointer) []byte { return unsafe.Slice((*byte)(p), t.Len()) }
		return &codec{
			pack:   func(b []byte, p unsafe.Pointer) []byte { return packBytes(b, in(p)) },
			unpack: func(u *unpacker, p unsafe.Pointer) { u.fill(in(p)) },
			empty:  never,
		}
	case t.Kind() == reflect.Slice:
		return listCodec(t)
	case t.Kind() == reflect.Pointer:
		return pointerCodec(t)
	case t.Kind() == reflect.Struct:
		return structCodec(t)
	}
	panic(fmt.Sprintf("oplog: a value of type %s cannot be stored", t))
}

func never(unsafe.Pointer) bool { return false }

var scalarCodecs = map[reflect.Kind]*codec{
	reflect.String: {
		func(b []byte, p unsafe.Pointer) []byte { return packString(b, *(*string)(p)) },
		func(u *unpacker, p unsafe.Pointer) { *(*string)(p) = string(u.take(msgpackString)) },
		func(p unsafe.Pointer) bool { return *(*string)(p) == "" },
	},
	reflect.Float64: {
		func(b []byte, p unsafe.Pointer) []byte { return packFloat(b, *(*float64)(p)) },
		func(u *unpacker, p unsafe.Pointer) { *(*float64)(p) = u.float() },
		func(p unsafe.Pointer) bool { return *(*float64)(p) == 0 },
	},
	reflect.Bool: {
		func(b []byte, p unsafe.Pointer) []byte { return packBool(b, *(*bool)(p)) },
		func(u *unpacker, p unsafe.Pointer) { *(*bool)(p) = u.bool() },
		func(p unsafe.Pointer) bool { return !*(*bool)(p) },
	},
	reflect.Int: integerCodec[int](), reflect.Int8: integerCodec[int8](), reflect.Int64: integerCodec[int64](),
	reflect.Uint8: integerCodec[uint8](), reflect.Uint32: integerCodec[uint32](), reflect.Uint64: integerCodec[uint64](),
}

func integerCodec[T int | int8 | int64 | uint8 | uint32 | uint64]() *codec {
	return &codec{
		func(b []byte, p unsafe.Pointer) []byte {
			if v := *(*T)(p); v < 0 {
				return packInt(b, int64(v))
			}
			return packUint(b, uint64(*(*T)(p)))
		},
		func(u *unpacker, p unsafe.Pointer) { *(*T)(p) = unpackInteger[T](u) },
		func(p unsafe.Pointer) bool { return *(*T)(p) == 0 },
	}
}

// preallocated bounds the elements that a list has room for before the first is decoded: the length may be a lie.
const preallocated = 256

func listCodec(t reflect.Type) *codec {
	elem, size := codecOf(t.Elem()), t.Elem().Size()
	in := func(p unsafe.Pointer) reflect.Value { return reflect.NewAt(t, p).Elem() }
	at := func(list reflect.Value, i int) unsafe.Pointer {
		return unsafe.Add(list.UnsafePointer(), uintptr(i)*size)
	}
	return &codec{
		pack: func(b []byte, p unsafe.Pointer) []byte {
			list := in(p)
			if list.IsNil() {
				return append(b, msgpcode.Nil)
			}
			b = packArray(b, list.Len())
			for i := range list.Len() {
				b = elem.pack(b, at(list, i))
			}
			return b
		},
		unpack: func(u *unpacker, p unsafe.Pointer) {
			list := in(p)
			if !list.IsNil() { // decoding into it would keep values of the first list
				u.fail("a second list")
			}
			if u.isNil() {
				return
			}
			n := u.count(msgpackArray, 1)
			if n == 0 {
				list.Set(reflect.MakeSlice(t, 0, 0))
			}
			list.Grow(min(n, preallocated))
			for i := 0; i < n && u.err == nil; i++ {
				list.Grow(1)
				list.SetLen(i + 1)
				elem.unpack(u, at(list, i))
			}
		},
		empty: func(p unsafe.Pointer) bool { return in(p).Len() == 0 },
	}
}

// pointerCodec returns the codec of an optional value.
func pointerCodec(t reflect.Type) *codec {
	of := codecOf(t.Elem())
	return &codec{
		pack: func(b []byte, p unsafe.Pointer) []byte {
			if v := *(*unsafe.Pointer)(p); v != nil {
				return of.pack(b, v)
			}
			return append(b, msgpcode.Nil)
		},
		unpack: func(u *unpacker, p unsafe.Pointer) {
			v := (*unsafe.Pointer)(p)
			if u.isNil() {
				*v = nil
				return
			}
			if *v == nil {
				*v = reflect.New(t.Elem()).UnsafePointer()
			}
			of.unpack(u, *v)
		},
		empty: func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil },
	}
}

// A fieldCodec is the codec of a struct's field.
type fieldCodec struct {
	*codec
	name   string
	packed []byte  // the encoded name
	offset uintptr // in the struct
	omit   bool
}

// fieldCodecsOf returns the fields in order, including those of embedded structs. Each field needs a msgpack tag: a
// name, or a dash if it is not stored.
func fieldCodecsOf(t reflect.Type, at uintptr) (steps []fieldCodec) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, option, _ := strings.Cut(f.Tag.Get("msgpack"), ",")
		switch {
		case name == "-":
		case name != "":
			steps = append(steps, fieldCodec{codecOf(f.Type), name, packString(nil, name), at + f.Offset, option == "omitempty"})
		case f.Anonymous:
			steps = append(steps, fieldCodecsOf(f.Type, at+f.Offset)...)
		default:
			panic(fmt.Sprintf("oplog: %s.%s has no tag", t, f.Name))
		}
	}
	return steps
}

// structCodec returns the codec of a struct, a map from field names to values. Fields mostly come in order, so
// decoding looks for each name after the previous one.
func structCodec(t reflect.Type) *codec {
	steps := fieldCodecsOf(t, 0)
	return &codec{
		pack: func(b []byte, p unsafe.Pointer) []byte {
			head, n := len(b), 0
			b = append(b, 0)
			for i := range steps {
				s := &steps[i]
				if v := unsafe.Add(p, s.offset); !s.omit || !s.empty(v) {
					b, n = s.pack(append(b, s.packed...), v), n+1
				}
			}
			if b[head] = 0x80 | byte(n); n > maxFixed {
				b = append(b, 0, 0)
				copy(b[head+3:], b[head+1:])
				b[head] = 0xde
				binary.BigEndian.PutUint16(b[head+1:], uint16(n))
			}
			return b
		},
		unpack: func(u *unpacker, p unsafe.Pointer) {
			next := 0
			for left := u.count(msgpackMap, 2); left > 0 && u.err == nil; left-- {
				if s := findField(steps, &next, u.take(msgpackString)); s != nil {
					s.unpack(u, unsafe.Add(p, s.offset))
				} else {
					u.skip()
				}
			}
		},
		empty: never,
	}
}

// findField returns the field with a name, nil for none. It begins at next, and sets next to the field after the one
// found.
func findField(steps []fieldCodec, next *int, name []byte) *fieldCodec {
	for i := range steps {
		if at := (*next + i) % len(steps); steps[at].name == string(name) {
			*next = at + 1
			return &steps[at]
		}
	}
	return nil
}
