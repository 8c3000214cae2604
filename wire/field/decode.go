package field

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Decode checks a JSON object and puts its values into the struct that dst points to, whose type describes it.
// Lenient, a value of another type is absent.
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

// preset sets the default of a field that the request leaves out.
func (f Field) preset(to reflect.Value) {
	if f.Default != "" && f.Kind.Shape == "" && to.IsZero() {
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
		t, _ := dateJSON(raw) // it was checked
		to.Field(0).Set(reflect.ValueOf(t))
		return nil
	case tokenType:
		var t Token
		_ = t.UnmarshalJSON(raw) // it was checked
		to.SetUint(uint64(t))
		return nil
	case windowType:
		from, until, _ := windowJSON(raw) // it was checked
		to.Set(reflect.ValueOf(Window{from, until}))
		return nil
	}
	if f.Kind.Item != nil && f.Kind.Item.of != nil {
		return f.fillList(to, raw, lenient)
	}
	if f.Kind.of != nil {
		return f.fillObject(to, raw, lenient)
	}
	kind := to.Kind()
	if kind == reflect.Pointer {
		kind = to.Type().Elem().Kind()
	}
	switch kind {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		if v, ok := f.Kind.number(string(raw)); ok {
			_ = setText(to, strconv.FormatFloat(v, 'f', 0, 64)) // beyond the type it is the largest
			return nil
		}
		f.preset(to)
		return nil
	case reflect.Slice:
		if f.Kind.Item.Type == "integer" && f.Kind.JSON(f.Name, raw) == nil {
			raw = wholeNumbers(raw)
		}
	}
	fresh := reflect.New(to.Type())
	if json.Unmarshal(raw, fresh.Interface()) != nil { // lenient alone: it was checked
		f.preset(to)
		return nil
	}
	to.Set(fresh.Elem())
	return nil
}

// wholeNumbers returns a list of whole numbers in the one form that encoding/json reads into an integer.
func wholeNumbers(raw json.RawMessage) json.RawMessage {
	var all []string
	for item := range elements(raw) {
		all = append(all, digits(string(item)))
	}
	return json.RawMessage("[" + strings.Join(all, ",") + "]")
}

// vectorOf is a list of numbers; other elements are dropped. A number that is too large becomes infinite, and is
// rejected with the vector.
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

// fillObject decodes one described object, which is checked by itself.
func (f Field) fillObject(to reflect.Value, raw json.RawMessage, lenient bool) error {
	var body map[string]json.RawMessage
	if json.Unmarshal(raw, &body) != nil { // lenient alone: it was checked
		return nil
	}
	v := reflect.New(f.Kind.of)
	if err := Of(f.Kind.of).Decode(v.Interface(), body, lenient); err != nil {
		return &Error{Field: f.Name, Text: fmt.Sprintf("%s: %s", f.Name, err)}
	}
	if to.Kind() != reflect.Pointer {
		v = v.Elem()
	}
	to.Set(v)
	return nil
}

// DecodeText does the same for values of a URL or a command line, which are texts. A blank value is missing.
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

// text is the first value that is not blank; of a list it is all of them, which may come one by one or with commas
// between them.
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

// beyond drops the error of a number that is too large for its type: strconv has returned the largest. A guard such as
// if_revision must not be left out because of its size.
func beyond(err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return nil
	}
	return err
}

// digits returns the digits of a whole number in another form, such as 5.0, 1e2, +3 or -0. Other texts stay as they
// are.
func digits(s string) string {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err == nil && v == 0:
		return "0"
	case err == nil && v == math.Trunc(v) && strings.ContainsAny(s, ".eE+"):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return s
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
		v, err := strconv.ParseInt(digits(s), 10, 64)
		if math.Abs(float64(v)) > math.MaxInt32 && to.Kind() == reflect.Int {
			v = min(max(v, math.MinInt32), math.MaxInt32)
		}
		to.SetInt(v)
		return beyond(err)
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		v, err := strconv.ParseUint(digits(s), 10, to.Type().Bits())
		to.SetUint(v)
		return beyond(err)
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
