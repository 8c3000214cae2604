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

// JSON is a free-form value of a message (metadata, payload) as JSON text. Empty is null. On the wire it is
// real msgpack; keys come out sorted.
type JSON []byte

func readJSON(in input) (JSON, error) {
	t := tree{left: maxValues, strict: true}
	x, _, err := t.read(in.b, in.at)
	if err != nil {
		return nil, in.fail("%v", err)
	}
	if x == nil {
		return nil, nil
	}
	text, err := marshal(x)
	if err != nil {
		return nil, in.fail("%v", err)
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

// appendJSON writes JSON text as msgpack. Text that is not JSON is a mistake of this server's and becomes nil.
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
	if len(s) <= len("-9223372036854775808") { // an error would hold a copy of a longer one
		if i, err := strconv.ParseInt(s, 10, 64); err == nil {
			return appendInt(b, i)
		}
		if u, err := strconv.ParseUint(s, 10, 64); err == nil {
			return appendUint(b, u)
		}
	}
	f, _ := strconv.ParseFloat(s, 64) // out of range is ±Inf, as the decoder on the other side would have it
	return appendF64(b, f)
}

// maxValues limits the values of a free-form field: as a tree they take many times their bytes on the wire.
const maxValues = 1 << 18

// CheckSize rejects a value that the reader of a free-form field would reject: one of more than maxValues values, or
// of more bytes than maxPlain. It never counts too low: for each value it adds 8 bytes to the length of the text,
// since a number may take so many more on the wire.
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

// tree reads a msgpack value as what encoding/json writes.
type tree struct {
	left   int  // values it may still hold
	strict bool // for a free-form field: byte strings are refused. Of a whole message for a JSON client they become arrays
}

// read reads the value at pos of a scanned payload, and says where it ends. Depth is bounded by the scan.
func (t *tree) read(b []byte, pos int) (any, int, error) {
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

func (t *tree) array(b []byte, pos, n int) (_ []any, next int, err error) {
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

func (t *tree) object(b []byte, pos, n int) (_ map[string]any, next int, err error) {
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

// jsonToMsgpack turns a JSON payload into the msgpack it stands for, straight from text to bytes: a tree of it would
// be many times its size. encoding/json rejects more than 10,000 levels of nesting, so the recursion here ends; the
// caller's scan of the result rejects more than MaxDepth.
func jsonToMsgpack(text []byte) ([]byte, error) {
	first := json.RawMessage(text)
	if !json.Valid(text) { // then it is wrong, or goes on behind the value: to look for that costs a copy and two more passes
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

// transcoder reads JSON that is known to be valid.
type transcoder struct {
	in, out []byte
	at      int
}

// peek is the next byte that is not space.
func (t *transcoder) peek() byte {
	for t.in[t.at] == ' ' || t.in[t.at] == '\n' || t.in[t.at] == '\t' || t.in[t.at] == '\r' {
		t.at++
	}
	return t.in[t.at]
}

func (t *transcoder) value() {
	switch c := t.peek(); c {
	case '[':
		t.many(msgpcode.Array32, ']', t.value)
	case '{':
		t.many(msgpcode.Map32, '}', func() {
			t.peek()
			t.text()
			t.peek()
			t.at++ // the colon
			t.value()
		})
	case '"':
		t.text()
	case 't':
		t.word(msgpcode.True, "true")
	case 'f':
		t.word(msgpcode.False, "false")
	case 'n':
		t.word(msgpcode.Nil, "null")
	default:
		start := t.at
		for t.at < len(t.in) &&
			(t.in[t.at] == '-' || t.in[t.at] == '+' || t.in[t.at] == '.' || t.in[t.at]|0x20 == 'e' || t.in[t.at]-'0' < 10) {
			t.at++
		}
		t.out = appendNumber(t.out, string(t.in[start:t.at]))
	}
}

func (t *transcoder) word(b byte, text string) {
	t.out = append(t.out, b)
	t.at += len(text)
}

// many reads elements up to the end. How many there are is written before them when it is known.
func (t *transcoder) many(head, end byte, element func()) {
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
	_ = json.Unmarshal(t.in[start:t.at], &s) // it is valid
	t.out = appendStr(t.out, s)
}
