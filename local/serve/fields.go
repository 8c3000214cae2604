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

// Members are the raw members of a JSON object. Text and Flag are lenient: they treat a member of another type as
// absent.
type Members map[string]json.RawMessage

// Raw returns the JSON of a field, or nil if it is absent or null.
func (m Members) Raw(name string) json.RawMessage {
	r := m[name]
	if bytes.Equal(bytes.TrimSpace(r), []byte("null")) {
		return nil
	}
	return r
}

// DecodeMember decodes a member, and returns nil if it is absent or null.
func DecodeMember[T any](m Members, name string) (*T, error) {
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

// Text returns a member if it is a string.
func (m Members) Text(name string) (s string, ok bool) {
	v, _ := DecodeMember[string](m, name)
	return ValueOr(v, ""), v != nil
}

// Flag returns a member if it is a boolean, and def otherwise.
func (m Members) Flag(name string, def bool) bool {
	v, _ := DecodeMember[bool](m, name)
	return ValueOr(v, def)
}

// Fields is the object of a request, read strictly, as the reference implementations do: names are case-sensitive,
// integers have no sign, fraction or quotes, and the text is valid UTF-8. Unknown names are ignored. Err is the first
// error; fields read after it are zero.
type Fields struct {
	Members
	Err error
}

// Parse reads the object of a request. A malformed object sets Err.
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

// Fail records an error of a field unless there is one already.
func (f *Fields) Fail(name, why string) {
	if f.Err == nil {
		f.Err = fmt.Errorf("%s: %s", name, why)
	}
}

// Required returns a required value and fails if the optional value v is nil.
func Required[T any](f *Fields, name string, v *T) T {
	if v == nil {
		f.Fail(name, "missing")
	}
	return ValueOr(v, *new(T))
}

// ValueOr returns an optional value, or def if v is nil.
func ValueOr[T any](v *T, def T) T {
	if v == nil {
		return def
	}
	return *v
}

// Optional decodes an optional field, and returns nil if it is absent or null. errText is the error for a value of
// another type; if it is empty, the error is that of encoding/json.
func Optional[T any](f *Fields, name, errText string) *T {
	v, err := DecodeMember[T](f.Members, name)
	if err != nil {
		f.Fail(name, cmp.Or(errText, err.Error()))
	}
	return v
}

// Text returns a required string.
func (f *Fields) Text(name string) string { return Required(f, name, f.OptText(name)) }

// OptText returns an optional string.
func (f *Fields) OptText(name string) *string { return Optional[string](f, name, "not a string") }

// Count returns an unsigned integer, or def if the field is absent. null is an error.
func (f *Fields) Count(name string, def uint64) uint64 {
	if _, ok := f.Members[name]; !ok {
		return def
	}
	return f.Number(name)
}

// Number returns a required unsigned integer.
func (f *Fields) Number(name string) uint64 { return Required(f, name, f.OptNumber(name)) }

// OptNumber returns an optional unsigned integer.
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

// Flag returns an optional boolean.
func (f *Fields) Flag(name string) bool {
	return ValueOr(Optional[bool](f, name, "not a boolean"), false)
}

// Object reads the fields of a required object. An error in the object is an error of f.
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

// List returns an optional array.
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

// Texts returns a list of strings.
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
