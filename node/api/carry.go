package api

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Carry returns a function that fills a T from an F. It copies each field from the field of the same name, or of the
// name in the tag of; a name that begins with ! is that of a flag with the opposite meaning. Fields of T without a
// partner stay as they are, for the caller to fill. The tag unit:"hours" converts from seconds, and the tag empty names
// the value that stands for none. If two fields of one name have types that cannot be converted, the first call panics;
// the test of every field makes that call.
func Carry[F, T any]() func(from *F, to *T) {
	carry := sync.OnceValue(func() carrier { return carryStruct(reflect.TypeFor[F](), reflect.TypeFor[T]()) })
	return func(from *F, to *T) { carry()(reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()) }
}

// Made is Carry for a T that has nothing but what its F has.
func Made[F, T any]() func(F) T {
	carry := Carry[F, T]()
	return func(from F) (to T) {
		carry(&from, &to)
		return to
	}
}

// A carrier copies one value into another.
type carrier func(from, to reflect.Value)

func carryStruct(from, to reflect.Type) carrier {
	type pair struct {
		from, to []int
		carry    carrier
	}
	var pairs []pair
	for _, f := range reflect.VisibleFields(to) {
		if f.Anonymous || !f.IsExported() || optional(to, f) {
			continue
		}
		if src, ok := partner(from, f); ok {
			pairs = append(pairs, pair{src.Index, f.Index, carryValue(src, f)})
		}
	}
	return func(from, to reflect.Value) {
		for _, p := range pairs {
			p.carry(from.FieldByIndex(p.from), to.FieldByIndex(p.to))
		}
	}
}

// optional reports whether a field lies in an embedded struct that may be absent. The code that adds the struct also
// fills it.
func optional(t reflect.Type, f reflect.StructField) bool {
	for i := range f.Index[:len(f.Index)-1] {
		if t.FieldByIndex(f.Index[:i+1]).Type.Kind() == reflect.Pointer {
			return true
		}
	}
	return false
}

// partner finds the field that a value comes from. The tag of either field may name the other.
func partner(of reflect.Type, f reflect.StructField) (src reflect.StructField, ok bool) {
	name := cmp.Or(named(f), f.Name)
	for _, src := range reflect.VisibleFields(of) {
		if !src.Anonymous && (src.Name == name || named(src) == name) {
			return src, true
		}
	}
	return src, false
}

// named returns the name in a field's tag of, without the ! of the opposite.
func named(f reflect.StructField) string { return strings.TrimPrefix(f.Tag.Get("of"), "!") }

var (
	logTime  = reflect.TypeFor[oplog.Time]()
	aStatus  = reflect.TypeFor[oplog.Status]()
	aDate    = reflect.TypeFor[field.Date]()
	aNumber  = reflect.TypeFor[*float64]()
	aName    = reflect.TypeFor[fmt.Stringer]()
	rawJSON  = reflect.TypeFor[json.RawMessage]()
	someMap  = reflect.TypeFor[field.Map]()
	someJSON = reflect.TypeFor[[]byte]()
)

// carryValue returns the carrier for two types.
func carryValue(src, dst reflect.StructField) carrier {
	for _, of := range []func(src, dst reflect.StructField) carrier{carryOpposite, carryHours, carryTime, carryStatus,
		carryJSON, carryPlain} {
		if c := of(src, dst); c != nil {
			return c
		}
	}
	panic(fmt.Sprintf("api: %s of %s does not become %s of %s", src.Name, src.Type, dst.Name, dst.Type))
}

// carryOpposite carries a flag to one with the opposite meaning. One side may leave its flag out.
func carryOpposite(src, dst reflect.StructField) carrier {
	opposite := func(f reflect.StructField) bool { return strings.HasPrefix(f.Tag.Get("of"), "!") }
	switch {
	case opposite(dst) && src.Type.Kind() == reflect.Bool:
		return func(from, to reflect.Value) {
			if from.Bool() {
				to.Set(reflect.ValueOf(new(false)))
			}
		}
	case opposite(src) && dst.Type.Kind() == reflect.Bool:
		return func(from, to reflect.Value) { to.SetBool(!from.IsNil() && !from.Elem().Bool()) }
	}
	return nil
}

func carryHours(src, dst reflect.StructField) carrier {
	switch {
	case src.Tag.Get("unit") == "hours":
		return func(from, to reflect.Value) { to.SetFloat(secondsOf(from.Float())) }
	case dst.Tag.Get("unit") == "hours":
		return func(from, to reflect.Value) { to.SetFloat(from.Float() / 3600) }
	}
	return nil
}

// carryTime carries times of the log. In JSON they are Unix seconds, and 0 or null for none.
func carryTime(src, dst reflect.StructField) carrier {
	from, to := src.Type, dst.Type
	switch {
	case from == logTime && to.Kind() == reflect.Float64:
		return func(from, to reflect.Value) { to.SetFloat(oplog.Time(from.Int()).Seconds()) }
	case from == logTime && to.Kind() == reflect.String:
		return func(from, to reflect.Value) {
			to.SetString(oplog.Time(from.Int()).Time().UTC().Format(time.RFC3339Nano))
		}
	case from == logTime && to == aNumber:
		return func(from, to reflect.Value) {
			if from.Int() != 0 {
				to.Set(reflect.ValueOf(new(oplog.Time(from.Int()).Seconds())))
			}
		}
	case to == logTime && from.Kind() == reflect.Float64:
		return func(from, to reflect.Value) { to.SetInt(int64(math.Round(from.Float() * 1e6))) }
	case to == logTime && from == aDate:
		return func(from, to reflect.Value) {
			if at := from.Interface().(field.Date); !at.IsZero() {
				to.SetInt(int64(oplog.At(at.Time)))
			}
		}
	case to == aDate && from.Kind() == reflect.Float64:
		return func(from, to reflect.Value) { setDate(to, from.Float()) }
	case to == aDate && from == aNumber:
		return func(from, to reflect.Value) {
			if !from.IsNil() {
				setDate(to, from.Elem().Float())
			}
		}
	}
	return nil
}

func setDate(to reflect.Value, seconds float64) {
	to.Set(reflect.ValueOf(field.Date{Time: field.UnixOrNone(seconds)}))
}

// carryStatus carries a status, or another word that the state stores as a number, by its name. The caller checks
// whether a memory may have that status.
func carryStatus(src, dst reflect.StructField) carrier {
	switch {
	case src.Type.Implements(aName) && dst.Type.Kind() == reflect.String:
		return func(from, to reflect.Value) { to.SetString(from.Interface().(fmt.Stringer).String()) }
	case dst.Type == aStatus && src.Type.Kind() == reflect.String:
		return func(from, to reflect.Value) {
			for _, s := range []oplog.Status{oplog.Consolidated, oplog.Quarantined} {
				if from.String() == s.String() {
					to.SetUint(uint64(s))
				}
			}
		}
	}
	return nil
}

// carryJSON carries JSON. null stands for none.
func carryJSON(src, dst reflect.StructField) carrier {
	from, to, empty := src.Type, dst.Type, []byte(dst.Tag.Get("empty"))
	switch {
	case from == someJSON && (to == rawJSON || to.Kind() == reflect.String):
		return func(from, to reflect.Value) {
			b := from.Bytes()
			if len(b) == 0 {
				b = empty
			}
			to.Set(reflect.ValueOf(b).Convert(to.Type()))
		}
	case (from == rawJSON || from == someMap) && (to == someJSON || to == rawJSON || to == someMap):
		return func(from, to reflect.Value) {
			if string(from.Bytes()) != "null" {
				to.SetBytes(from.Bytes())
			}
		}
	}
	return nil
}

// carryPlain carries values of one type, of which either side may be a pointer, and lists of structs.
func carryPlain(src, dst reflect.StructField) carrier {
	from, to := src.Type, dst.Type
	switch {
	case from.AssignableTo(to):
		return assign(from, dst.Tag.Get("empty"))
	case to.Kind() == reflect.Pointer && from == to.Elem():
		text := from.Kind() == reflect.String
		return func(from, to reflect.Value) {
			if !text || from.Len() > 0 {
				to.Set(reflect.New(from.Type()))
				to.Elem().Set(from)
			}
		}
	case from.Kind() == reflect.Pointer && from.Elem() == to:
		return func(from, to reflect.Value) {
			if !from.IsNil() {
				to.Set(from.Elem())
			}
		}
	case from.Kind() == reflect.Slice && to.Kind() == reflect.Slice && from.Elem().Kind() == reflect.Struct:
		return carryList(from, to)
	}
	return nil
}

// assign copies a value. A nil list becomes an empty one, because lists in answers are never null.
func assign(of reflect.Type, empty string) carrier {
	switch {
	case of == reflect.TypeFor[[]string]():
		return func(from, to reflect.Value) {
			to.Set(reflect.AppendSlice(reflect.MakeSlice(of, 0, from.Len()), from))
		}
	case of.Kind() == reflect.String && empty != "":
		return func(from, to reflect.Value) { to.SetString(cmp.Or(from.String(), empty)) }
	}
	return func(from, to reflect.Value) { to.Set(from) }
}

func carryList(from, to reflect.Type) carrier {
	carry := carryStruct(from.Elem(), to.Elem())
	return func(from, to reflect.Value) {
		if from.Len() == 0 {
			return
		}
		list := reflect.MakeSlice(to.Type(), from.Len(), from.Len())
		for i := range from.Len() {
			carry(from.Index(i), list.Index(i))
		}
		to.Set(list)
	}
}

// secondsOf returns the seconds that are shown as a number of hours, exact to the last bit.
func secondsOf(hours float64) float64 {
	s := hours * 3600
	for _, near := range []float64{s, math.Nextafter(s, 0), math.Nextafter(s, math.Inf(1))} {
		if near/3600 == hours {
			return near
		}
	}
	return s
}
