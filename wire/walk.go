package wire

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"unsafe"

	"github.com/cairndb/cairn/wire/field"
)

// A step is one field of a message: where it is in the struct, its name, what its absence means, and how it is written and read. In a tag,
//
//	wire:"name[,need][,kind]"
//
// need is defaulted, optional or extension, and required where it is left out; kind is date, octets or a bound of wire/field, and follows
// from the Go type where it is left out.
type step struct {
	at   uintptr // of the struct's beginning
	name string
	need need
	do   func(c *codec, s *step, p unsafe.Pointer) // p is the field
}

// A plan is the steps of a type of message, in the order of its fields.
type plan struct {
	steps []step
	names []string // of its fields and those of what is embedded
}

// plans has what was read from the tags of each type, once.
var plans sync.Map // reflect.Type, of a pointer to the message, to *plan

// walk does with the fields of a message, of which m is a pointer to a struct with tags, what the codec is there for.
func walk(c *codec, m Message) {
	v := reflect.ValueOf(m)
	found, ok := plans.Load(v.Type())
	if !ok {
		found, _ = plans.LoadOrStore(v.Type(), planOf(v.Type().Elem()))
	}
	p, base := found.(*plan), v.UnsafePointer()
	if c.mode == naming {
		c.names = p.names
		return
	}
	for i := range p.steps {
		s := &p.steps[i]
		s.do(c, s, unsafe.Add(base, s.at)) // within the struct: the offset is that of a field of its type
	}
}

var needs = map[string]need{"defaulted": defaulted, "optional": optional, "extension": extension}

var bounds = map[string]field.Kind{"unit": field.Unit, "signed": field.Signed, "hours": field.Hours, "weight": field.Weight}

// planOf panics where a tag cannot be read, which is a mistake in a message of ours and found by the first test that uses it.
func planOf(t reflect.Type) *plan {
	p := &plan{}
	for i := range t.NumField() {
		f := t.Field(i)
		words := strings.Split(f.Tag.Get("wire"), ",")
		s, kind := step{at: f.Offset, name: words[0]}, ""
		for _, w := range words[1:] {
			if n, ok := needs[w]; ok {
				s.need = n
			} else {
				kind = w
			}
		}
		if s.do = doOf(f.Type, kind); s.do == nil || s.name == "" && !f.Anonymous {
			panic(fmt.Sprintf("wire: %s.%s: no field of a message", t, f.Name))
		}
		p.steps = append(p.steps, s)
		if f.Anonymous {
			p.names = append(p.names, planOf(f.Type).names...)
		} else {
			p.names = append(p.names, s.name)
		}
	}
	return p
}

// at is a step for the fields of one Go type.
func at[T any](do func(*codec, string, *T, need)) func(*codec, *step, unsafe.Pointer) {
	return func(c *codec, s *step, p unsafe.Pointer) { do(c, s.name, (*T)(p), s.need) } // doOf takes it for fields of type T alone
}

// doOf is how a field is written and read; nil where the type or the kind is none of a message.
func doOf(t reflect.Type, kind string) func(*codec, *step, unsafe.Pointer) {
	if k, bounded := bounds[kind]; bounded {
		return at(func(c *codec, name string, v *float64, n need) { c.bounded(name, v, n, k) })
	}
	if do, ok := kinds[kindKey{t, kind}]; ok {
		return do
	}
	message := reflect.TypeFor[Message]()
	switch {
	case kind != "":
	case t.Kind() == reflect.Pointer && t.Implements(message):
		return func(c *codec, s *step, p unsafe.Pointer) { sub(c, s, reflect.NewAt(t, p).Elem()) }
	case t.Kind() == reflect.Slice && reflect.PointerTo(t.Elem()).Implements(message):
		return func(c *codec, s *step, p unsafe.Pointer) { list(c, s, reflect.NewAt(t, p).Elem()) }
	case t.Kind() == reflect.Struct && reflect.PointerTo(t).Implements(message): // embedded
		return func(c *codec, _ *step, p unsafe.Pointer) { reflect.NewAt(t, p).Interface().(Message).fields(c) }
	}
	return nil
}

type kindKey struct {
	t    reflect.Type
	kind string
}

func of[T any](kind string) kindKey { return kindKey{reflect.TypeFor[T](), kind} }

var kinds = map[kindKey]func(*codec, *step, unsafe.Pointer){
	of[string](""):       at((*codec).str),
	of[*string](""):      at((*codec).optStr),
	of[[]string](""):     at((*codec).strs),
	of[float64](""):      at((*codec).f64),
	of[*float64](""):     at((*codec).optF64),
	of[float64]("date"):  at((*codec).date),
	of[*float64]("date"): at((*codec).optDate),
	of[bool](""):         at((*codec).boolean),
	of[int](""):          at(integer[int]),
	of[int64](""):        at(integer[int64]),
	of[*int64](""):       at((*codec).optInteger),
	of[uint8](""):        at(uintField[uint8]),
	of[uint32](""):       at(uintField[uint32]),
	of[uint64](""):       at(uintField[uint64]),
	of[Code](""):         at(uintField[Code]),
	of[*uint32](""):      at(optUint[uint32]),
	of[[]byte](""):       at((*codec).bin),
	of[[]byte]("octets"): at((*codec).octets),
	of[[]float32](""):    at((*codec).floats),
	of[JSON](""):         at((*codec).json),
}

// A capped message may stand in a list no more often than most says: a value may be a few bytes there, and hundreds when it is decoded.
type capped interface{ most() uint32 }

// list is a list of messages.
func list(c *codec, s *step, v reflect.Value) {
	h, pos, read, write := c.visit(s.name, s.need, v.IsNil() && s.need != required)
	if write {
		c.b = appendArray(c.b, v.Len())
		for i := range v.Len() {
			c.b = encodeInto(c.b, v.Index(i).Addr().Interface().(Message))
		}
	}
	if !read {
		return
	}
	if h.kind != kArray {
		c.wrong(s.name, h, "a sequence")
		return
	}
	most := uint32(math.MaxUint32)
	if m, ok := reflect.Zero(v.Type().Elem()).Interface().(capped); ok {
		most = m.most()
	}
	if h.n > most {
		c.err = fmt.Errorf("%w: %s: %d values, %d allowed", ErrPayload, s.name, h.n, most)
		return
	}
	pos += h.size
	v.Set(reflect.MakeSlice(v.Type(), 0, min(int(h.n), 256))) // grows with what is really there
	for i := range int(h.n) {
		if v.Len() == v.Cap() {
			v.Grow(1)
		}
		v.SetLen(i + 1)
		if err := decodeAt(c.b, pos, v.Index(i).Addr().Interface().(Message), c.exact); err != nil {
			c.err = fmt.Errorf("%s[%d]: %w", s.name, i, err)
			return
		}
		var err error
		if pos, err = skip(c.b, pos); err != nil {
			c.err = err
			return
		}
	}
}

// sub is a message inside a message; nil is none.
func sub(c *codec, s *step, v reflect.Value) {
	_, pos, read, write := c.visit(s.name, s.need, v.IsNil())
	if write {
		c.b = encodeInto(c.b, v.Interface().(Message))
	}
	if read {
		v.Set(reflect.New(v.Type().Elem()))
		if err := decodeAt(c.b, pos, v.Interface().(Message), c.exact); err != nil {
			c.err = err
		}
	}
}
