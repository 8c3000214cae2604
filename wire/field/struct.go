package field

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The types that a struct's fields have beside Go's own. A Date that is zero is none.
type (
	Date   struct{ time.Time }
	Window struct{ From, To time.Time } // a side that is zero is open
	Vector []float32
	Map    json.RawMessage // an object; a json.RawMessage is any value
)

var described sync.Map // reflect.Type to Object

// Of is what a struct's tags say of its fields. It panics where a tag cannot be read, which is a mistake in a struct of ours.
func Of(t reflect.Type) Object {
	if o, ok := described.Load(t); ok {
		return o.(Object)
	}
	o := walk(t, nil)
	described.Store(t, o)
	return o
}

func walk(t reflect.Type, at []int) (o Object) {
	for i := range t.NumField() {
		f := t.Field(i)
		place := append(slices.Clip(at), i)
		if f.Anonymous && f.Type.Kind() == reflect.Pointer { // of an answer, which may leave all of it out
			for _, d := range walk(f.Type.Elem(), place) {
				d.may = true
				o = append(o, d)
			}
			continue
		}
		if f.Anonymous {
			o = append(o, walk(f.Type, place)...)
			continue
		}
		if name := cmp.Or(f.Tag.Get("json"), f.Tag.Get("idle")); name != "" && name != "-" {
			o = append(o, tagged(t, f, place))
		}
	}
	return o
}

// tagged reads the tags of one field. One that is idle is taken and changes nothing.
func tagged(of reflect.Type, f reflect.StructField, place []int) Field {
	name, options, _ := strings.Cut(cmp.Or(f.Tag.Get("json"), f.Tag.Get("idle")), ",")
	is, must := strings.CutSuffix(f.Tag.Get("is"), "!")
	d := Field{Name: name, Must: must, Doc: f.Tag.Get("doc"), Default: f.Tag.Get("default"), Example: f.Tag.Get("example"), In: f.Tag.Get("in"), Code: f.Tag.Get("code"),
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
	d.Kind = kindOfType(f.Type)
	if is != "" {
		bounded := kindOf(is)
		if bounded.Type != d.Kind.Type && d.Kind.Item == nil {
			panic(fmt.Sprintf("field: %s.%s is %q, which is no %s", of, f.Name, is, f.Type))
		}
		d.Kind = bounded
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
)

func kindOfType(t reflect.Type) Kind {
	switch t {
	case dateType:
		return kindOf("date")
	case windowType:
		return kindOf("window")
	case vectorType:
		return kindOf("[]number")
	case jsonType:
		return kindOf("any")
	case mapType:
		return kindOf("object")
	}
	switch t.Kind() {
	case reflect.Pointer:
		return kindOfType(t.Elem())
	case reflect.String:
		return kindOf("string")
	case reflect.Bool:
		return kindOf("boolean")
	case reflect.Float64, reflect.Float32:
		return kindOf("number")
	case reflect.Uint32:
		return kindOf("integer[0..4294967295]")
	case reflect.Uint, reflect.Uint64:
		return kindOf("integer[0..]")
	case reflect.Int, reflect.Int64:
		return kindOf("integer")
	case reflect.Slice:
		of := kindOfType(t.Elem())
		return Kind{Name: "[]" + of.Name, Type: "array", Item: &of, Want: "a list of " + plural(of), Min: math.Inf(-1), Max: math.Inf(1)}
	case reflect.Struct:
		k := kindOf("Shape")
		k.Name, k.Shape, k.of = t.Name(), t.Name(), t
		return k
	case reflect.Interface:
		return kindOf("any")
	}
	panic("field: no kind of value: " + t.String())
}

// ForTools is the object as tools take it: without the fields that are no business of a model's, and with the spellings that models use.
func (o Object) ForTools() Object {
	var list Object
	for _, f := range o {
		if !f.untold && f.In != "path" {
			f.Others = slices.Concat(f.Others, f.toolOthers)
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

// Shapes adds the objects that stand in this one, and in them, by name. Those of an answer are described as answers.
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

// At is the fields that come in one place of a request: path, query or body. What is not said to come in a place comes in usual.
func (o Object) At(place, usual string) Object {
	var list Object
	for _, f := range o {
		in := f.In
		if in == "" {
			in = usual
		}
		if slices.Contains(strings.Split(in, ","), place) {
			list = append(list, f)
		}
	}
	return list
}

// Decode checks a JSON object and puts its values into the struct that dst points to, whose type describes it. Lenient, a value of
// another type is absent.
func (o Object) Decode(dst any, body map[string]json.RawMessage, lenient bool) error {
	if err := o.Check(body, lenient); err != nil {
		return err
	}
	v := reflect.ValueOf(dst).Elem()
	for _, f := range o {
		if f.Idle {
			continue
		}
		to := v.FieldByIndex(f.at)
		raw := body[f.Name]
		if absent(raw) {
			f.preset(to)
			continue
		}
		if err := f.fill(to, raw, lenient); err != nil {
			return err
		}
	}
	return nil
}

// preset is the value of what is left out.
func (f Field) preset(to reflect.Value) {
	if f.Default == "" || !to.IsZero() {
		return
	}
	if f.Kind.Shape == "" {
		_ = setText(to, f.Default) // TestDescribed reads them all
	}
}

func (f Field) fill(to reflect.Value, raw json.RawMessage, lenient bool) error {
	switch to.Type() {
	case vectorType:
		to.Set(reflect.ValueOf(vectorOf(raw)))
		return nil
	case jsonType, mapType:
		to.SetBytes(compact(raw))
		return nil
	case dateType:
		t, _ := DateJSON(raw) // it was checked
		to.Field(0).Set(reflect.ValueOf(t))
		return nil
	case windowType:
		from, until, _ := WindowJSON(raw) // it was checked
		to.Set(reflect.ValueOf(Window{from, until}))
		return nil
	}
	if f.Kind.Item != nil && f.Kind.Item.of != nil {
		return f.fillList(to, raw, lenient)
	}
	kind := to.Kind()
	if kind == reflect.Pointer {
		kind = to.Type().Elem().Kind()
	}
	switch kind {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64: // 5.0 is a whole number
		if v, err := strconv.ParseFloat(string(raw), 64); err == nil && v == math.Trunc(v) && f.Kind.holds(v) {
			_ = setText(to, strconv.FormatFloat(v, 'f', 0, 64)) // beyond the type it is the largest
			return nil
		}
		f.preset(to)
		return nil
	}
	fresh := reflect.New(to.Type())
	if json.Unmarshal(raw, fresh.Interface()) != nil { // lenient alone: it was checked
		f.preset(to)
		return nil
	}
	to.Set(fresh.Elem())
	return nil
}

// vectorOf is a list of numbers; what is no number in it is dropped. A number that is too large is infinite, and refused with the vector.
func vectorOf(raw json.RawMessage) Vector {
	if typeOf(raw) != "array" {
		return nil
	}
	v := Vector{}
	for item := range elements(raw) {
		if x, err := strconv.ParseFloat(string(item), 64); err == nil || errors.Is(err, strconv.ErrRange) {
			v = append(v, float32(x))
		}
	}
	return v
}

// compact is a value without its blanks, and a copy: the request it came in may be reused.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return slices.Clone(raw)
	}
	return b.Bytes()
}

// fillList decodes a list of described objects, each checked by itself.
func (f Field) fillList(to reflect.Value, raw json.RawMessage, lenient bool) error {
	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		if lenient && !f.Must {
			return nil
		}
		return missing(f)
	}
	list := reflect.MakeSlice(to.Type(), len(items), len(items))
	of := Of(f.Kind.Item.of)
	for i, item := range items {
		if item == nil {
			item = map[string]json.RawMessage{}
		}
		if err := of.Decode(list.Index(i).Addr().Interface(), item, lenient); err != nil {
			return &Error{Field: f.Name, Text: fmt.Sprintf("%s[%d]: %s", f.Name, i, err)}
		}
	}
	to.Set(list)
	return nil
}

// DecodeText does the same for values of a URL or a command line, which are texts. What is blank is missing.
func (o Object) DecodeText(dst any, params map[string][]string, lenient bool) error {
	if err := o.Values(params, lenient); err != nil {
		var e *Error
		if errors.As(err, &e) {
			e.Param = true
		}
		return err
	}
	v := reflect.ValueOf(dst).Elem()
	for _, f := range o {
		if f.Idle {
			continue
		}
		to := v.FieldByIndex(f.at)
		text := f.text(params)
		if text == "" && f.Must {
			return &Error{Field: f.Name, Text: missing(f).Error() + " query parameter"}
		}
		if text == "" || setText(to, text) != nil {
			f.preset(to)
		}
	}
	return nil
}

// text is the first value that is not blank; of a list it is all of them, which may come one by one or with commas between them.
func (f Field) text(params map[string][]string) string {
	var all []string
	for _, name := range append([]string{f.Name}, f.Others...) {
		all = append(all, params[name]...)
	}
	all = slices.DeleteFunc(all, func(v string) bool { return v == "" })
	if len(all) == 0 {
		return ""
	}
	if f.Kind.Item != nil {
		return strings.Join(all, ",")
	}
	return all[0]
}

// setText puts a text into a field. A number that is too large for its type is the largest.
func setText(to reflect.Value, s string) error {
	switch to.Type() {
	case dateType:
		t, err := ParseDate(s)
		to.Field(0).Set(reflect.ValueOf(t))
		return err
	case jsonType, mapType:
		to.SetBytes([]byte(s))
		return nil
	}
	switch to.Kind() {
	case reflect.Pointer:
		v := reflect.New(to.Type().Elem())
		err := setText(v.Elem(), s)
		if err == nil {
			to.Set(v)
		}
		return err
	case reflect.String:
		to.SetString(s)
	case reflect.Bool:
		b, err := strconv.ParseBool(s)
		to.SetBool(b)
		return err
	case reflect.Float64:
		v, err := strconv.ParseFloat(s, 64)
		to.SetFloat(v)
		return err
	case reflect.Int, reflect.Int64:
		v, err := strconv.ParseInt(s, 10, 64)
		if math.Abs(float64(v)) > math.MaxInt32 && to.Kind() == reflect.Int {
			v = min(max(v, math.MinInt32), math.MaxInt32)
		}
		to.SetInt(v)
		return err
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		v, err := strconv.ParseUint(s, 10, to.Type().Bits())
		to.SetUint(v)
		return err
	case reflect.Slice:
		for item := range strings.SplitSeq(s, ",") {
			v := reflect.New(to.Type().Elem()).Elem()
			if err := setText(v, item); err != nil {
				return err
			}
			to.Set(reflect.Append(to, v))
		}
	default:
		return fmt.Errorf("field: no text for %s", to.Type())
	}
	return nil
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
