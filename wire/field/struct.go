package field

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// The types that a struct's fields have in addition to Go's own. A Date that is zero is none.
type (
	Date   struct{ time.Time }
	Window struct{ From, To time.Time } // a side that is zero is open
	Vector []float32
	Map    json.RawMessage // an object; a json.RawMessage is any value

	// Like marks, as a field named _, a struct that shows a part of T: a field that says nothing of itself is
	// described as T's of its name.
	Like[T any] struct{}
)

func (Like[T]) declared() Object { return Of(reflect.TypeFor[T]()) }

var described sync.Map // reflect.Type to Object

// Of is the description of a struct, read from its tags once. It panics where a tag cannot be read, which is a
// mistake in a struct of ours.
func Of(t reflect.Type) Object {
	if o, ok := described.Load(t); ok {
		return o.(Object)
	}
	o := walk(t, nil)
	described.Store(t, o)
	return o
}

func walk(t reflect.Type, at []int) (o Object) {
	var declared Object
	for i := range t.NumField() {
		if like, ok := reflect.Zero(t.Field(i).Type).Interface().(interface{ declared() Object }); ok {
			declared = like.declared()
			continue
		}
		f := t.Field(i)
		place := append(slices.Clip(at), i)
		if f.Anonymous {
			t, pointer := f.Type, f.Type.Kind() == reflect.Pointer
			if pointer {
				t = t.Elem()
			}
			for _, d := range walk(t, place) {
				d.may = d.may || pointer // an answer may leave all of it out
				o = append(o, d)
			}
			continue
		}
		if name := cmp.Or(f.Tag.Get("json"), f.Tag.Get("idle")); name != "" && name != "-" {
			o = append(o, tagged(t, f, place, declared))
		}
	}
	return o
}

// tagged reads the tags of one field. A request may have an idle one, and the server ignores it.
func tagged(of reflect.Type, f reflect.StructField, place []int, declared Object) Field {
	name, options, _ := strings.Cut(cmp.Or(f.Tag.Get("json"), f.Tag.Get("idle")), ",")
	is, must := strings.CutSuffix(f.Tag.Get("is"), "!")
	d := Field{Name: name, Must: must, Doc: f.Tag.Get("doc"), Default: f.Tag.Get("default"), Example: f.Tag.Get("example"),
		In: f.Tag.Get("in"), Code: f.Tag.Get("code"),
		Idle: f.Tag.Get("idle") != "", at: place}
	d.may = strings.HasPrefix(options, "omit")
	d.pointer = f.Type.Kind() == reflect.Pointer
	if also := f.Tag.Get("also"); also != "" {
		d.Others = strings.Split(also, ",")
	}
	switch tool := f.Tag.Get("tool"); tool {
	case "", "-":
		d.untold = tool != ""
	default:
		d.toolOthers = strings.Split(tool, ",")
	}
	d.toolPreset, d.rare = f.Tag.Get("tooldefault"), f.Tag.Get("core") == "-"
	d.Kind = kindOfType(f.Type)
	if is != "" {
		bounded := kindOf(is)
		if bounded.Type != d.Kind.Type && d.Kind.Item == nil {
			panic(fmt.Sprintf("field: %s.%s is %q, which is no %s", of, f.Name, is, f.Type))
		}
		d.Kind = bounded
	}
	if i := slices.IndexFunc(declared, func(d Field) bool { return d.Name == name }); i >= 0 {
		d.Doc = cmp.Or(d.Doc, declared[i].Doc)
		if is == "" && declared[i].Kind.Type == d.Kind.Type {
			d.Kind = declared[i].Kind
		}
	}
	if d.Kind.Type == "boolean" && !d.pointer && d.Default == "" {
		d.Default = "false"
	}
	if d.Doc == "" && !d.Idle {
		panic(fmt.Sprintf("field: %s.%s has no doc", of, f.Name))
	}
	return d
}

var (
	dateType   = reflect.TypeFor[Date]()
	windowType = reflect.TypeFor[Window]()
	vectorType = reflect.TypeFor[Vector]()
	jsonType   = reflect.TypeFor[json.RawMessage]()
	mapType    = reflect.TypeFor[Map]()
	tokenType  = reflect.TypeFor[Token]()
)

// The kinds of the types that have one, and of Go's own by what they are.
var (
	typeKinds = map[reflect.Type]string{dateType: "date", windowType: "window", vectorType: "[]number", jsonType: "any",
		mapType: "object", tokenType: "token"}
	goKinds = map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Float64: "number",
		reflect.Float32: "number",
		reflect.Int:     "integer", reflect.Int64: "integer", reflect.Uint: "integer[0..]", reflect.Uint64: "integer[0..]",
		reflect.Uint32:    "integer[0..4294967295]",
		reflect.Interface: "any"}
)

func kindOfType(t reflect.Type) Kind {
	if s := cmp.Or(typeKinds[t], goKinds[t.Kind()]); s != "" {
		return kindOf(s)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOfType(t.Elem())
	case reflect.Slice:
		item := kindOfType(t.Elem())
		item.gaps = t.Elem() == reflect.TypeFor[*float64]()
		return listOf(item)
	case reflect.Struct:
		k := kindOf("Shape")
		k.Name, k.Shape, k.of = t.Name(), t.Name(), t
		return k
	}
	panic("field: no kind of value: " + t.String())
}

// ForTools is the object as MCP tools show it: without the fields that models must not set, and with the spellings
// that models use. What HTTP has in a path is a field like any other.
func (o Object) ForTools() Object {
	var list Object
	for _, f := range o {
		if f.untold {
			continue
		}
		f.Others, f.Default = slices.Concat(f.Others, f.toolOthers), cmp.Or(f.toolPreset, f.Default)
		f.Must = f.Must || f.In == "path"
		if f.Kind.RID {
			f.Example = "#812"
		}
		list = append(list, f)
	}
	return list
}

// Core is the object as the profile core shows it, whose tools a model reads at the start of each conversation:
// without fields that few calls need, examples, and defaults that go without saying.
func (o Object) Core() Object {
	var list Object
	for _, f := range o {
		if f.Example = ""; f.Default == "false" || f.Default == "{}" {
			f.Default = ""
		}
		if !f.rare {
			list = append(list, f)
		}
	}
	return list
}

// Answered is the object as an answer: all its fields are there but those that are left out when they are empty.
func (o Object) Answered() Object {
	o = slices.Clone(o)
	for i := range o {
		o[i].Must, o[i].Nullable, o[i].Default = !o[i].may, o[i].pointer, ""
	}
	return o
}

// Shapes adds the objects inside this one, at any depth, by name. Those of an answer are described as answers.
func (o Object) Shapes(all map[string]Object, answer bool) {
	for _, f := range o {
		k := f.Kind
		if k.Item != nil {
			k = *k.Item
		}
		if k.of == nil || all[k.Shape] != nil {
			continue
		}
		of := Of(k.of)
		if answer {
			of = of.Answered()
		}
		all[k.Shape] = of
		of.Shapes(all, answer)
	}
}

// At is the fields that come in one place of a request: path, query or body. A field without a place of its own comes
// in usual.
func (o Object) At(place, usual string) Object {
	var list Object
	for _, f := range o {
		if slices.Contains(strings.Split(cmp.Or(f.In, usual), ","), place) {
			list = append(list, f)
		}
	}
	return list
}

// MarshalJSON writes a date as a request has it, null for none.
func (d Date) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return d.Time.MarshalJSON()
}

// MarshalJSON writes two dates, null for a window that is open on both sides.
func (w Window) MarshalJSON() ([]byte, error) {
	if w.From.IsZero() && w.To.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal([]Date{{w.From}, {w.To}})
}

// MarshalJSON writes the object as it is, null for none.
func (m Map) MarshalJSON() ([]byte, error) { return json.RawMessage(m).MarshalJSON() }
