package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/cairndb/cairn/wire/field"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// encodeInto appends a message as a map of its fields.
func encodeInto(dst []byte, m Message) []byte {
	p, at := planFor(m)
	return p.write(dst, at)
}

// write appends the encoding of the message at m.
func (p *plan) write(b []byte, m unsafe.Pointer) []byte {
	start, count := len(b), 0
	b = append(b, 0) // the header of most maps is one byte
	for i := range p.steps {
		s := &p.steps[i]
		v := unsafe.Add(m, s.at) // within the struct: the offset is that of a field of its type
		none := s.need >= optional && s.zero(v)
		if none && s.need == extension {
			continue
		}
		count++
		b = appendStr(b, s.name)
		if none {
			b = append(b, msgpcode.Nil)
		} else {
			b = s.write(b, v)
		}
	}
	if count < 16 {
		b[start] = msgpcode.FixedMapLow | byte(count)
		return b
	}
	return slices.Replace(b, start, start+1, appendMap(nil, count)...)
}

// decodeAt decodes a message from the value at pos of a scanned payload. With exact it rejects unknown keys and
// numbers out of range.
func decodeAt(b []byte, pos int, m Message, exact bool) error {
	p, at := planFor(m)
	in, err := input{b: b, exact: exact}.value(pos)
	if err != nil {
		return err
	}
	return p.read(in, at)
}

// read locates the fields in the payload and decodes them, in the struct's order, into the message at m. The payload
// was scanned, so no length in it exceeds its end. After an error the message is incomplete.
func (p *plan) read(in input, m unsafe.Pointer) (err error) {
	found := append(make([]int, 0, 32), p.absent...) // on the stack
	switch in.kind {
	case kMap:
		err = p.locatePairs(in, found)
	case kArray:
		err = p.locateElements(in, found)
	default:
		err = fmt.Errorf("%w: invalid type: %s, expected a map of fields", ErrPayload, in.kind)
	}
	if err != nil {
		return err
	}
	if p.preset != nil {
		p.preset(m)
	}
	for i := range p.steps {
		s := &p.steps[i]
		if found[i] < 0 {
			if s.need == required {
				return fmt.Errorf("%w: missing field `%s`", ErrPayload, s.name)
			}
			continue
		}
		in.at, in.name = found[i], s.name
		if in.head, err = header(in.b[in.at:]); err != nil {
			return err
		}
		if in.kind == kNil && s.need >= optional {
			continue
		}
		if err := s.read(in, unsafe.Add(m, s.at)); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) locatePairs(in input, found []int) error {
	pos, next := in.at+in.size, 0
	for range in.n {
		i, after, err := p.key(in.b, pos, next)
		if err != nil {
			return err
		}
		if i < 0 && in.exact {
			return p.unknownKey(in.b, pos)
		}
		if i >= 0 {
			if found[i] >= 0 {
				return fmt.Errorf("%w: duplicate field `%s`", ErrPayload, p.steps[i].name)
			}
			found[i], next = after, i+1
		}
		if pos, err = skip(in.b, after); err != nil {
			return err
		}
	}
	return nil
}

func (p *plan) locateElements(in input, found []int) (err error) {
	if int(in.n) > len(found) {
		return fmt.Errorf("%w: array had incorrect length, expected %d", ErrPayload, len(found))
	}
	pos := in.at + in.size
	for i := range int(in.n) {
		found[i] = pos
		if pos, err = skip(in.b, pos); err != nil {
			return err
		}
	}
	return nil
}

// key returns the index of the step that a map key identifies, by string, bytes or number; -1 for an unknown key. It
// tries next first, because most senders write fields in order.
func (p *plan) key(b []byte, pos, next int) (i, after int, err error) {
	h, err := header(b[pos:])
	if err != nil {
		return 0, 0, err
	}
	switch h.kind {
	case kStr, kBin:
		start := pos + h.size
		name := b[start : start+int(h.n)]
		for i := range p.steps {
			if i += next; i >= len(p.steps) {
				i -= len(p.steps)
			}
			if p.steps[i].name == string(name) {
				return i, start + int(h.n), nil
			}
		}
	case kUint:
		if h.u < uint64(len(p.steps)) {
			return int(h.u), pos + h.size, nil
		}
	}
	after, err = skip(b, pos)
	return -1, after, err
}

// unknownKey returns the error for the unknown key at pos.
func (p *plan) unknownKey(b []byte, pos int) error {
	var known field.Object
	for _, s := range p.steps {
		known = append(known, field.Field{Name: s.name})
	}
	name := "of another type than a string"
	if h, err := header(b[pos:]); err == nil && (h.kind == kStr || h.kind == kBin) {
		name = strings.ToValidUTF8(string(b[pos+h.size:pos+h.size+int(h.n)]), "\uFFFD")
	}
	return fmt.Errorf("%w: %w", ErrPayload, known.Unknown(name))
}

// skip returns the position after the value at pos of a scanned payload.
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

// An input is a value of a scanned payload, with its decoded header.
type input struct {
	head
	b     []byte // the payload
	at    int    // offset of the value
	name  string // name of its field
	exact bool   // reject unknown keys and numbers out of range
}

// value returns the value at pos of the same payload, as part of the same field.
func (in input) value(pos int) (input, error) {
	h, err := header(in.b[pos:])
	in.head, in.at = h, pos
	return in, err
}

// bytes returns the content of a string or byte string. It shares the payload's memory.
func (in input) bytes() []byte {
	start, end := in.at+in.size, in.at+in.size+int(in.n)
	return in.b[start:end:end]
}

func (in input) errorf(format string, args ...any) error {
	return fmt.Errorf("%w: field `%s`: "+format, append([]any{ErrPayload, in.name}, args...)...)
}

func (in input) typeError(want string) error {
	k := in.kind.String()
	if in.kind == kNil {
		k = "unit value"
	}
	return in.errorf("invalid type: %s, expected %s", k, want)
}

// IsPayload reports whether an error is about an invalid payload.
func IsPayload(err error) bool { return errors.Is(err, ErrPayload) }
