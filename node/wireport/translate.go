package wireport

import (
	"cmp"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/cairndb/cairn/wire/field"
)

// fieldNames maps fields of a message to different names in the struct of the table. An empty name means that the
// caller sets the field.
type fieldNames map[string]string

// byName returns a function that converts between a message and a struct of the table. A field of the message
// corresponds to the field with its JSON name, or else with its Go name. A field without a counterpart causes a panic
// at the first use.
func byName[F, T any](but fieldNames) func(*F) *T {
	move := sync.OnceValue(func() move { return moveFields(reflect.TypeFor[F](), reflect.TypeFor[T](), but) })
	translations = append(translations, func() { move() })
	return func(from *F) *T {
		to := new(T)
		move()(reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem())
		return to
	}
}

// translations run these conversions for a test.
var translations []func()

// move sets a value, which is zero, from another one.
type move func(from, to reflect.Value)

func moveFields(from, to reflect.Type, but fieldNames) move {
	type pair struct {
		from, to []int
		move     move
	}
	var pairs []pair
	message, other, asks := from, to, true
	if _, asks = from.Field(0).Tag.Lookup("wire"); !asks {
		message, other = to, from
	}
	for _, f := range reflect.VisibleFields(message) {
		name, _, _ := strings.Cut(f.Tag.Get("wire"), ",")
		otherwise, named := but[name]
		if named && otherwise == "" {
			continue
		}
		src, dst := f, partner(other, cmp.Or(otherwise, name), f.Name)
		if !asks {
			src, dst = dst, src
		}
		pairs = append(pairs, pair{src.Index, dst.Index, moveValue(src.Type, dst.Type, but)})
	}
	return func(from, to reflect.Value) {
		for _, p := range pairs {
			p.move(from.FieldByIndex(p.from), to.FieldByIndex(p.to))
		}
	}
}

func partner(of reflect.Type, name, goName string) reflect.StructField {
	for _, f := range reflect.VisibleFields(of) {
		if tag, _, _ := strings.Cut(f.Tag.Get("json"), ","); tag == name {
			return f
		}
	}
	f, ok := of.FieldByName(goName)
	if !ok {
		panic(fmt.Sprintf("wireport: %s has no field %s", of, name))
	}
	return f
}

var date = reflect.TypeFor[field.Date]()

// moveValue returns the conversion between two types. Unix seconds become a date: 0 means none, unless it is behind a
// pointer. nil leaves the other value zero.
func moveValue(from, to reflect.Type, but fieldNames) move {
	switch kind := from.Kind(); {
	case from.AssignableTo(to):
		return func(from, to reflect.Value) { to.Set(from) }
	case to == date && kind == reflect.Float64:
		return func(from, to reflect.Value) {
			to.Set(reflect.ValueOf(field.Date{Time: field.UnixOrNone(from.Float())}))
		}
	case to == date && from == reflect.TypeFor[*float64](): // 0 is a time
		return func(from, to reflect.Value) {
			if !from.IsNil() {
				at, _ := field.Unix(from.Elem().Float()) // it was checked
				to.Set(reflect.ValueOf(field.Date{Time: at}))
			}
		}
	case kind == reflect.Pointer:
		move := moveValue(from.Elem(), to, but)
		return func(from, to reflect.Value) {
			if !from.IsNil() {
				move(from.Elem(), to)
			}
		}
	case kind == reflect.Slice && from.Elem().Kind() == reflect.Struct:
		move := moveFields(from.Elem(), to.Elem(), but)
		return func(from, to reflect.Value) {
			to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
			for i := range from.Len() {
				move(from.Index(i), to.Index(i))
			}
		}
	case from.ConvertibleTo(to) && to.Kind() != reflect.String:
		return func(from, to reflect.Value) { to.Set(from.Convert(to.Type())) }
	}
	panic(fmt.Sprintf("wireport: %s does not become %s", from, to))
}
