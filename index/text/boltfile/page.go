package boltfile

import "bytes"

// page is a page's bytes.
type page struct {
	b     []byte
	unit  int // their number is a multiple of it, and the smallest that has room for the elements
	leaf  bool
	count int
}

func (p page) elem(i int) (at int, e []byte) {
	at = headSize + i*elemSize
	return at, p.b[at : at+elemSize : at+elemSize]
}

// key returns an element's key.
func (p page) key(i int) []byte {
	at, e := p.elem(i)
	pos, size := order.Uint32(e), order.Uint32(e[4:])
	if p.leaf {
		pos, size = size, order.Uint32(e[8:])
	}
	from := at + int(pos)
	return p.b[from : from+int(size)]
}

// value returns the value of a leaf's element.
func (p page) value(i int) []byte {
	_, e := p.elem(i)
	k := p.key(i)
	return k[len(k) : len(k)+int(order.Uint32(e[12:])) : len(k)+int(order.Uint32(e[12:]))]
}

// The kinds of a leaf's elements.
const (
	rows    = 0
	buckets = bucketLeaf
	either  = 2
)

// packed reports whether the elements lie as they were written: keys and values one behind another, right behind the
// list of elements, so that neither their number nor a place or length can have changed, nor how many pages they
// take; the keys in their order.
func (p page) packed(kind uint32) bool {
	at := headSize + p.count*elemSize
	if at > len(p.b) {
		return false
	}
	for i := range p.count {
		own, e := p.elem(i)
		var pos, key, value uint32
		if p.leaf {
			if is := order.Uint32(e); is > buckets || kind != either && is != kind {
				return false
			}
			pos, key, value = order.Uint32(e[4:]), order.Uint32(e[8:]), order.Uint32(e[12:])
		} else {
			pos, key = order.Uint32(e), order.Uint32(e[4:])
		}
		if own+int(pos) != at || key == 0 {
			return false
		}
		if at += int(key) + int(value); at > len(p.b) {
			return false
		}
		if i > 0 && bytes.Compare(p.key(i-1), p.key(i)) >= 0 {
			return false
		}
	}
	return (at+p.unit-1)/p.unit*p.unit == len(p.b)
}
