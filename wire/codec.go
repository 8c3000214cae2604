package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/wire/field"
)

// A Message is the content of a frame. Its fields method names its fields once, in order; encoding,
// decoding and counting all walk that one description.
type Message interface {
	fields(*codec)
}

// codec walks a message's fields in one of four ways.
type codec struct {
	mode  mode
	exact bool // decoding: unknown keys and numbers out of range are refused
	err   error
	names []string // naming: the fields, in order
	at    []int    // decoding: where each field's value begins in b; -1 where it is absent
	next  int      // decoding: the field to come
	count int      // counting: fields that will be written
	b     []byte   // decoding: the payload; encoding: what is written so far
}

type mode uint8

const (
	naming mode = iota
	decoding
	counting
	encoding
)

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrPayload}, args...)...)
	}
}

// encodeInto appends a message as a map of its fields.
func encodeInto(dst []byte, m Message) []byte {
	n := codec{mode: counting}
	m.fields(&n)
	e := codec{mode: encoding, b: appendMap(dst, n.count)}
	m.fields(&e)
	return e.b
}

// decodeAt reads a message from the value at pos of a scanned payload.
func decodeAt(b []byte, pos int, m Message, exact bool) error {
	c := codec{mode: naming, exact: exact}
	m.fields(&c)
	c.at = make([]int, len(c.names))
	for i := range c.at {
		c.at[i] = -1
	}
	h, err := header(b[pos:])
	if err != nil {
		return err
	}
	switch h.kind {
	case kMap:
		err = c.locatePairs(b, pos+h.size, int(h.n))
	case kArray:
		err = c.locateElements(b, pos+h.size, int(h.n))
	default:
		err = fmt.Errorf("%w: invalid type: %s, expected a map of fields", ErrPayload, h.kind)
	}
	if err != nil {
		return err
	}
	c.mode, c.b = decoding, b
	m.fields(&c)
	return c.err
}

func (c *codec) locatePairs(b []byte, pos, n int) error {
	for range n {
		field, after, err := c.key(b, pos)
		if err != nil {
			return err
		}
		if field < 0 && c.exact {
			return c.unknown(b, pos)
		}
		if field >= 0 {
			if c.at[field] >= 0 {
				return fmt.Errorf("%w: duplicate field `%s`", ErrPayload, c.names[field])
			}
			c.at[field] = after
		}
		if pos, err = skip(b, after); err != nil {
			return err
		}
	}
	return nil
}

// key finds which field a map key names: by its name, as string or bytes, or by its index. -1 is none of ours.
func (c *codec) key(b []byte, pos int) (field, after int, err error) {
	h, err := header(b[pos:])
	if err != nil {
		return 0, 0, err
	}
	switch h.kind {
	case kStr, kBin:
		start := pos + h.size
		name := b[start : start+int(h.n)]
		for i, n := range c.names {
			if n == string(name) {
				return i, start + int(h.n), nil
			}
		}
	case kUint:
		if h.u < uint64(len(c.names)) {
			return int(h.u), pos + h.size, nil
		}
	}
	after, err = skip(b, pos)
	return -1, after, err
}

// unknown is the refusal of the key at pos.
func (c *codec) unknown(b []byte, pos int) error {
	var known field.Object
	for _, n := range c.names {
		known = append(known, field.Field{Name: n})
	}
	name := "of another type than a string"
	if h, err := header(b[pos:]); err == nil && (h.kind == kStr || h.kind == kBin) {
		name = strings.ToValidUTF8(string(b[pos+h.size:pos+h.size+int(h.n)]), "\uFFFD")
	}
	return fmt.Errorf("%w: %w", ErrPayload, known.Unknown(name))
}

func (c *codec) locateElements(b []byte, pos, n int) (err error) {
	if n > len(c.names) {
		return fmt.Errorf("%w: array had incorrect length, expected %d", ErrPayload, len(c.names))
	}
	for i := range n {
		c.at[i] = pos
		if pos, err = skip(b, pos); err != nil {
			return err
		}
	}
	return nil
}

// skip steps over the value at pos of a scanned payload.
func skip(b []byte, pos int) (int, error) {
	for left := uint64(1); left > 0; left-- {
		if pos >= len(b) {
			return 0, fmt.Errorf("%w: end of input", ErrPayload)
		}
		h, err := header(b[pos:])
		if err != nil {
			return 0, err
		}
		pos += h.size
		switch h.kind {
		case kArray:
			left += uint64(h.n)
		case kMap:
			left += 2 * uint64(h.n)
		default:
			pos += int(h.n)
		}
	}
	return pos, nil
}

// need says what a field's absence means.
type need uint8

const (
	required  need = iota
	defaulted      // the value the field has before decoding stays
	optional       // absent or nil is the zero value; written as nil
	extension      // ours: absent or nil is the zero value; not written when zero, so old peers see the seed's bytes
)

// visit does what all kinds of fields share. It returns the value's head and position when there is one to
// decode, and whether the field is to be written.
func (c *codec) visit(name string, n need, zero bool) (h head, pos int, read, write bool) {
	switch c.mode {
	case naming:
		c.names = append(c.names, name)
	case counting:
		if n != extension || !zero {
			c.count++
		}
	case encoding:
		if n == extension && zero {
			return
		}
		c.b = appendStr(c.b, name)
		if n == optional && zero {
			c.b = append(c.b, 0xC0)
			return
		}
		write = true
	case decoding:
		pos = c.at[c.next]
		c.next++
		if c.err != nil {
			return
		}
		if pos < 0 {
			if n == required {
				c.fail("missing field `%s`", name)
			}
			return
		}
		var err error
		if h, err = header(c.b[pos:]); err != nil {
			c.err = err
			return
		}
		if h.kind == kNil && (n == optional || n == extension) {
			return
		}
		read = true
	}
	return
}

func (c *codec) wrong(name string, h head, want string) {
	k := h.kind.String()
	if h.kind == kNil {
		k = "unit value"
	}
	c.fail("field `%s`: invalid type: %s, expected %s", name, k, want)
}

func (c *codec) str(name string, v *string, n need) {
	h, pos, read, write := c.visit(name, n, *v == "")
	if write {
		c.b = appendStr(c.b, *v)
	}
	if !read {
		return
	}
	if h.kind != kStr && h.kind != kBin {
		c.wrong(name, h, "a string")
		return
	}
	raw := c.b[pos+h.size : pos+h.size+int(h.n)]
	if !utf8.Valid(raw) {
		c.fail("field `%s`: invalid utf-8", name)
		return
	}
	*v = string(raw)
}

func (c *codec) optStr(name string, v **string, n need) {
	if c.mode == decoding && c.at[c.next] >= 0 {
		var s string
		h, _ := header(c.b[c.at[c.next]:])
		c.str(name, &s, n)
		if h.kind != kNil {
			*v = &s
		}
		return
	}
	_, _, _, write := c.visit(name, n, *v == nil)
	if write {
		c.b = appendStr(c.b, **v)
	}
}

func (c *codec) f64(name string, v *float64, n need) {
	h, _, read, write := c.visit(name, n, *v == 0)
	if write {
		c.b = appendF64(c.b, *v)
	}
	if read {
		if f, ok := h.float(); ok {
			*v = f
		} else {
			c.wrong(name, h, "a number")
		}
	}
}

// bounded is a number that only so much may be.
func (c *codec) bounded(name string, v *float64, n need, k field.Kind) {
	c.f64(name, v, n)
	if c.mode == decoding && c.exact && c.err == nil && c.at[c.next-1] >= 0 {
		if err := k.Number(name, *v); err != nil {
			c.fail("%s", err)
		}
	}
}

// date is a time in Unix seconds, read from a number or from RFC 3339. What is neither is refused, whether the reader is exact or not.
func (c *codec) date(name string, v *float64, n need) {
	h, pos, read, write := c.visit(name, n, *v == 0)
	if write {
		c.b = appendF64(c.b, *v)
	}
	if read {
		*v = c.readDate(name, h, pos)
	}
}

func (c *codec) optDate(name string, v **float64, n need) {
	h, pos, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = appendF64(c.b, **v)
	}
	if read {
		at := c.readDate(name, h, pos)
		*v = &at
	}
}

func (c *codec) readDate(name string, h head, pos int) float64 {
	var t time.Time
	err := errors.New("neither")
	if f, ok := h.float(); ok {
		if f == 0 { // as absent as a field that is not written
			return 0
		}
		t, err = field.Unix(f)
	} else if h.kind == kStr {
		t, err = field.ParseDate(string(c.b[pos+h.size : pos+h.size+int(h.n)]))
	}
	if err != nil {
		c.fail("field `%s`: want %s", name, field.WantDate)
		return 0
	}
	return field.Seconds(t)
}

func (c *codec) optF64(name string, v **float64, n need) {
	h, _, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = appendF64(c.b, **v)
	}
	if read {
		if f, ok := h.float(); ok {
			*v = &f
		} else {
			c.wrong(name, h, "a number")
		}
	}
}

func (h head) float() (float64, bool) {
	switch h.kind {
	case kFloat:
		return math.Float64frombits(h.u), true
	case kUint:
		return float64(h.u), true
	case kInt:
		return float64(int64(h.u)), true
	}
	return 0, false
}

func (c *codec) boolean(name string, v *bool, n need) {
	h, _, read, write := c.visit(name, n, !*v)
	if write {
		c.b = append(c.b, 0xC2+b2i(*v))
	}
	if read {
		if h.kind != kBool {
			c.wrong(name, h, "a boolean")
			return
		}
		*v = h.u == 1
	}
}

func b2i(b bool) byte {
	if b {
		return 1
	}
	return 0
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

func uintField[T unsigned](c *codec, name string, v *T, n need) {
	h, _, read, write := c.visit(name, n, *v == 0)
	if write {
		c.b = appendUint(c.b, uint64(*v))
	}
	if read {
		if h.kind != kUint || uint64(T(h.u)) != h.u {
			c.wrong(name, h, fmt.Sprintf("an unsigned integer of at most %d", uint64(^T(0))))
			return
		}
		*v = T(h.u)
	}
}

func optUint[T unsigned](c *codec, name string, v **T, n need) {
	h, _, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = appendUint(c.b, uint64(**v))
	}
	if read {
		if h.kind != kUint || uint64(T(h.u)) != h.u {
			c.wrong(name, h, fmt.Sprintf("an unsigned integer of at most %d", uint64(^T(0))))
			return
		}
		x := T(h.u)
		*v = &x
	}
}

func (c *codec) integer(name string, v *int, n need) {
	h, _, read, write := c.visit(name, n, *v == 0)
	if write {
		c.b = appendInt(c.b, int64(*v))
	}
	if read {
		if (h.kind != kUint || h.u > math.MaxInt64) && h.kind != kInt {
			c.wrong(name, h, "an integer")
			return
		}
		*v = int(int64(h.u))
	}
}

func (c *codec) optInteger(name string, v **int64, n need) {
	h, _, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = appendInt(c.b, **v)
	}
	if read {
		if (h.kind != kUint || h.u > math.MaxInt64) && h.kind != kInt {
			c.wrong(name, h, "an integer")
			return
		}
		x := int64(h.u)
		*v = &x
	}
}

// octets is a byte vector of the seed's messages: written as an array of integers, read as that or as bin.
func (c *codec) octets(name string, v *[]byte, n need) {
	h, pos, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = appendArray(c.b, len(*v))
		for _, x := range *v {
			c.b = appendUint(c.b, uint64(x))
		}
	}
	if read {
		c.readOctets(name, h, pos, v)
	}
}

func (c *codec) readOctets(name string, h head, pos int, v *[]byte) {
	pos += h.size
	switch h.kind {
	case kBin:
		*v = append([]byte{}, c.b[pos:pos+int(h.n)]...)
	case kArray:
		out := make([]byte, h.n)
		for i := range out {
			e, err := header(c.b[pos:])
			if err != nil || e.kind != kUint || e.u > 255 {
				c.fail("field `%s`: element %d is not a byte", name, i)
				return
			}
			out[i] = byte(e.u)
			pos += e.size
		}
		*v = out
	default:
		c.wrong(name, h, "a sequence")
	}
}

// bin is a byte string of our own messages. What is decoded shares the payload's memory.
func (c *codec) bin(name string, v *[]byte, n need) {
	h, pos, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = append(appendBin(c.b, len(*v)), *v...)
	}
	if read {
		if h.kind != kBin {
			c.readOctets(name, h, pos, v)
			return
		}
		start := pos + h.size
		*v = c.b[start : start+int(h.n) : start+int(h.n)]
	}
}

// floats is an embedding: written as float32, read from numbers of any kind.
func (c *codec) floats(name string, v *[]float32, n need) {
	h, pos, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = appendArray(c.b, len(*v))
		for _, x := range *v {
			c.b = binary.BigEndian.AppendUint32(append(c.b, 0xCA), math.Float32bits(x))
		}
	}
	if !read {
		return
	}
	if h.kind != kArray {
		c.wrong(name, h, "a sequence of numbers")
		return
	}
	pos += h.size
	out := make([]float32, h.n)
	for i := range out {
		e, err := header(c.b[pos:])
		if err != nil {
			c.err = err
			return
		}
		f, ok := e.float()
		if !ok {
			c.fail("field `%s`: element %d is not a number", name, i)
			return
		}
		out[i] = float32(f)
		pos += e.size
	}
	*v = out
}

// strs is a list of strings.
func (c *codec) strs(name string, v *[]string, n need) {
	h, pos, read, write := c.visit(name, n, *v == nil && n != required)
	if write {
		c.b = appendArray(c.b, len(*v))
		for _, s := range *v {
			c.b = appendStr(c.b, s)
		}
	}
	if !read {
		return
	}
	if h.kind != kArray {
		c.wrong(name, h, "a sequence of strings")
		return
	}
	pos += h.size
	out := make([]string, 0, min(int(h.n), 1024))
	for range h.n {
		e, err := header(c.b[pos:])
		if err != nil {
			c.err = err
			return
		}
		if e.kind != kStr && e.kind != kBin {
			c.wrong(name, e, "a string")
			return
		}
		raw := c.b[pos+e.size : pos+e.size+int(e.n)]
		if !utf8.Valid(raw) {
			c.fail("field `%s`: invalid utf-8", name)
			return
		}
		out = append(out, string(raw))
		pos += e.size + int(e.n)
	}
	*v = out
}

// list is a list of messages.
func list[T any, P interface {
	*T
	Message
}](c *codec, name string, v *[]T, n need) {
	listUpTo[T, P](c, name, v, n, math.MaxUint32)
}

// listUpTo is list for no more values than most: a value may be a few bytes here, and hundreds when it is decoded.
func listUpTo[T any, P interface {
	*T
	Message
}](c *codec, name string, v *[]T, n need, most uint32) {
	h, pos, read, write := c.visit(name, n, *v == nil && n != required)
	if write {
		c.b = appendArray(c.b, len(*v))
		for i := range *v {
			c.b = encodeInto(c.b, P(&(*v)[i]))
		}
	}
	if !read {
		return
	}
	if h.kind != kArray {
		c.wrong(name, h, "a sequence")
		return
	}
	if h.n > most {
		c.err = fmt.Errorf("%w: %s: %d values, %d allowed", ErrPayload, name, h.n, most)
		return
	}
	pos += h.size
	out := make([]T, 0, min(int(h.n), 256)) // grows with what is really there
	for range h.n {
		var zero T
		out = append(out, zero)
		if err := decodeAt(c.b, pos, P(&out[len(out)-1]), c.exact); err != nil {
			c.err = fmt.Errorf("%s[%d]: %w", name, len(out)-1, err)
			return
		}
		var err error
		if pos, err = skip(c.b, pos); err != nil {
			c.err = err
			return
		}
	}
	*v = out
}

// sub is a message inside a message; nil is none.
func sub[T any, P interface {
	*T
	Message
}](c *codec, name string, v **T, n need) {
	_, pos, read, write := c.visit(name, n, *v == nil)
	if write {
		c.b = encodeInto(c.b, P(*v))
	}
	if read {
		*v = new(T)
		if err := decodeAt(c.b, pos, P(*v), c.exact); err != nil {
			c.err = err
		}
	}
}

// IsPayload says whether an error means that the sender's payload is wrong.
func IsPayload(err error) bool { return errors.Is(err, ErrPayload) }
