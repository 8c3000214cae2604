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

// Decode checks a JSON object and decodes it into the struct that dst points to, whose type describes it. If lenient,
// a value of the wrong type counts as absent.
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

// preset sets the default of an absent field.
func (f Field) preset(to reflect.Value) {
	if f.Default != "" && f.Kind.Shape == "" && to.IsZero() {
		_ = setText(to, f.Default) // cannot fail: TestDescribed parses all defaults
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
	if f.Kind.Item != nil && f.Kind.Item.shapeType != nil {
		return f.fillList(to, raw, lenient)
	}
	if f.Kind.shapeType != nil {
		return f.fillObject(to, raw, lenient)
	}
	kind := to.Kind()
	if kind == reflect.Pointer {
		kind = to.Type().Elem().Kind()
	}
	switch kind {
	case reflect.Int, reflect.Int64, reflect.Uint, reflect.Uint32, reflect.Uint64:
		if v, ok := f.Kind.number(string(raw)); ok {
			_ = setText(to, strconv.FormatFloat(v, 'f', 0, 64)) // a number out of range becomes the type's maximum
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
	if json.Unmarshal(raw, fresh.Interface()) != nil { // only if lenient: otherwise it was checked
		f.preset(to)
		return nil
	}
	to.Set(fresh.Elem())
	return nil
}

// wholeNumbers rewrites a list of whole numbers in the form that encoding/json accepts for integers.
func wholeNumbers(raw json.RawMessage) json.RawMessage {
	var all []string
	for item := range elements(raw) {
		all = append(all, normalizeInteger(string(item)))
	}
	return json.RawMessage("[" + strings.Join(all, ",") + "]")
}

// vectorOf decodes a list of numbers and drops other elements. A number that is too large becomes infinite, so that
// the vector is rejected later.
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

// compact returns a copy of a value without blanks. It copies because the request's buffer may be reused.
func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return slices.Clone(raw)
	}
	return b.Bytes()
}

// MaxObjects limits the objects of a list, above the number that any operation accepts, because a decoded object takes
// hundreds of bytes and an encoded one few.
const MaxObjects = 1 << 14

// fillList decodes a list of described objects and checks each of them.
func (f Field) fillList(to reflect.Value, raw json.RawMessage, lenient bool) error {
	if typeOf(raw) == "array" {
		n := 0
		for range elements(raw) {
			if n++; n > MaxObjects {
				return &Error{Field: f.Name, Text: fmt.Sprintf("%s: more than %d objects", f.Name, MaxObjects)}
			}
		}
	}
	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		if lenient && !f.Must {
			return nil
		}
		return missing(f)
	}
	list := reflect.MakeSlice(to.Type(), len(items), len(items))
	of := Of(f.Kind.Item.shapeType)
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

// fillObject decodes and checks a described object.
func (f Field) fillObject(to reflect.Value, raw json.RawMessage, lenient bool) error {
	var body map[string]json.RawMessage
	if json.Unmarshal(raw, &body) != nil { // only if lenient: otherwise it was checked
		return nil
	}
	v := reflect.New(f.Kind.shapeType)
	if err := Of(f.Kind.shapeType).Decode(v.Interface(), body, lenient); err != nil {
		return &Error{Field: f.Name, Text: fmt.Sprintf("%s: %s", f.Name, err)}
	}
	if to.Kind() != reflect.Pointer {
		v = v.Elem()
	}
	to.Set(v)
	return nil
}

// DecodeText is Decode for the text values of a URL or a command line. A blank value counts as absent.
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

// text returns the first nonblank value. For a list it returns all values joined by commas.
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

// ignoreRangeError drops the error for a number that is too large for its type; strconv has then returned the
// maximum. A condition such as if_revision must not be skipped because its number is too large.
func ignoreRangeError(err error) error {
	if errors.Is(err, strconv.ErrRange) {
		return nil
	}
	return err
}

// normalizeInteger returns a whole number such as 5.0, 1e2, +3 or -0 as plain digits. It returns other texts
// unchanged.
func normalizeInteger(s string) string {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err == nil && v == 0:
		return "0"
	case err == nil && v == math.Trunc(v) && strings.ContainsAny(s, ".eE+"):
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return s
}

// setText parses a text into a field. A number that is too large becomes the type's maximum.
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
		v, err := strconv.ParseInt(normalizeInteger(s), 10, 64)
		if math.Abs(float64(v)) > math.MaxInt32 && to.Kind() == reflect.Int {
			v = min(max(v, math.MinInt32), math.MaxInt32)
		}
		to.SetInt(v)
		return ignoreRangeError(err)
	case reflect.Uint, reflect.Uint32, reflect.Uint64:
		v, err := strconv.ParseUint(normalizeInteger(s), 10, to.Type().Bits())
		to.SetUint(v)
		return ignoreRangeError(err)
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
