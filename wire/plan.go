package wire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// A Message is the content of a frame: a pointer to a struct. Its tags describe the fields for encoding and decoding,
// in the order of encoding. In a tag,
//
//	wire:"name[,need][,kind]"
//
// need is defaulted, optional or extension; without it the field is required. kind is date, octets or a bound of
// wire/field; without it the kind follows from the Go type. A value of any other type panics.
type Message any

// presence says what the absence of a field means.
type presence uint8

const (
	required  presence = iota
	defaulted          // absent keeps the value before decoding
	optional           // absent or nil is the zero value; written as nil
	extension          // Cairn's own: like optional, but not written when zero, so older peers see the original format
)

var needs = map[string]presence{"defaulted": defaulted, "optional": optional, "extension": extension}

// A fieldStep encodes and decodes one field of a message.
type fieldStep struct {
	at   uintptr // offset in the struct
	name string
	need presence
	codec
}

// A plan lists the steps for a message type, in the order of its fields. It is immutable.
type plan struct {
	steps  []fieldStep
	absent []int                // -1 for each step, the initial value of found positions
	preset func(unsafe.Pointer) // sets the defaults before decoding; nil if all are zero
}

// A presetter is a message with defaults other than zero. The decoder calls preset first.
type presetter interface{ preset() }

// plans caches the plan of each type.
var plans sync.Map // reflect.Type, of a pointer to the message, to *plan

// planFor returns the plan and the address of a message.
func planFor(m Message) (*plan, unsafe.Pointer) {
	v := reflect.ValueOf(m)
	found, ok := plans.Load(v.Type())
	if !ok {
		found, _ = plans.LoadOrStore(v.Type(), planOf(v.Type().Elem()))
	}
	return found.(*plan), v.UnsafePointer()
}

// planOf returns the plan of a struct type. It panics on an invalid tag, which is a programming error that the first
// use reveals.
func planOf(t reflect.Type) *plan {
	p := &plan{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous { // embedded: its fields belong to the message
			for _, s := range planOf(f.Type).steps {
				s.at += f.Offset
				p.steps = append(p.steps, s)
			}
			continue
		}
		words := strings.Split(f.Tag.Get("wire"), ",")
		s, kind := fieldStep{at: f.Offset, name: words[0]}, ""
		for _, w := range words[1:] {
			if n, ok := needs[w]; ok {
				s.need = n
			} else {
				kind = w
			}
		}
		var ok bool
		if s.codec, ok = codecOf(f.Type, kind); !ok || s.name == "" {
			panic(fmt.Sprintf("wire: %s.%s: no field of a message", t, f.Name))
		}
		p.steps = append(p.steps, s)
	}
	for range p.steps {
		p.absent = append(p.absent, -1)
	}
	if reflect.PointerTo(t).Implements(reflect.TypeFor[presetter]()) {
		p.preset = func(m unsafe.Pointer) { reflect.NewAt(t, m).Interface().(presetter).preset() }
	}
	return p
}

// A codec encodes and decodes values of one Go type, given as pointers.
type codec struct {
	zero  func(unsafe.Pointer) bool
	write func([]byte, unsafe.Pointer) []byte
	read  func(input, unsafe.Pointer) error
}

// codecOf returns the codec of a field; ok is false if the type or the kind is not supported.
func codecOf(t reflect.Type, kind string) (c codec, ok bool) {
	if c, ok := codecs[codecKey{t, kind}]; ok {
		return c, true
	}
	switch {
	case t.Kind() == reflect.Pointer:
		if c, ok = codecOf(t.Elem(), kind); ok {
			c = pointerCodec(t.Elem(), c)
		}
	case kind == "" && t.Kind() == reflect.Struct:
		p := planOf(t)
		c, ok = codec{write: p.write, read: p.read}, true
	case kind == "" && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		c, ok = listCodec(t, planOf(t.Elem())), true
	}
	return c, ok
}

// pointerCodec returns the codec of a pointer to a type with codec c.
func pointerCodec(to reflect.Type, c codec) codec {
	return codec{
		zero:  func(p unsafe.Pointer) bool { return *(*unsafe.Pointer)(p) == nil },
		write: func(b []byte, p unsafe.Pointer) []byte { return c.write(b, *(*unsafe.Pointer)(p)) },
		read: func(in input, p unsafe.Pointer) error {
			v := reflect.New(to).UnsafePointer()
			*(*unsafe.Pointer)(p) = v
			return c.read(in, v)
		},
	}
}
