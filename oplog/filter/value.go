package filter

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// A Value is the value of a field of a record. The zero Value stands for an absent one.
type Value struct {
	kind   kind
	text   string
	number float64 // true is 1, false is 0
	list   []string
	at     int64 // for a time, Unix microseconds
	dated  bool
}

type kind uint8

const (
	absent kind = iota
	text
	number
	boolean
	list
)

// Text returns the value of a string, which is also a time if it has the form of one.
func Text(s string) Value {
	v := Value{kind: text, text: s}
	v.at, v.dated = parseTime(s)
	return v
}

// TextOrNone returns the value of a string; absent if the string is blank.
func TextOrNone(s string) Value {
	if s == "" {
		return Value{}
	}
	return Text(s)
}

// Number returns the value of a number.
func Number(x float64) Value { return Value{kind: number, number: x} }

// Time returns the value of a time in Unix microseconds.
func Time(at int64) Value { return Value{kind: text, at: at, dated: true} }

// parseTime parses a date or a time in the form of RFC 3339.
func parseTime(s string) (at int64, ok bool) {
	if len(s) < len(time.DateOnly) || s[4] != '-' || s[7] != '-' {
		return 0, false
	}
	layout := time.RFC3339
	if len(s) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	t, err := time.Parse(layout, s)
	return t.UnixMicro(), err == nil
}

// Read parses a value from JSON.
func Read(raw []byte) (Value, error) {
	if !json.Valid(raw) {
		return Value{}, fmt.Errorf("not valid JSON")
	}
	return readValue(bytes.TrimLeft(raw, " \t\r\n"))
}

// String returns the canonical form. Equal values of one type have the same form.
func (v Value) String() string { return string(v.append(nil)) }

// IsList reports whether the value is a list of strings.
func (v Value) IsList() bool { return v.kind == list }

// equal reports whether a value, or one of a list's strings, equals the wanted one.
func (v *Value) equal(want *Value) bool {
	switch {
	case want.kind == list:
		return v.kind == list && slices.Equal(v.list, want.list)
	case v.kind == list:
		return slices.ContainsFunc(v.list, func(s string) bool {
			one := listItem(s, want)
			return one.equal(want)
		})
	case v.kind != want.kind:
		return false
	case v.kind == text:
		return v.dated && want.dated && v.at == want.at || !want.dated && v.text == want.text
	}
	return v.number == want.number
}

// listItem returns a string of a list as a value. It parses the string as a time only if it is compared with a time.
func listItem(s string, with *Value) Value {
	if with.dated {
		return Text(s)
	}
	return Value{kind: text, text: s}
}

// compare orders a value and the wanted one; ok is false if they have no order.
func (v *Value) compare(want *Value) (order int, ok bool) {
	switch {
	case v.kind != want.kind || v.kind != text && v.kind != number:
		return 0, false
	case v.kind == number:
		return cmp.Compare(v.number, want.number), true
	case want.dated:
		return cmp.Compare(v.at, want.at), v.dated
	}
	return cmp.Compare(v.text, want.text), true
}

// append appends a value in its canonical form.
func (v *Value) append(b []byte) []byte {
	switch v.kind {
	case text:
		return appendString(b, v.text)
	case number:
		x, _ := json.Marshal(v.number) // a finite number always encodes
		return append(b, x...)
	case boolean:
		return append(b, map[bool]string{true: "true", false: "false"}[v.number == 1]...)
	}
	b = append(b, '[')
	for i, s := range v.list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, s)
	}
	return append(b, ']')
}

func appendString(b []byte, s string) []byte {
	out := bytes.NewBuffer(b)
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

// readValue parses a value; null is absent.
func readValue(raw json.RawMessage) (Value, error) {
	switch c := raw[0]; c {
	case 'n':
		return Value{}, nil
	case 't':
		return Value{kind: boolean, number: 1}, nil
	case 'f':
		return Value{kind: boolean}, nil
	case '"':
		var s string
		err := json.Unmarshal(raw, &s)
		return Text(s), err
	case '[':
		v := Value{kind: list}
		var all []*string
		if json.Unmarshal(raw, &all) != nil || slices.Contains(all, nil) {
			return v, fmt.Errorf("want strings in a list")
		}
		for _, s := range all {
			v.list = append(v.list, *s)
		}
		return v, nil
	case '{':
		return Value{}, fmt.Errorf("want a string, a number, true, false or a list of strings, got an object")
	}
	var x float64
	if json.Unmarshal(raw, &x) != nil {
		return Value{}, fmt.Errorf("the number is not finite")
	}
	if x == math.Trunc(x) && math.Abs(x) >= 1<<53 {
		return Value{}, fmt.Errorf("a whole number of 2^53 or more may not keep its digits: send it as a string")
	}
	return Number(x + 0), nil // no negative zero
}

// A member is a name of a JSON object and its value.
type member struct {
	name  string
	value json.RawMessage
}

// members parses an object, keeps the order of its members, and rejects a repeated name.
func members(raw []byte) (all []member, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("want an object")
	}
	seen := map[string]bool{}
	for d.More() {
		name, err := d.Token()
		var m member
		if err == nil {
			m.name = name.(string)
			err = d.Decode(&m.value)
		}
		switch {
		case err != nil:
			return nil, fmt.Errorf("not valid JSON")
		case seen[m.name]:
			return nil, fmt.Errorf("%s comes twice", quoteName(m.name))
		}
		seen[m.name] = true
		all = append(all, m)
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("not valid JSON")
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("want one object")
	}
	return all, nil
}

// quoteName quotes a name for errors.
func quoteName(name string) string {
	if len(name) > MaxName {
		return fmt.Sprintf("%.40q…", name)
	}
	return fmt.Sprintf("%q", name)
}
