package large

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// What JSON holds its values to.
const (
	maxDepth = 10_000 // that of encoding/json
	step     = 1024   // an array is put together from parts of so many values
)

var errNotJSON = errors.New("not one JSON value")

// JSON reads one value as encoding/json does, numbers as json.Number. Its arrays are not copied while they grow.
func JSON(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	var err error
	if len(raw) < From {
		err = d.Decode(&v)
	} else if v, err = value(d, 0); err == nil && d.More() {
		err = errNotJSON
	}
	if err != nil {
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotJSON
	}
	return v, nil
}

func value(d *json.Decoder, depth int) (any, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	open, nested := t.(json.Delim)
	if !nested {
		return t, nil
	}
	if depth++; depth > maxDepth {
		return nil, errNotJSON
	}
	if open == '{' {
		return object(d, depth)
	}
	return array(d, depth)
}

func object(d *json.Decoder, depth int) (any, error) {
	m := map[string]any{}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return nil, err
		}
		if m[k.(string)], err = value(d, depth); err != nil { // the decoder takes nothing else for a key
			return nil, err
		}
	}
	_, err := d.Token()
	return m, err
}

func array(d *json.Decoder, depth int) (any, error) {
	part := []any{}
	var parts [][]any
	n := 0
	for ; d.More(); n++ {
		v, err := value(d, depth)
		if err != nil {
			return nil, err
		}
		if len(part) == step {
			parts, part = append(parts, part), make([]any, 0, step)
		}
		part = append(part, v)
	}
	if _, err := d.Token(); err != nil || parts == nil {
		return part, err
	}
	all := make([]any, 0, n)
	for _, p := range append(parts, part) {
		all = append(all, p...)
	}
	return all, nil
}
