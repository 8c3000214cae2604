package wire

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"github.com/cairndb/cairn/wire/field"
)

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

// bounded is a number with the bounds of its kind, which an exact reader checks.
func (c *codec) bounded(name string, v *float64, n need, k field.Kind) {
	c.f64(name, v, n)
	if c.mode == decoding && c.exact && c.err == nil && c.at[c.next-1] >= 0 {
		if err := k.Number(name, *v); err != nil {
			c.fail("%s", err)
		}
	}
}

// date is a time in Unix seconds, read from a number or from RFC 3339. Anything else is refused, also by a reader that is not exact.
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

func integer[T int | int64](c *codec, name string, v *T, n need) {
	h, _, read, write := c.visit(name, n, *v == 0)
	if write {
		c.b = appendInt(c.b, int64(*v))
	}
	if read {
		if (h.kind != kUint || h.u > math.MaxInt64) && h.kind != kInt {
			c.wrong(name, h, "an integer")
			return
		}
		*v = T(int64(h.u))
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
