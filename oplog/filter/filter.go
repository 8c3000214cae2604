package filter

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog/fold"
)

// An Op is the kind of a filter or of a part of one.
type Op uint8

// The parts of a filter.
const (
	All  Op = iota // all of Of pass
	Any            // at least one of Of passes
	Not            // the only one of Of does not pass
	Test           // the value under Name passes Holds
)

// A Filter is a tree of tests. It is immutable, so any number of goroutines may use it.
type Filter struct {
	Op     Op
	Of     []*Filter
	Name   string // in a test, the name of an attribute, or with @ of a field
	test   string // eq, gt, gte, lt, lte, exists, contains, icontains or prefix
	want   []Value
	source string // the JSON of a member of the whole filter
}

// Parts returns the members of a parsed filter, all of which must pass.
func (f *Filter) Parts() []*Filter {
	if f.source == "" {
		return f.Of
	}
	return []*Filter{f}
}

// String returns the JSON of one of Parts.
func (f *Filter) String() string { return f.source }

// Holds reports whether a value passes a test. An absent value passes none.
func (f *Filter) Holds(v Value) bool {
	switch f.test {
	case "exists":
		return v.kind != absent
	case "eq":
		return slices.ContainsFunc(f.want, func(want Value) bool { return v.equal(&want) })
	}
	if v.kind == list {
		return slices.ContainsFunc(v.list, func(s string) bool {
			switch f.test {
			case "contains":
				return s == f.want[0].text
			case "icontains":
				return fold.Lower(s) == f.want[0].text
			}
			return f.Holds(listItem(s, &f.want[0]))
		})
	}
	switch want := &f.want[0]; f.test {
	case "contains":
		return v.kind == text && strings.Contains(v.text, want.text)
	case "icontains":
		return v.kind == text && strings.Contains(fold.Lower(v.text), want.text)
	case "prefix":
		return v.kind == text && strings.HasPrefix(v.text, want.text)
	default:
		order, ok := v.compare(want)
		return ok && (order < 0 && f.test[0] == 'l' || order > 0 && f.test[0] == 'g' || order == 0 && f.test[2:] == "e")
	}
}

// Exactly returns the canonical forms of all values that pass a test, except for lists that contain one; ok is false
// if they cannot be listed, as for a time, which has many spellings.
func (f *Filter) Exactly() (forms []string, ok bool) {
	if f.test != "eq" {
		return nil, false
	}
	for _, want := range f.want {
		if want.dated {
			return nil, false
		}
		forms = append(forms, want.String())
	}
	return forms, true
}

// Match reports whether a record passes. of returns the record's values by name.
func (f *Filter) Match(of func(name string) Value) bool {
	pass := func(part *Filter) bool { return part.Match(of) }
	switch f.Op {
	case All:
		return !slices.ContainsFunc(f.Of, func(part *Filter) bool { return !pass(part) })
	case Any:
		return slices.ContainsFunc(f.Of, pass)
	case Not:
		return !pass(f.Of[0])
	}
	return f.Holds(of(f.Name))
}

// fields maps the names of a record's fields to the kinds of their values.
var fields = map[string]string{"@memory_type": "string", "@namespace": "string", "@domain": "string", "@source": "string",
	"@session_id": "string",
	"@tier":       "string", "@writer": "string", "@dialect": "string", "@agent": "string", "@trust": "string",
	"@created_at": "time", "@updated_at": "time", "@importance": "number"}

// Parse parses a filter. It returns nil for an empty text and for null; everything passes a nil filter.
func Parse(raw []byte) (*Filter, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if len(raw) > MaxFilter {
		return nil, fmt.Errorf("filter: %d bytes are over %d", len(raw), MaxFilter)
	}
	var p parser
	f, err := p.object(raw, 1)
	if err != nil {
		return nil, fmt.Errorf("filter: %w", err)
	}
	return f, nil
}

// A parser counts the tests and values that it has parsed.
type parser struct{ tests, values int }

func (p *parser) object(raw json.RawMessage, depth int) (*Filter, error) {
	if depth > MaxDepth {
		return nil, fmt.Errorf("deeper than %d", MaxDepth)
	}
	all, err := members(raw)
	if err != nil {
		return nil, err
	}
	f := &Filter{Op: All}
	for _, m := range all {
		part, err := p.member(m, depth)
		if err != nil {
			return nil, err
		}
		if depth == 1 {
			part.source = memberSource(m)
		}
		f.Of = append(f.Of, part)
	}
	if len(f.Of) == 1 {
		return f.Of[0], nil
	}
	return f, nil
}

// memberSource returns the JSON of an object with this member alone.
func memberSource(m member) string {
	b := append(appendString([]byte("{"), m.name), ':')
	out := bytes.NewBuffer(b)
	_ = json.Compact(out, m.value) // valid, because it was parsed
	return out.String() + "}"
}

func (p *parser) member(m member, depth int) (*Filter, error) {
	switch m.name {
	case "and", "or":
		f := &Filter{Op: map[string]Op{"and": All, "or": Any}[m.name]}
		var all []json.RawMessage
		if json.Unmarshal(m.value, &all) != nil || len(all) == 0 {
			return nil, fmt.Errorf("%s: want a list of filters", m.name)
		}
		for _, raw := range all {
			part, err := p.object(raw, depth+1)
			if err != nil {
				return nil, err
			}
			f.Of = append(f.Of, part)
		}
		return f, nil
	case "not":
		if m.value[0] != '{' {
			return nil, errors.New("not: want a filter")
		}
		part, err := p.object(m.value, depth+1)
		return &Filter{Op: Not, Of: []*Filter{part}}, err
	}
	if m.name != "" && m.name[0] == '@' && fields[m.name] == "" {
		return nil, fmt.Errorf("%s is not a field to filter by: want one of %s", quoteName(m.name), strings.Join(fieldNames(), ", "))
	}
	if m.name[:min(1, len(m.name))] != "@" && !ValidName(m.name) {
		return nil, fmt.Errorf("%s is not the name of an attribute", quoteName(m.name))
	}
	if m.value[0] != '{' {
		return p.test(m.name, "eq", m.value)
	}
	tests, err := members(m.value)
	if err != nil || len(tests) == 0 {
		return nil, fmt.Errorf("%s: want a value, or operators with their values", quoteName(m.name))
	}
	f := &Filter{Op: All}
	for _, t := range tests {
		part, err := p.test(m.name, t.name, t.value)
		if err != nil {
			return nil, err
		}
		f.Of = append(f.Of, part)
	}
	if len(f.Of) == 1 {
		return f.Of[0], nil
	}
	return f, nil
}

func fieldNames() (names []string) {
	for name := range fields {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// test parses an operator with its value. A negated operator becomes a Not of its opposite.
func (p *parser) test(name, op string, raw json.RawMessage) (*Filter, error) {
	f := &Filter{Op: Test, Name: name, test: op}
	reject := func(format string, args ...any) (*Filter, error) {
		return nil, fmt.Errorf("%s: %s: %s", quoteName(name), op, fmt.Sprintf(format, args...))
	}
	if p.tests++; p.tests > MaxTests {
		return reject("more than %d operators", MaxTests)
	}
	opposite := false
	switch op {
	case "ne":
		f.test, opposite = "eq", true
	case "in", "nin":
		f.test, opposite = "eq", op == "nin"
		var all []json.RawMessage
		if json.Unmarshal(raw, &all) != nil || raw[0] != '[' {
			return reject("want a list of values")
		}
		for _, one := range all {
			if err := p.value(f, one); err != nil {
				return reject("%s", err)
			}
		}
	case "eq", "gt", "gte", "lt", "lte", "contains", "icontains", "prefix":
	case "exists":
		var is *bool
		if json.Unmarshal(raw, &is) != nil || is == nil {
			return reject("want true or false")
		}
		opposite = !*is
	default:
		return nil, fmt.Errorf("%s: %s is not an operator: want eq, ne, in, nin, gt, gte, lt, lte, exists, contains, icontains or prefix",
			quoteName(name), quoteName(op))
	}
	if op != "in" && op != "nin" && op != "exists" {
		if err := p.value(f, raw); err != nil {
			return reject("%s", err)
		}
	}
	if opposite {
		return &Filter{Op: Not, Of: []*Filter{f}}, nil
	}
	return f, nil
}

// The years 0 to 9999 in Unix seconds. Larger numbers are milliseconds or no time at all, and overflow.
const firstSecond, lastSecond = -62_167_219_200, 253_402_300_800

// value adds a value to a test, and rejects one of the wrong type.
func (p *parser) value(f *Filter, raw json.RawMessage) error {
	v, err := readValue(raw)
	if err != nil {
		return err
	}
	if p.values++; p.values > MaxValues {
		return fmt.Errorf("more than %d values", MaxValues)
	}
	of := fields[f.Name]
	if of == "time" && v.kind == number && v.number >= firstSecond && v.number <= lastSecond {
		v = Time(int64(math.Round(v.number * 1e6)))
	}
	ordered := len(f.test) > 1 && (f.test[0] == 'g' || f.test[0] == 'l')
	switch {
	case v.kind == absent:
		return fmt.Errorf("null is not a value: use exists")
	case f.test == "contains" || f.test == "icontains" || f.test == "prefix":
		if v.kind != text || of == "time" || of == "number" {
			return fmt.Errorf("want a string, and a name whose values are strings")
		}
		if f.test == "icontains" {
			v = Value{kind: text, text: fold.Lower(v.text)} // Holds converts the record's value to lower case
		}
	case ordered && v.kind != text && v.kind != number:
		return fmt.Errorf("want a number, a string or a date")
	case of == "time" && !v.dated:
		return fmt.Errorf("want a date (RFC 3339 or Unix seconds)")
	case of == "number" && v.kind != number:
		return fmt.Errorf("want a number")
	case of == "string" && v.kind != text:
		return fmt.Errorf("want a string")
	}
	f.want = append(f.want, v)
	return nil
}
