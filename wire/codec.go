package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairndb/cairn/wire/field"
)

// A Message is the content of a frame. Its fields method names its fields once, in order; encoding and
// decoding walk that one description.
type Message interface {
	fields(*codec)
}

// A codec walks a message's fields in one of three modes. The fields below hold the state of one walk; a codec is used by one
// goroutine, once.
type codec struct {
	mode  mode
	exact bool // decoding: unknown keys and numbers out of range are refused
	err   error
	names []string // naming: the fields, in order
	at    []int    // decoding: where each field's value begins in b; -1 where it is absent
	next  int      // decoding: the field to come
	count int      // encoding: fields that are written
	b     []byte   // decoding: the payload; encoding: what is written so far
}

type mode uint8

const (
	naming mode = iota
	decoding
	encoding
)

func (c *codec) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%w: "+format, append([]any{ErrPayload}, args...)...)
	}
}

// encodeInto appends a message as a map of its fields.
func encodeInto(dst []byte, m Message) []byte {
	at := len(dst)
	e := codec{mode: encoding, b: append(dst, 0)} // the head of most maps is one byte
	m.fields(&e)
	if e.count < 16 {
		e.b[at] = 0x80 | byte(e.count)
		return e.b
	}
	head := appendMap(nil, e.count)
	return slices.Replace(e.b, at, at+1, head...)
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

// key finds the field that a map key names, by string, bytes or index; -1 for an unknown key.
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

// skip returns the position behind the value at pos of a scanned payload.
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

// visit does what all kinds of fields share. read says that h and pos are the head and position of a value to decode; write that the
// caller is to append the value.
func (c *codec) visit(name string, n need, zero bool) (h head, pos int, read, write bool) {
	switch c.mode {
	case encoding:
		if n == extension && zero {
			return
		}
		c.count++
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

// IsPayload says whether an error means that the sender's payload is wrong.
func IsPayload(err error) bool { return errors.Is(err, ErrPayload) }
