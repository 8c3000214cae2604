package wire

import (
	"encoding/binary"
	"math"
	"unicode/utf8"
)

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
