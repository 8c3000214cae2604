package covenant

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// fields is a request's object, read as strictly as existing clients' peers do: names in their case, integers without
// sign, fraction or quotes, UTF-8 that is valid. Unknown names are passed over. The first fault stays; what is read after
// it is zero.
type fields struct {
	m   map[string]json.RawMessage
	err error
}

func parse(raw []byte) *fields {
	f := &fields{}
	if !utf8.Valid(raw) {
		f.err = errors.New("not UTF-8")
	} else if err := json.Unmarshal(raw, &f.m); err != nil { // a map's keys keep their case
		f.err = err
	} else if f.m == nil {
		f.err = errors.New("not an object")
	}
	return f
}

func (f *fields) fail(name, why string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s: %s", name, why)
	}
}

// raw is a field's JSON; nil when it is absent or null.
func (f *fields) raw(name string) json.RawMessage {
	r := f.m[name]
	if bytes.Equal(bytes.TrimSpace(r), null) {
		return nil
	}
	return r
}

// text is a required string.
func (f *fields) text(name string) string {
	s := f.optText(name)
	if s == nil {
		f.fail(name, "missing")
		return ""
	}
	return *s
}

func (f *fields) optText(name string) *string { return optional[string](f, name, "not a string") }

// optional is a field of a type, whose name the fault says; nil when it is absent or null.
func optional[T any](f *fields, name, fault string) *T {
	r := f.raw(name)
	if r == nil {
		return nil
	}
	v := new(T)
	if err := json.Unmarshal(r, v); err != nil {
		f.fail(name, fault)
		return nil
	}
	return v
}

// count is an integer with a default: absent is the default, null is a fault.
func (f *fields) count(name string, def uint64) uint64 {
	r, ok := f.m[name]
	if !ok {
		return def
	}
	return f.integer(name, r)
}

// number is a required integer.
func (f *fields) number(name string) uint64 {
	r, ok := f.m[name]
	if !ok {
		f.fail(name, "missing")
	}
	return f.integer(name, r)
}

func (f *fields) optNumber(name string) *uint64 {
	r := f.raw(name)
	if r == nil {
		return nil
	}
	n := f.integer(name, r)
	return &n
}

func (f *fields) integer(name string, r json.RawMessage) uint64 {
	n, err := strconv.ParseUint(string(bytes.TrimSpace(r)), 10, 64)
	if err != nil {
		f.fail(name, "not an unsigned integer")
	}
	return n
}

func (f *fields) optFloat(name string) *float64 { return optional[float64](f, name, "not a number") }

// flag is an optional boolean.
func (f *fields) flag(name string) bool {
	b := optional[bool](f, name, "not a boolean")
	return b != nil && *b
}

// tiers are the spellings that are understood, and the one that is written.
var tiers = map[string]string{"working": "working", "episodic": "episodic", "longterm": "longterm", "long-term": "longterm", "long_term": "longterm"}

// tier is an optional tier; empty for none.
func (f *fields) tier(name string) string {
	s := f.optText(name)
	if s == nil {
		return ""
	}
	t, ok := tiers[*s]
	if !ok {
		f.fail(name, "not a tier")
	}
	return t
}

// uuid is a required id.
func (f *fields) uuid(name string) string {
	if id := f.optUUID(name); id != nil {
		return *id
	}
	f.fail(name, "missing")
	return ""
}

func (f *fields) optUUID(name string) *string {
	s := f.optText(name)
	if s == nil {
		return nil
	}
	id, err := parseUUID(*s)
	if err != nil {
		f.fail(name, "not a uuid")
	}
	return &id
}

// agent is a required identity.
func (f *fields) agent(name string) (a AgentID) {
	r := f.raw(name)
	if r == nil {
		f.fail(name, "missing")
		return a
	}
	if err := a.UnmarshalJSON(r); err != nil {
		f.fail(name, err.Error())
	}
	return a
}

// object is a required object.
func (f *fields) object(name string) *fields {
	r := f.raw(name)
	if r == nil {
		f.fail(name, "missing")
		return &fields{err: f.err}
	}
	return parse(r)
}

// list is an optional array.
func (f *fields) list(name string) (out []json.RawMessage) {
	r, ok := f.m[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(r, &out); err != nil || out == nil {
		f.fail(name, "not a list")
	}
	return out
}

// texts is a required list of strings.
func (f *fields) texts(name string) (out []string) {
	for _, r := range f.list(name) {
		var s *string
		if json.Unmarshal(r, &s) != nil || s == nil {
			f.fail(name, "not a list of strings")
			return nil
		}
		out = append(out, *s)
	}
	return out
}
