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
	"time"
)

// JSON checks a value, which must be valid JSON and not null.
func (k Kind) JSON(name string, raw json.RawMessage) error {
	bad := func() error { return k.valueError(name, describeValue(raw)) }
	switch {
	case k.token:
		if new(Token).UnmarshalJSON(raw) != nil {
			return bad()
		}
		return nil
	case k.date:
		if _, err := dateJSON(raw); err != nil {
			return bad()
		}
		return nil
	case k.window:
		from, to, err := windowJSON(raw)
		if err != nil || Ordered("from", from, "to", to) != nil {
			return bad()
		}
		return nil
	case k.key:
		var s string
		if typeOf(raw) != "string" {
			return &Error{Field: name, Text: name + ": want a string, got " + describeValue(raw)}
		}
		if json.Unmarshal(raw, &s) != nil || strings.TrimSpace(s) == "" || len(s) > MaxKey {
			return &Error{Field: name, Text: name + ": " + k.Want}
		}
	case k.Type == "":
		return nil
	case typeOf(raw) != k.Type && (k.Type != "integer" || typeOf(raw) != "number"):
		return bad()
	}
	switch k.Type {
	case "string":
		var s string
		if k.Enum != nil && (json.Unmarshal(raw, &s) != nil || !slices.Contains(k.Enum, s)) {
			return bad()
		}
	case "number", "integer":
		if _, ok := k.number(string(raw)); !ok {
			return bad()
		}
	case "array":
		return k.checkItems(name, raw)
	}
	return nil
}

// checkItems checks the types and bounds of a list's values. Objects in a list are checked when they are decoded; see
// Object.
func (k Kind) checkItems(name string, raw json.RawMessage) error {
	if k.Item == nil || k.Item.Type == "" {
		return nil
	}
	i := 0
	for item := range elements(raw) {
		at := fmt.Sprintf("%s[%d]", name, i)
		// a vector: its numbers are parsed only once, when they are decoded
		if k.Item.Type == "number" && typeOf(item) == "number" && math.IsInf(k.Item.Min, -1) {
			i++
			continue
		}
		if err := k.Item.JSON(at, item); err != nil {
			return err
		}
		i++
	}
	return nil
}

// elements yields the values of a valid JSON list.
func elements(raw json.RawMessage) func(yield func(json.RawMessage) bool) {
	return func(yield func(json.RawMessage) bool) {
		raw = bytes.TrimSpace(raw)
		in := raw[1 : len(raw)-1]
		depth, quoted, start := 0, false, 0
		for i := 0; i < len(in); i++ {
			switch c := in[i]; {
			case quoted && c == '\\':
				i++
			case c == '"':
				quoted = !quoted
			case quoted:
			case c == '[' || c == '{':
				depth++
			case c == ']' || c == '}':
				depth--
			case c == ',' && depth == 0:
				if !yield(bytes.TrimSpace(in[start:i])) {
					return
				}
				start = i + 1
			}
		}
		if last := bytes.TrimSpace(in[start:]); len(last) > 0 {
			yield(last)
		}
	}
}

// typeOf returns the JSON type of a valid value.
func typeOf(raw json.RawMessage) string {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

// describeValue formats a value for an error message: short values as they are, large ones by their type.
func describeValue(raw json.RawMessage) string {
	switch typeOf(raw) {
	case "string":
		var s string
		_ = json.Unmarshal(raw, &s) // cannot fail: valid JSON
		return strconv.Quote(clip(s))
	case "object":
		return "an object"
	case "array":
		if len(raw) > 40 {
			return "a list"
		}
	}
	return clip(string(raw))
}

// dateJSON decodes a date from a string or a number.
func dateJSON(raw json.RawMessage) (time.Time, error) {
	var s string
	switch typeOf(raw) {
	case "string":
		if json.Unmarshal(raw, &s) != nil {
			return time.Time{}, errDate
		}
		return parseCalendar(s) // Unix seconds must be a JSON number, not a string
	case "number":
		v, err := strconv.ParseFloat(string(raw), 64)
		if err != nil {
			return time.Time{}, errDate
		}
		return Unix(v)
	}
	return time.Time{}, errDate
}

// windowJSON decodes a list of two dates; null means an open side.
func windowJSON(raw json.RawMessage) (from, to time.Time, err error) {
	var sides []json.RawMessage
	if typeOf(raw) != "array" || json.Unmarshal(raw, &sides) != nil || len(sides) != 2 {
		return from, to, errDate
	}
	for i, t := range []*time.Time{&from, &to} {
		if typeOf(sides[i]) == "null" {
			continue
		}
		if *t, err = dateJSON(sides[i]); err != nil {
			return from, to, err
		}
	}
	return from, to, nil
}

// Malformed describes an error of decoding JSON: the text what, such as "body is not a JSON object", and the
// position, or the field with a value of the wrong type. It contains none of the JSON, which may contain secrets.
func Malformed(what string, err error) string {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Sprintf("%s: malformed at byte %d", what, syntax.Offset)
	}
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return what
	}
	got := kind.Value // such as "array", or "number 1.5" if the number does not fit
	if words, ok := typeWords[strings.Replace(got, "bool", "boolean", 1)]; ok {
		got = words
	}
	if kind.Field == "" {
		return fmt.Sprintf("%s: got %s", what, got)
	}
	return fmt.Sprintf("%s: want %s, got %s", kind.Field, wantOf(kind.Type), got)
}

// wantOf describes the JSON that a Go type can be decoded from.
func wantOf(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map, reflect.Pointer:
		return "an object"
	}
	return "a whole number"
}
