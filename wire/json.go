package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/large"
)

// JSON is a free-form value of a message (metadata, payload) as JSON text. Empty means null. On the wire it is
// msgpack with sorted keys.
type JSON []byte

func readJSON(in input) (JSON, error) {
	t := treeReader{left: maxValues, strict: true}
	x, _, err := t.read(in.b, in.at)
	if err != nil {
		return nil, in.errorf("%v", err)
	}
	if x == nil {
		return nil, nil
	}
	text, err := marshal(x)
	if err != nil {
		return nil, in.errorf("%v", err)
	}
	return text, nil
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

// appendJSON appends JSON text as msgpack. Invalid JSON is a bug of this server and becomes nil.
func appendJSON(b []byte, text JSON) []byte {
	if len(text) == 0 {
		return append(b, msgpcode.Nil)
	}
	x, err := large.JSON(text)
	if err != nil {
		return append(b, msgpcode.Nil)
	}
	return appendAny(b, x)
}

func appendAny(b []byte, x any) []byte {
	switch x := x.(type) {
	case nil:
		return append(b, msgpcode.Nil)
	case bool:
		return appendBool(b, x)
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
		keys := slices.AppendSeq(make([]string, 0, len(x)), maps.Keys(x))
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
	if len(s) <= len("-9223372036854775808") { // skip longer texts: the error would contain a copy
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return appendInt(b, i)
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return appendUint(b, u)
		}
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range becomes ±Inf, as in the receiver's decoder
	return appendF64(b, f)
}

// maxValues limits the number of values in a free-form field, and of strings in a list, because decoded values take
// much more memory than their encoding.
const maxValues = 1 << 18

// CheckSize returns an error if a receiver would reject the value: if it has more than maxValues values or more than
// maxPlain bytes. It never underestimates: it adds 8 bytes to the length of the text for each value, because a number
// may be that much longer on the wire.
func (v JSON) CheckSize(maxPlain int) error {
	values, quoted := 1, false
	for i := 0; i < len(v); i++ {
		switch c := v[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case !quoted && (c == ',' || c == ':' || c == '[' || c == '{'):
			values++
		}
	}
	if values > maxValues {
		return fmt.Errorf("more than %d values", maxValues)
	}
	if n := len(v) + 8*values; n > maxPlain {
		return fmt.Errorf("about %d bytes, at most %d fit", n, maxPlain)
	}
	return nil
}

// treeReader decodes a msgpack value into the types that encoding/json encodes.
type treeReader struct {
	left   int  // number of values that may still follow
	strict bool // for a free-form field: reject byte strings. For a whole message to a JSON client they become arrays
}

// read decodes the value at pos of a scanned payload, and returns the position after it. The scan bounds the depth.
func (t *treeReader) read(b []byte, pos int) (any, int, error) {
	if t.left--; t.left < 0 {
		return nil, 0, fmt.Errorf("more than %d values", maxValues)
	}
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
		if t.strict {
			return nil, 0, fmt.Errorf("invalid type: byte array, expected any valid JSON value")
		}
		out := make([]int, h.n)
		for i := range out {
			out[i] = int(b[pos+i])
		}
		return out, pos + int(h.n), nil
	case kArray:
		return t.array(b, pos, int(h.n))
	case kMap:
		return t.object(b, pos, int(h.n))
	default:
		return nil, 0, fmt.Errorf("invalid type: extension, expected any valid JSON value")
	}
}

func (t *treeReader) array(b []byte, pos, n int) (_ []any, next int, err error) {
	out := make([]any, 0, min(n, 1024))
	for range n {
		var x any
		if x, pos, err = t.read(b, pos); err != nil {
			return nil, 0, err
		}
		out = append(out, x)
	}
	return out, pos, nil
}

func (t *treeReader) object(b []byte, pos, n int) (_ map[string]any, next int, err error) {
	out := make(map[string]any, min(n, 1024))
	for range n {
		var k, x any
		if k, pos, err = t.read(b, pos); err != nil {
			return nil, 0, err
		}
		name, ok := k.(string)
		if !ok {
			return nil, 0, fmt.Errorf("invalid type: key must be a string")
		}
		if x, pos, err = t.read(b, pos); err != nil {
			return nil, 0, err
		}
		out[name] = x
	}
	return out, pos, nil
}

// jsonToMsgpack converts a JSON payload to msgpack directly from text to bytes, because a decoded tree would take
// many times the memory. encoding/json rejects more than 10,000 levels of nesting, which bounds the recursion; the
// caller's scan of the result rejects more than MaxDepth.
func jsonToMsgpack(text []byte) ([]byte, error) {
	first := json.RawMessage(text)
	if !json.Valid(text) { // invalid, or more text follows the value: decode the first value, with a copy and two more passes
		first = nil
		if err := json.NewDecoder(bytes.NewReader(text)).Decode(&first); err != nil {
			return nil, fmt.Errorf("%w: JSON: %w", ErrPayload, err)
		}
	}
	if err := field.UTF8(first); err != nil {
		return nil, fmt.Errorf("%w: JSON: %w", ErrPayload, err)
	}
	t := transcoder{in: first, out: make([]byte, 0, len(first))}
	t.value()
	return t.out, nil
}

// transcoder converts valid JSON to msgpack.
type transcoder struct {
	in, out []byte
	at      int
}

// peek skips spaces and returns the next byte.
func (t *transcoder) peek() byte {
	for t.in[t.at] == ' ' || t.in[t.at] == '\n' || t.in[t.at] == '\t' || t.in[t.at] == '\r' {
		t.at++
	}
	return t.in[t.at]
}

func (t *transcoder) value() {
	switch c := t.peek(); c {
	case '[':
		t.elements(msgpcode.Array32, ']', t.value)
	case '{':
		t.elements(msgpcode.Map32, '}', func() {
			t.peek()
			t.text()
			t.peek()
			t.at++ // the colon
			t.value()
		})
	case '"':
		t.text()
	case 't':
		t.literal(msgpcode.True, "true")
	case 'f':
		t.literal(msgpcode.False, "false")
	case 'n':
		t.literal(msgpcode.Nil, "null")
	default:
		start := t.at
		for t.at < len(t.in) &&
			(t.in[t.at] == '-' || t.in[t.at] == '+' || t.in[t.at] == '.' || t.in[t.at]|0x20 == 'e' || t.in[t.at]-'0' < 10) {
			t.at++
		}
		t.out = appendNumber(t.out, string(t.in[start:t.at]))
	}
}

func (t *transcoder) literal(b byte, text string) {
	t.out = append(t.out, b)
	t.at += len(text)
}

// elements converts elements up to the end byte. It writes their count into the header afterwards.
func (t *transcoder) elements(head, end byte, element func()) {
	count, n := len(t.out)+1, uint32(0)
	t.out = append(t.out, head, 0, 0, 0, 0)
	t.at++
	for t.peek() != end {
		if n++; n > 1 {
			t.at++ // the comma
		}
		element()
	}
	t.at++
	binary.BigEndian.PutUint32(t.out[count:], n)
}

func (t *transcoder) text() {
	start, plain := t.at, true
	for t.at++; t.in[t.at] != '"'; t.at++ {
		if t.in[t.at] == '\\' {
			plain = false
			t.at++
		}
	}
	t.at++
	if s := t.in[start+1 : t.at-1]; plain && utf8.Valid(s) {
		t.out = appendStr(t.out, string(s))
		return
	}
	var s string
	_ = json.Unmarshal(t.in[start:t.at], &s) // cannot fail: valid JSON
	t.out = appendStr(t.out, s)
}
