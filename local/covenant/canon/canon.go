// Package canon writes JSON in canonical form (RFC 8785): keys in the order of their UTF-16 units, numbers as
// ECMAScript prints them, and no white space. The scope of a capability is signed in this form.
package canon

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/cairndb/cairn/wire/large"
)

// JSON converts a JSON value to its canonical form.
func JSON(raw []byte) ([]byte, error) {
	v, err := large.JSON(raw)
	if err != nil {
		return nil, err
	}
	return write(nil, v)
}

func write(b []byte, v any) ([]byte, error) {
	var err error
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case json.Number:
		return number(b, v)
	case string:
		return text(b, v), nil
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = write(b, x); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		keys := slices.SortedFunc(maps.Keys(v), func(a, b string) int {
			return slices.CompareFunc(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)), cmp.Compare[uint16])
		})
		b = append(b, '{')
		for i, k := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(text(b, k), ':')
			if b, err = write(b, v[k]); err != nil {
				return nil, err
			}
		}
		return append(b, '}'), nil
	}
	return nil, fmt.Errorf("a %T is not JSON", v)
}

func number(b []byte, n json.Number) ([]byte, error) {
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return nil, err
	}
	if f == 0 {
		return append(b, '0'), nil // no negative zero
	}
	out, err := json.Marshal(f) // prints as ECMAScript does
	return append(b, out...), err
}

// escapes are the characters with a short escape.
var escapes = map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`}

func text(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch escape, ok := escapes[r]; {
		case ok:
			b = append(b, escape...)
		case r < 0x20:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}
