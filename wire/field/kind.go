package field

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Kind describes the allowed values of a field.
type Kind struct {
	Name string // the kind in the notation of the package comment
	Type string // JSON type; blank for any
	Want string // the valid values, in words

	Item  *Kind    // of a list
	Shape string   // name of an object's description
	Enum  []string // of a string; nil for any

	Min, Max float64 // of a number; infinite for no bound
	Above    bool    // Min itself is not valid

	Time bool // in an answer: a time in Unix seconds
	RID  bool // the id of a memory

	date, window, key, token bool
	nullItems                bool         // items of a list of numbers may be null
	shapeType                reflect.Type // the struct that describes a shape
}

// MaxKey is the maximum length of a key, in bytes.
const MaxKey = 512

// Kinds that several surfaces share, so that their bounds are defined only here.
var (
	Unit   = scalar("number[0..1]")
	Signed = scalar("number[-1..1]")
	Hours  = scalar("number(0..1000000]")
	Weight = scalar("number[0..]")
)

var namedKinds = map[string]Kind{"unit": Unit, "signed": Signed, "hours": Hours, "weight": Weight, "seconds": Weight,
	"time": timeKind, "rid": ridKind}

var (
	timeKind = func() Kind { k := scalar("number"); k.Time = true; return k }()
	ridKind  = func() Kind { k := scalar("string"); k.RID = true; return k }()
)

var typeWords = map[string]string{
	"string": "a string", "number": "a number", "integer": "a whole number", "boolean": "true or false",
	"object": "an object", "array": "a list",
}

// kindOf parses a kind. It panics on an invalid one, which is a mistake in a tag.
func kindOf(s string) Kind {
	k := Kind{Name: s, Min: math.Inf(-1), Max: math.Inf(1)}
	item, list := strings.CutPrefix(s, "[]")
	switch {
	case list:
		return listOf(kindOf(item))
	case s == "any":
		k.Want = "a value"
	case s == "date":
		k.date, k.Want = true, WantDate
	case s == "token":
		k.token, k.Want = true, wantToken
	case s == "key":
		k.key, k.Type, k.Want = true, "string", "1 to 512 bytes, not blank"
	case s == "window":
		k.window, k.Type, k.Want = true, "array", "[from, to]: two dates in order (RFC 3339 or Unix seconds)"
	case s != "" && s[0] >= 'A' && s[0] <= 'Z':
		k.Type, k.Shape, k.Want = "object", s, "an object"
	default:
		if n, ok := namedKinds[s]; ok {
			if n.Name = s; n.RID {
				n.Name = n.Type // clients see a plain string
			}
			return n
		}
		return scalar(s)
	}
	return k
}

func listOf(of Kind) Kind {
	return Kind{Name: "[]" + of.Name, Type: "array", Item: &of, Want: "a list of " + plural(of), Min: math.Inf(-1), Max: math.Inf(1)}
}

// scalar parses a JSON type with its bounds.
func scalar(s string) Kind {
	k := Kind{Name: s, Min: math.Inf(-1), Max: math.Inf(1)}
	base, rest := s, ""
	if i := strings.IndexAny(s, "[({"); i >= 0 {
		base, rest = s[:i], s[i:]
	}
	k.Type, k.Want = base, typeWords[base]
	if k.Want == "" {
		panic("field: kind " + s + " is not known")
	}
	if rest == "" {
		return k
	}
	inner := rest[1 : len(rest)-1]
	if rest[0] == '{' {
		k.Enum = strings.Split(inner, ",")
		k.Want = "one of " + strings.Join(k.Enum, ", ")
		return k
	}
	lo, hi, ok := strings.Cut(inner, "..")
	if !ok {
		panic("field: bounds of " + s)
	}
	k.Above = rest[0] == '('
	bound := func(s string, open float64) float64 {
		if s == "" {
			return open
		}
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			panic("field: bounds of " + s + ": " + err.Error())
		}
		return v
	}
	k.Min, k.Max = bound(lo, k.Min), bound(hi, k.Max)
	switch {
	case k.Above && hi != "":
		k.Want += " above " + lo + ", up to " + hi
	case k.Above:
		k.Want += " above " + lo
	case hi == "":
		k.Want += " of at least " + lo
	default:
		k.Want += " from " + lo + " to " + hi
	}
	return k
}

func plural(k Kind) string {
	switch {
	case k.Shape != "" || k.Type == "object":
		return "objects"
	case k.Type == "":
		return "values"
	case k.date:
		return "dates"
	}
	return k.Type + "s"
}

// Number returns an error if a number is out of the kind's bounds.
func (k Kind) Number(name string, v float64) error {
	if k.inBounds(v) {
		return nil
	}
	return k.valueError(name, strconv.FormatFloat(v, 'g', -1, 64))
}

// number parses a number and reports whether it is valid for the kind. 5.0 is a whole number.
func (k Kind) number(s string) (v float64, ok bool) {
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil && k.inBounds(v) && (k.Type != "integer" || v == math.Trunc(v))
}

func (k Kind) inBounds(v float64) bool {
	return !math.IsNaN(v) && !math.IsInf(v, 0) && v <= k.Max && (v > k.Min || v == k.Min && !k.Above)
}

func (k Kind) valueError(name, got string) error {
	return &Error{Field: name, Text: fmt.Sprintf("%s: want %s, got %s", name, k.Want, got)}
}

// Text checks a value of a URL or a command line.
func (k Kind) Text(name, s string) error {
	bad := func() error { return k.valueError(name, strconv.Quote(clip(s))) }
	switch {
	case k.date:
		if _, err := ParseDate(s); err != nil {
			return bad()
		}
	case k.token:
		if _, err := ParseToken(s); err != nil {
			return bad()
		}
	case k.Type == "string" && k.Enum != nil:
		if !slices.Contains(k.Enum, s) {
			return bad()
		}
	case k.Type == "number" || k.Type == "integer":
		if _, ok := k.number(s); !ok {
			return bad()
		}
	case k.Type == "boolean":
		if s != "true" && s != "false" && s != "1" && s != "0" {
			return bad()
		}
	case k.Type == "object":
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(s), &object) != nil || object == nil {
			return bad()
		}
	case k.Item != nil && (k.Item.Type == "number" || k.Item.Type == "integer"):
		for item := range strings.SplitSeq(s, ",") {
			if err := k.Item.Text(name, item); err != nil {
				return err
			}
		}
	}
	return nil
}

// clip shortens a value for an error message.
func clip(s string) string { return Clip(s, 40) }

// Clip shortens a text to about most bytes.
func Clip(s string, most int) string {
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}

// literal returns a value in a tag as a JSON value of the kind.
func (k Kind) literal(s string) any {
	if k.Type == "string" || k.date || k.token {
		return s
	}
	var v any
	if json.Unmarshal([]byte(s), &v) != nil {
		return s
	}
	return v
}

// Schema returns the JSON Schema of the kind.
func (k Kind) Schema() map[string]any {
	switch {
	case k.Shape != "":
		return map[string]any{"$ref": "#/components/schemas/" + k.Shape}
	case k.date:
		return map[string]any{"type": []any{"string", "number"}, "description": k.Want}
	case k.token:
		return map[string]any{"type": []any{"string", "integer"}, "description": k.Want}
	case k.window:
		side := map[string]any{"type": []any{"string", "number", "null"}}
		return map[string]any{"type": "array", "items": side, "minItems": 2, "maxItems": 2, "description": k.Want}
	case k.Item != nil:
		return map[string]any{"type": "array", "items": k.Item.Schema()}
	case k.Type == "":
		return map[string]any{}
	case k.Type == "array":
		return map[string]any{"type": "array", "items": map[string]any{}}
	}
	s := map[string]any{"type": k.Type}
	if k.nullItems {
		s["type"] = []any{k.Type, "null"}
	}
	if k.key {
		s["minLength"], s["maxLength"] = 1, MaxKey
	}
	if k.Enum != nil {
		s["enum"] = k.Enum
	}
	if !math.IsInf(k.Min, -1) {
		s[map[bool]string{false: "minimum", true: "exclusiveMinimum"}[k.Above]] = k.Min
	}
	if !math.IsInf(k.Max, 1) {
		s["maximum"] = k.Max
	}
	return s
}

// Ordered returns an error if two dates are in the wrong order. A zero time is an open side.
func Ordered(fromName string, from time.Time, toName string, to time.Time) error {
	if !from.IsZero() && !to.IsZero() && from.After(to) {
		return &Error{Field: fromName, Text: fmt.Sprintf("%s is after %s: want two dates in order", fromName, toName)}
	}
	return nil
}
