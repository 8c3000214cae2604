package covenant

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/google/uuid"
)

// fields is a request's object, read as strictly as existing clients' peers do: names in their case, integers without
// sign, fraction or quotes, UTF-8 that is valid. Unknown names are passed over. The first fault stays; fields that are
// read after it are zero.
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

// need is a required value, read as an optional one.
func need[T any](f *fields, name string, v *T) T {
	if v == nil {
		f.fail(name, "missing")
	}
	return or(v, *new(T))
}

// or is an optional value, or its default.
func or[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}

// optional is a field of a type; nil when it is absent or null. fault says what another type is; without one the type's
// own error does.
func optional[T any](f *fields, name, fault string) *T {
	r := f.raw(name)
	if r == nil {
		return nil
	}
	v := new(T)
	if err := json.Unmarshal(r, v); err != nil {
		f.fail(name, cmp.Or(fault, err.Error()))
		return nil
	}
	return v
}

func (f *fields) text(name string) string { return need(f, name, f.optText(name)) }

func (f *fields) optText(name string) *string { return optional[string](f, name, "not a string") }

// count is an integer with a default: absent is the default, null is a fault.
func (f *fields) count(name string, def uint64) uint64 {
	if _, ok := f.m[name]; !ok {
		return def
	}
	return f.number(name)
}

func (f *fields) number(name string) uint64 { return need(f, name, f.optNumber(name)) }

func (f *fields) optNumber(name string) *uint64 {
	r := f.raw(name)
	if r == nil {
		return nil
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(r)), 10, 64)
	if err != nil {
		f.fail(name, "not an unsigned integer")
	}
	return &n
}

func (f *fields) optFloat(name string) *float64 { return optional[float64](f, name, "not a number") }

// flag is an optional boolean.
func (f *fields) flag(name string) bool { return or(optional[bool](f, name, "not a boolean"), false) }

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

func (f *fields) uuid(name string) string { return need(f, name, f.optUUID(name)) }

func (f *fields) optUUID(name string) *string {
	s := f.optText(name)
	if s == nil {
		return nil
	}
	id, err := uuid.Parse(*s) // in any usual spelling
	if err != nil {
		f.fail(name, "not a uuid")
	}
	return new(id.String())
}

// object reads the fields of a required object. A fault among them is the request's.
func (f *fields) object(name string, read func(*fields)) {
	r := f.raw(name)
	if r == nil {
		f.fail(name, "missing")
		return
	}
	in := parse(r)
	if read(in); f.err == nil {
		f.err = in.err
	}
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

var null = json.RawMessage("null")

// newID makes an id that cannot be guessed from its neighbours.
func newID() string { return uuid.NewString() }
