package serve

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// Members are the members of a JSON object, each as it came. Its Text and Flag are for requests whose clients are
// careless: a member of another type counts as absent.
type Members map[string]json.RawMessage

// Raw is a field's JSON; nil when it is absent or null.
func (m Members) Raw(name string) json.RawMessage {
	r := m[name]
	if bytes.Equal(bytes.TrimSpace(r), []byte("null")) {
		return nil
	}
	return r
}

// Maybe is a member of a type; nil when it is absent or null.
func Maybe[T any](m Members, name string) (*T, error) {
	r := m.Raw(name)
	if r == nil {
		return nil, nil
	}
	v := new(T)
	if err := json.Unmarshal(r, v); err != nil {
		return nil, err
	}
	return v, nil
}

// Text is a member that is a string.
func (m Members) Text(name string) (s string, ok bool) {
	v, _ := Maybe[string](m, name)
	return Or(v, ""), v != nil
}

// Flag is a member that is true or false; def, when it is neither.
func (m Members) Flag(name string, def bool) bool {
	v, _ := Maybe[bool](m, name)
	return Or(v, def)
}

// Fields is a request's object, read as strictly as existing clients' peers do: names in their case, integers without
// sign, fraction or quotes, UTF-8 that is valid. Unknown names are passed over. The first fault stays; fields that are
// read after it are zero.
type Fields struct {
	Members
	Err error
}

// Parse reads a request's object. What is wrong with it is the first fault.
func Parse(raw []byte) *Fields {
	f := &Fields{}
	if !utf8.Valid(raw) {
		f.Err = errors.New("not UTF-8")
	} else if err := json.Unmarshal(raw, &f.Members); err != nil { // a map's keys keep their case
		f.Err = err
	} else if f.Members == nil {
		f.Err = errors.New("not an object")
	}
	return f
}

// Fail notes a fault of a field, if it is the first.
func (f *Fields) Fail(name, why string) {
	if f.Err == nil {
		f.Err = fmt.Errorf("%s: %s", name, why)
	}
}

// Need is a required value, read as an optional one.
func Need[T any](f *Fields, name string, v *T) T {
	if v == nil {
		f.Fail(name, "missing")
	}
	return Or(v, *new(T))
}

// Or is an optional value, or its default.
func Or[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}

// Optional is a field of a type; nil when it is absent or null. fault says what another type is; without one the type's
// own error does.
func Optional[T any](f *Fields, name, fault string) *T {
	v, err := Maybe[T](f.Members, name)
	if err != nil {
		f.Fail(name, cmp.Or(fault, err.Error()))
	}
	return v
}

// Text is a required string.
func (f *Fields) Text(name string) string { return Need(f, name, f.OptText(name)) }

// OptText is an optional string.
func (f *Fields) OptText(name string) *string { return Optional[string](f, name, "not a string") }

// Count is an integer with a default: absent is the default, null is a fault.
func (f *Fields) Count(name string, def uint64) uint64 {
	if _, ok := f.Members[name]; !ok {
		return def
	}
	return f.Number(name)
}

// Number is a required unsigned integer.
func (f *Fields) Number(name string) uint64 { return Need(f, name, f.OptNumber(name)) }

// OptNumber is an optional unsigned integer.
func (f *Fields) OptNumber(name string) *uint64 {
	r := f.Raw(name)
	if r == nil {
		return nil
	}
	n, err := strconv.ParseUint(string(bytes.TrimSpace(r)), 10, 64)
	if err != nil {
		f.Fail(name, "not an unsigned integer")
	}
	return &n
}

// Flag is an optional boolean.
func (f *Fields) Flag(name string) bool { return Or(Optional[bool](f, name, "not a boolean"), false) }

// Object reads the fields of a required object. A fault among them is the request's.
func (f *Fields) Object(name string, read func(*Fields)) {
	r := f.Raw(name)
	if r == nil {
		f.Fail(name, "missing")
		return
	}
	in := Parse(r)
	if read(in); f.Err == nil {
		f.Err = in.Err
	}
}

// List is an optional array.
func (f *Fields) List(name string) (out []json.RawMessage) {
	r, ok := f.Members[name]
	if !ok {
		return nil
	}
	if err := json.Unmarshal(r, &out); err != nil || out == nil {
		f.Fail(name, "not a list")
	}
	return out
}

// Texts is a required list of strings.
func (f *Fields) Texts(name string) (out []string) {
	for _, r := range f.List(name) {
		var s *string
		if json.Unmarshal(r, &s) != nil || s == nil {
			f.Fail(name, "not a list of strings")
			return nil
		}
		out = append(out, *s)
	}
	return out
}
