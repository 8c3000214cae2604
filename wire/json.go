package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"
)

// JSON is a free-form value of a message (metadata, payload) as JSON text. Empty is null. On the wire it is
// real msgpack; keys come out sorted.
type JSON []byte

// json is a free-form field.
func (c *codec) json(name string, v *JSON, n need) {
	_, pos, read, write := c.visit(name, n, len(*v) == 0 && n == extension)
	if write {
		c.b = appendJSON(c.b, *v)
	}
	if read {
		x, _, err := toAny(c.b, pos, strictJSON)
		if err != nil {
			c.fail("field `%s`: %v", name, err)
			return
		}
		if x == nil {
			return
		}
		if *v, err = marshal(x); err != nil {
			c.fail("field `%s`: %v", name, err)
		}
	}
}

func marshal(x any) ([]byte, error) {
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(x); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// appendJSON writes JSON text as msgpack. Text that is no JSON is our own mistake and becomes nil.
func appendJSON(b []byte, text []byte) []byte {
	if len(text) == 0 {
		return append(b, 0xC0)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return append(b, 0xC0)
	}
	return appendAny(b, x)
}

func appendAny(b []byte, x any) []byte {
	switch x := x.(type) {
	case nil:
		return append(b, 0xC0)
	case bool:
		return append(b, 0xC2+b2i(x))
	case string:
		return appendStr(b, x)
	case json.Number:
		return appendNumber(b, string(x))
	case []any:
		b = appendArray(b, len(x))
		for _, e := range x {
			b = appendAny(b, e)
		}
		return b
	case map[string]any:
		keys := make([]string, 0, len(x))
		for k := range x {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b = appendMap(b, len(x))
		for _, k := range keys {
			b = appendAny(appendStr(b, k), x[k])
		}
		return b
	default:
		panic(fmt.Sprintf("wire: JSON value of type %T", x))
	}
}

func appendNumber(b []byte, s string) []byte {
	if i, err := strconv.ParseInt(s, 10, 64); err == nil {
		return appendInt(b, i)
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		return appendUint(b, u)
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range is ±Inf, as the decoder on the other side would have it
	return appendF64(b, f)
}

// strictness says what a msgpack value may hold to become JSON.
type strictness bool

const (
	strictJSON strictness = true  // no bytes, no extensions, string keys: what a free-form field may hold
	looseJSON  strictness = false // bytes become arrays: a whole message on its way to a JSON client
)

// toAny reads the value at pos of a scanned payload. Depth is bounded by the scan.
func toAny(b []byte, pos int, strict strictness) (any, int, error) {
	h, err := header(b[pos:])
	if err != nil {
		return nil, 0, err
	}
	pos += h.size
	switch h.kind {
	case kNil:
		return nil, pos, nil
	case kBool:
		return h.u == 1, pos, nil
	case kUint:
		return h.u, pos, nil
	case kInt:
		return int64(h.u), pos, nil
	case kFloat:
		if f := math.Float64frombits(h.u); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f, pos, nil
		}
		return nil, pos, nil
	case kStr:
		s := b[pos : pos+int(h.n)]
		if !utf8.Valid(s) {
			return nil, 0, fmt.Errorf("invalid utf-8")
		}
		return string(s), pos + int(h.n), nil
	case kBin:
		if strict {
			return nil, 0, fmt.Errorf("invalid type: byte array, expected any valid JSON value")
		}
		out := make([]int, h.n)
		for i := range out {
			out[i] = int(b[pos+i])
		}
		return out, pos + int(h.n), nil
	case kArray:
		out := make([]any, 0, min(int(h.n), 1024))
		for range h.n {
			var x any
			if x, pos, err = toAny(b, pos, strict); err != nil {
				return nil, 0, err
			}
			out = append(out, x)
		}
		return out, pos, nil
	case kMap:
		out := make(map[string]any, min(int(h.n), 1024))
		for range h.n {
			var k, x any
			if k, pos, err = toAny(b, pos, strict); err != nil {
				return nil, 0, err
			}
			name, ok := k.(string)
			if !ok {
				return nil, 0, fmt.Errorf("invalid type: key must be a string")
			}
			if x, pos, err = toAny(b, pos, strict); err != nil {
				return nil, 0, err
			}
			out[name] = x
		}
		return out, pos, nil
	default:
		return nil, 0, fmt.Errorf("invalid type: extension, expected any valid JSON value")
	}
}

// jsonToMsgpack turns a JSON payload into the msgpack it stands for.
func jsonToMsgpack(text []byte) ([]byte, error) {
	if err := jsonDepth(text); err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		return nil, fmt.Errorf("%w: JSON: %w", ErrPayload, err)
	}
	return appendAny(nil, x), nil
}

// jsonDepth refuses deep nesting before the decoder builds it.
func jsonDepth(text []byte) error {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{':
			if depth++; depth > MaxDepth {
				return fmt.Errorf("%w: depth limit exceeded", ErrPayload)
			}
		case c == ']' || c == '}':
			depth--
		}
	}
	return nil
}
