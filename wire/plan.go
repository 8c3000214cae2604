package wire

import (
	"fmt"
	"reflect"
	"strings"
	"sync"
	"unsafe"
)

// A Message is the content of a frame: a pointer to a struct, whose tags describe its fields once, for writing and for
// reading, in the order in which they are written. In a tag,
//
//	wire:"name[,need][,kind]"
//
// need is defaulted, optional or extension, and required where it is left out; kind is date, octets or a bound of
// wire/field, and follows from the Go type where it is left out. A value of another type panics.
type Message any

// need says what a field's absence means.
type need uint8

const (
	required  need = iota
	defaulted      // the value the field has before decoding stays
	optional       // absent or nil is the zero value; written as nil
	extension      // ours: absent or nil is the zero value; not written when zero, so old peers see the seed's bytes
)

var needs = map[string]need{"defaulted": defaulted, "optional": optional, "extension": extension}

// A step is one field of a message.
type step struct {
	at   uintptr // of the struct's beginning
	name string
	need need
	codec
}

// A plan is the steps of a type of message, in the order of its fields. It is not changed once it is made.
type plan struct {
	steps  []step
	absent []int                // -1 for each step: no field is found yet
	preset func(unsafe.Pointer) // sets the defaults of a message that is to be read; nil where all are zero
}

// A presetter is a message with defaults other than zero. The reader of a message calls it first.
type presetter interface{ preset() }

// plans has the plan of each type, made when the type is first used.
var plans sync.Map // reflect.Type, of a pointer to the message, to *plan

// planFor is the plan of a message, and where the message is.
func planFor(m Message) (*plan, unsafe.Pointer) {
	v := reflect.ValueOf(m)
	found, ok := plans.Load(v.Type())
	if !ok {
		found, _ = plans.LoadOrStore(v.Type(), planOf(v.Type().Elem()))
	}
	return found.(*plan), v.UnsafePointer()
}

// planOf panics where a tag cannot be read, which is a mistake in a message of ours and found by the first test that
// uses it.
func planOf(t reflect.Type) *plan {
	p := &plan{}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous { // its fields are the message's own
			for _, s := range planOf(f.Type).steps {
				s.at += f.Offset
				p.steps = append(p.steps, s)
			}
			continue
		}
		words := strings.Split(f.Tag.Get("wire"), ",")
		s, kind := step{at: f.Offset, name: words[0]}, ""
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

// A codec writes and reads the fields of one Go type, to which the pointers point.
type codec struct {
	zero  func(unsafe.Pointer) bool
	write func([]byte, unsafe.Pointer) []byte
	read  func(input, unsafe.Pointer) error
}

// codecOf returns the codec of a field; ok is false where no message may have the type or the kind.
func codecOf(t reflect.Type, kind string) (c codec, ok bool) {
	if c, ok := codecs[codecKey{t, kind}]; ok {
		return c, true
	}
	switch {
	case t.Kind() == reflect.Pointer:
		if c, ok = codecOf(t.Elem(), kind); ok {
			c = pointer(t.Elem(), c)
		}
	case kind == "" && t.Kind() == reflect.Struct:
		p := planOf(t)
		c, ok = codec{write: p.write, read: p.read}, true
	case kind == "" && t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		c, ok = list(t, planOf(t.Elem())), true
	}
	return c, ok
}

// pointer is for fields that may be nil.
func pointer(to reflect.Type, c codec) codec {
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
