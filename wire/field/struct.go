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

// Types for the fields of structs, in addition to Go's own. The zero Date means no date.
type (
	Date   struct{ time.Time }
	Window struct{ From, To time.Time } // a zero time is an open side
	Vector []float32
	Map    json.RawMessage // an object, while a json.RawMessage is any value

	// Like, as the type of a field named _, marks a struct that contains a part of T's fields. Fields without tags of
	// their own are described by T's fields of the same name.
	Like[T any] struct{}
)

func (Like[T]) declared() Object { return Of(reflect.TypeFor[T]()) }

var objectCache sync.Map // reflect.Type to Object

// Of returns the description of a struct, and caches it. It panics on an invalid tag, which is a programming error.
func Of(t reflect.Type) Object {
	if o, ok := objectCache.Load(t); ok {
		return o.(Object)
	}
	o := fieldsOf(t, nil)
	objectCache.Store(t, o)
	return o
}

func fieldsOf(t reflect.Type, at []int) (o Object) {
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
			for _, d := range fieldsOf(t, place) {
				d.omittable = d.omittable || pointer // an answer may omit the embedded struct
				o = append(o, d)
			}
			continue
		}
		if name := cmp.Or(f.Tag.Get("json"), f.Tag.Get("idle")); name != "" && name != "-" {
			o = append(o, fieldFromTag(t, f, place, declared))
		}
	}
	return o
}

// fieldFromTag returns the description of a field from its tags. Requests may contain idle fields, which the server
// ignores.
func fieldFromTag(of reflect.Type, f reflect.StructField, place []int, declared Object) Field {
	name, options, _ := strings.Cut(cmp.Or(f.Tag.Get("json"), f.Tag.Get("idle")), ",")
	is, must := strings.CutSuffix(f.Tag.Get("is"), "!")
	d := Field{Name: name, Must: must, Doc: f.Tag.Get("doc"), Default: f.Tag.Get("default"), Example: f.Tag.Get("example"),
		In: f.Tag.Get("in"), Code: f.Tag.Get("code"),
		Idle: f.Tag.Get("idle") != "", at: place}
	d.omittable = strings.HasPrefix(options, "omit")
	d.pointer = f.Type.Kind() == reflect.Pointer
	if also := f.Tag.Get("also"); also != "" {
		d.Others = strings.Split(also, ",")
	}
	switch tool := f.Tag.Get("tool"); tool {
	case "", "-":
		d.hiddenFromTools = tool != ""
	default:
		d.toolOthers = strings.Split(tool, ",")
	}
	d.toolPreset, d.notInCore = f.Tag.Get("tooldefault"), f.Tag.Get("core") == "-"
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

// The kinds of Go types: special types, and other types by their reflect.Kind.
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
		item.nullItems = t.Elem() == reflect.TypeFor[*float64]()
		return listOf(item)
	case reflect.Struct:
		k := kindOf("Shape")
		k.Name, k.Shape, k.shapeType = t.Name(), t.Name(), t
		return k
	}
	panic("field: no kind of value: " + t.String())
}

// ForTools returns the object for MCP tools: without fields that models must not set, and with the names that models
// use. Path parameters become required fields.
func (o Object) ForTools() Object {
	var list Object
	for _, f := range o {
		if f.hiddenFromTools {
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

// Core returns the object for the tool profile core. Models read these tools at the start of each conversation, so it
// omits rarely used fields, examples, and obvious defaults.
func (o Object) Core() Object {
	var list Object
	for _, f := range o {
		if f.Example = ""; f.Default == "false" || f.Default == "{}" {
			f.Default = ""
		}
		if !f.notInCore {
			list = append(list, f)
		}
	}
	return list
}

// Answered returns the object as an answer: all fields are required except those that are omitted when empty.
func (o Object) Answered() Object {
	o = slices.Clone(o)
	for i := range o {
		o[i].Must, o[i].Nullable, o[i].Default = !o[i].omittable, o[i].pointer, ""
	}
	return o
}

// Shapes adds the objects nested in this one, at any depth, to all by name. With answer it describes them as answers.
func (o Object) Shapes(all map[string]Object, answer bool) {
	for _, f := range o {
		k := f.Kind
		if k.Item != nil {
			k = *k.Item
		}
		if k.shapeType == nil || all[k.Shape] != nil {
			continue
		}
		of := Of(k.shapeType)
		if answer {
			of = of.Answered()
		}
		all[k.Shape] = of
		of.Shapes(all, answer)
	}
}

// At returns the fields in one place of a request: path, query or body. Fields without a place are in usual.
func (o Object) At(place, usual string) Object {
	var list Object
	for _, f := range o {
		if slices.Contains(strings.Split(cmp.Or(f.In, usual), ","), place) {
			list = append(list, f)
		}
	}
	return list
}

// MarshalJSON writes RFC 3339; null for no date.
func (d Date) MarshalJSON() ([]byte, error) {
	if d.IsZero() {
		return []byte("null"), nil
	}
	return d.Time.MarshalJSON()
}

// MarshalJSON writes a list of two dates; null for a window that is open on both sides.
func (w Window) MarshalJSON() ([]byte, error) {
	if w.From.IsZero() && w.To.IsZero() {
		return []byte("null"), nil
	}
	return json.Marshal([]Date{{w.From}, {w.To}})
}

// MarshalJSON writes the object unchanged; null for none.
func (m Map) MarshalJSON() ([]byte, error) { return json.RawMessage(m).MarshalJSON() }
