package kit

import (
	"bytes"
	"encoding/json"
)

// Object is a JSON object with members in a fixed order: names and values alternate. A nil Object is null.
type Object []any

// MarshalJSON implements json.Marshaler.
func (o Object) MarshalJSON() ([]byte, error) {
	if o == nil {
		return []byte("null"), nil
	}
	b := []byte{'{'}
	for i, v := range o {
		switch {
		case i%2 == 1:
			b = append(b, ':')
		case i > 0:
			b = append(b, ',')
		}
		raw, err := JSON(v)
		if err != nil {
			return nil, err
		}
		b = append(b, raw...)
	}
	return append(b, '}'), nil
}

// MustJSON returns the JSON of a value that can always be encoded: strings, finite numbers, and decoded JSON.
func MustJSON(v any) []byte {
	b, err := JSON(v)
	if err != nil {
		panic("kit: a value has no JSON: " + err.Error())
	}
	return b
}

// JSON encodes a value on one line, without escaping HTML.
func JSON(v any) ([]byte, error) {
	if o, ok := v.(Object); ok { // an encoder would check and copy the output of MarshalJSON again
		return o.MarshalJSON()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
