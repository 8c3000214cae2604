package boltfile

import (
	"bytes"
	"sort"
	"unsafe"

	bolt "go.etcd.io/bbolt"
)

// A Guard looks at the pages by which bbolt finds the rows of a file that is open. They have no sums: a bit that flips in
// the head of a page, in the list of its elements or in a branch's keys sends bbolt to the wrong place, and it says that a
// row is not there, or goes behind the file's end. So the way to a row is looked at before bbolt is asked for it (Lead), and
// where it finds none those beside the place as well (Look). Branches are compared with what is known of them (Ways); values
// can carry a sum of their own.
//
// It reads the map that the transaction reads, as it was committed: what the transaction itself has changed since lies
// elsewhere. It is good as long as the transaction, and for one goroutine.
type Guard struct {
	tx    *bolt.Tx
	ways  *Ways
	tree  uint64 // the commit whose tree is read
	base  unsafe.Pointer
	size  uint64 // of a page
	pages uint64
	seen  [remembered]uint64 // pages that were found to be as they were written, by their numbers
}

const remembered = 256

// NewGuard is the guard of a transaction. Where ways is nil nothing is known of any page.
func NewGuard(tx *bolt.Tx, ways *Ways) *Guard {
	info := tx.DB().Info()
	size := uint64(info.PageSize)
	g := &Guard{tx: tx, ways: ways, tree: uint64(tx.ID()), base: unsafe.Add(nil, info.Data), size: size, pages: uint64(tx.Size()) / size}
	if tx.Writable() {
		g.tree-- // it has the number of the commit that it will be
	}
	return g
}

// A Tree is a bucket's rows in the file.
type Tree struct {
	root  uint64
	small []byte // its only page, inside its parent's
	dir   bool   // it holds buckets and no rows
}

func (t Tree) kind() uint32 {
	if t.dir {
		return buckets
	}
	return rows
}

// Tree is where a bucket lies, of which the caller says whether it holds buckets itself. One that was made in this transaction
// is nowhere yet, and has no rows that could be hidden.
func (g *Guard) Tree(dir bool, path ...[]byte) (Tree, error) {
	t := Tree{root: uint64(g.tx.Cursor().Bucket().Root()), dir: true}
	for i, name := range path {
		inner := Tree{dir: dir || i < len(path)-1}
		_, err := g.Look(t, name, name, name, func(key, value []byte) {
			if !bytes.Equal(key, name) || len(value) < inlineSize {
				return
			}
			if inner.root = order.Uint64(value); inner.root == 0 {
				inner.small = value[inlineSize:]
			}
		})
		if err != nil {
			return t, err
		}
		t = inner
	}
	return t, nil
}

// Lead checks the pages on the way to a key, before bbolt goes there.
func (g *Guard) Lead(t Tree, key []byte) error { return g.descend(t, key, 0) }

// Beside checks those beside them as well, before the key is taken away: bbolt joins pages that have become small.
func (g *Guard) Beside(t Tree, key []byte) error { return g.descend(t, key, 1) }

// descend checks the pages on the way to a key, and so many on either side.
func (g *Guard) descend(t Tree, key []byte, around int) error {
	for id, depth := t.root, 0; id != 0; depth++ {
		p, err := g.page(id, t.kind())
		if err != nil || p.leaf {
			return err
		}
		if p.count == 0 || depth > maxDepth {
			return damaged("page %d at depth %d has %d elements", id, depth, p.count)
		}
		at := p.covers(key)
		for i := max(at-around, 0); i <= min(at+around, p.count-1); i++ {
			if i == at {
				continue // it is next
			}
			if _, err := g.page(p.child(i), t.kind()); err != nil {
				return err
			}
		}
		id = p.child(at)
	}
	return nil
}

// A Reach is the first and the last key of the pages that were looked at.
type Reach struct{ First, Last []byte }

// Look checks the pages in which the keys from one to another are or would be; nil is before the first and behind the last.
// Those beside a key are shown: bits can flip in a key as well, and then its row is one of the two.
func (g *Guard) Look(t Tree, from, to, key []byte, beside func(key, value []byte)) (Reach, error) {
	l := looking{g: g, kind: t.kind(), from: from, to: to, key: key, beside: beside}
	if t.small != nil {
		if len(t.small) < headSize {
			return Reach{}, damaged("a small bucket of %d bytes", len(t.small))
		}
		p := page{b: t.small, size: len(t.small), unit: 1, leaf: true, count: int(order.Uint16(t.small[10:]))}
		if order.Uint16(t.small[8:]) != leafPage || !p.packed(t.kind()) {
			return Reach{}, damaged("a small bucket is not as it was written")
		}
		return l.rows(p, nil, nil)
	}
	if t.root == 0 {
		return Reach{}, nil
	}
	return l.page(t.root, nil, nil, 0)
}

// looking is one look.
type looking struct {
	g             *Guard
	kind          uint32
	from, to, key []byte
	beside        func(key, value []byte)
}

// page looks at a page, all of whose keys must lie in [lo, hi).
func (l *looking) page(id uint64, lo, hi []byte, depth int) (Reach, error) {
	p, err := l.g.page(id, l.kind)
	if err != nil {
		return Reach{}, err
	}
	switch {
	case depth > maxDepth, p.count == 0 && (depth > 0 || !p.leaf):
		return Reach{}, damaged("page %d at depth %d has %d elements", id, depth, p.count)
	case p.count == 0:
		return Reach{}, nil
	case lo != nil && bytes.Compare(p.key(0), lo) < 0, hi != nil && bytes.Compare(p.key(p.count-1), hi) >= 0:
		return Reach{}, damaged("page %d holds keys that belong elsewhere", id)
	case p.leaf:
		return l.rows(p, lo, hi)
	}
	return l.below(p, hi, depth)
}

// below looks at those pages below a branch that matter. A key behind the last of a page might be hidden by the next
// page's place in the branch, and one before the first by that of the page before.
func (l *looking) below(p page, hi []byte, depth int) (Reach, error) {
	child := func(i int) (Reach, error) {
		end := hi
		if i+1 < p.count {
			end = p.key(i + 1)
		}
		return l.page(p.child(i), p.key(i), end, depth+1)
	}
	i, j := 0, p.count-1
	if l.from != nil {
		i = p.covers(l.from)
	}
	if l.to != nil {
		j = max(i, p.covers(l.to))
	}
	all, err := child(i)
	for m := i + 1; m <= j && err == nil; m++ {
		var r Reach
		r, err = child(m)
		all.Last = r.Last
	}
	if err == nil && i > 0 && bytes.Compare(l.from, all.First) < 0 {
		var r Reach
		r, err = child(i - 1)
		all.First = r.First
	}
	if err == nil && j+1 < p.count && bytes.Compare(l.to, all.Last) > 0 {
		var r Reach
		r, err = child(j + 1)
		all.Last = r.Last
	}
	return all, err
}

func (l *looking) rows(p page, lo, hi []byte) (Reach, error) {
	if p.count == 0 {
		return Reach{}, nil
	}
	if l.key != nil && (lo == nil || bytes.Compare(l.key, lo) >= 0) && (hi == nil || bytes.Compare(l.key, hi) < 0) {
		at := p.place(l.key)
		for i := max(at-1, 0); i <= min(at, p.count-1); i++ {
			l.beside(p.key(i), p.value(i))
		}
	}
	return Reach{p.key(0), p.key(p.count - 1)}, nil
}

// page is one that is as it was written, as far as that is known, or whose elements lie where they belong.
func (g *Guard) page(id uint64, kind uint32) (page, error) {
	p, err := g.head(id)
	if seen := &g.seen[id%remembered]; err == nil && *seen != id {
		if err := g.ways.err(); err != nil {
			return page{}, err
		}
		known := g.ways.of(id, g.tree)
		if (known == 0 || p.leaf) && !p.packed(kind) {
			return page{}, damaged("the elements of page %d are not where they belong", id)
		}
		if known != 0 && p.sum() != uint32(known) {
			return page{}, damaged("page %d is not what was written", id)
		}
		*seen = id
	}
	return p, err
}

// head is one that says that it is itself.
func (g *Guard) head(id uint64) (page, error) {
	if id < 2 || id >= g.pages {
		return page{}, damaged("page %d of %d", id, g.pages)
	}
	at := unsafe.Add(g.base, id*g.size)
	head := unsafe.Slice((*byte)(at), headSize)
	flags, more := order.Uint16(head[8:]), uint64(order.Uint32(head[12:]))
	if order.Uint64(head) != id || flags != leafPage && flags != branchPage || more >= g.pages-id {
		return page{}, damaged("page %d says that it is %d, flags %#x, and %d more", id, order.Uint64(head), flags, more)
	}
	b := unsafe.Slice((*byte)(at), (more+1)*g.size)
	return page{b: b, size: len(b), unit: int(g.size), leaf: flags == leafPage, count: int(order.Uint16(head[10:]))}, nil
}

// page is a page's bytes, of a leaf as many as the list of its elements takes at least.
type page struct {
	b     []byte
	size  int
	unit  int // size is a multiple of it, and the smallest that has room for the elements
	leaf  bool
	count int
}

func (p page) elem(i int) (at int, e []byte) {
	at = headSize + i*elemSize
	return at, p.b[at : at+elemSize : at+elemSize]
}

// key is an element's.
func (p page) key(i int) []byte {
	at, e := p.elem(i)
	pos, size := order.Uint32(e), order.Uint32(e[4:])
	if p.leaf {
		pos, size = size, order.Uint32(e[8:])
	}
	from := at + int(pos)
	return p.b[from : from+int(size)]
}

func (p page) value(i int) []byte {
	at, e := p.elem(i)
	from := at + int(order.Uint32(e[4:])) + int(order.Uint32(e[8:]))
	return p.b[from : from+int(order.Uint32(e[12:]))]
}

func (p page) child(i int) uint64 {
	_, e := p.elem(i)
	return order.Uint64(e[8:])
}

// place is that of the first element whose key is not before a key.
func (p page) place(key []byte) int {
	return sort.Search(p.count, func(i int) bool { return bytes.Compare(p.key(i), key) >= 0 })
}

// covers is the element of a branch below which a key belongs.
func (p page) covers(key []byte) int {
	i := p.place(key)
	if i < p.count && bytes.Equal(p.key(i), key) {
		return i
	}
	return max(i-1, 0)
}

// What a leaf's elements are.
const (
	rows    = 0
	buckets = bucketLeaf
	either  = 2
)

// packed says whether the elements lie as they were written: keys and values one behind another, right behind the list of
// elements, so that neither their number nor a place or length can have changed, nor how many pages they take; the keys in their
// order, where all of the page is there.
func (p page) packed(kind uint32) bool {
	at := headSize + p.count*elemSize
	if at > len(p.b) {
		return false
	}
	whole := len(p.b) == p.size
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
		if at += int(key) + int(value); at > p.size {
			return false
		}
		if whole && i > 0 && bytes.Compare(p.key(i-1), p.key(i)) >= 0 {
			return false
		}
	}
	return (at+p.unit-1)/p.unit*p.unit == p.size
}
