// Package boltfile checks a bbolt file before bbolt opens it.
//
// bbolt rebuilds its list of free pages by a walk in a goroutine of its own, and panics there when a page is not what it
// should be: nobody can recover from that, and a damaged file would keep a node from starting. Verify walks the same
// pages first and returns an error instead. What it leaves to bbolt, the order of keys, panics where it can be recovered.
//
// The file is pages of equal size. A page begins with its number u64, flags u16, count of elements u16 and the number of
// pages it continues on u32. Pages 0 and 1 are metas: magic, version, page size, flags u32 each, then root page u64,
// sequence u64, freelist page u64, page count u64, transaction u64, and an FNV-1a checksum of all that. A branch element
// is position, key length u32 and page u64; a leaf element flags, position, key length, value length u32, the value being
// a bucket's root page u64 and sequence u64 when the flags say so. Numbers are in the machine's byte order.
package boltfile

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrDamaged says that the file is not a whole bbolt file.
var ErrDamaged = errors.New("damaged file")

const (
	headSize   = 16
	metaSize   = 64
	magic      = 0xED0CDAED
	version    = 2
	branchPage = 0x01
	leafPage   = 0x02
	metaPage   = 0x04
	bucketLeaf = 0x01
	elemSize   = 16
	inlineSize = 16
	minPage    = 1 << 10
	maxPage    = 1 << 16
)

var order = binary.NativeEndian

// Verify checks that every page that can be reached is there and says that it is itself. A file that is missing or
// empty is fine: bbolt makes a new one. One that another process holds is not looked at: it changes, and opening it
// says who has it.
func Verify(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	i, err := f.Stat()
	if err != nil || i.Size() == 0 {
		return err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { // the lock goes with the descriptor
		return nil
	}
	w := walk{f: f, size: i.Size()}
	root, err := w.meta()
	if err != nil {
		return err
	}
	w.seen = make([]uint64, w.pages/64+1)
	return w.page(root, 0)
}

type walk struct {
	f        io.ReaderAt
	size     int64
	pageSize int64
	pages    uint64
	seen     []uint64 // a bit a page: a page that is reached twice is a loop, or two trees grown together
	buf      []byte
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// meta finds the newer of the valid metas.
func (w *walk) meta() (root uint64, err error) {
	var newest uint64
	found := false
	for _, at := range w.metaPlaces() {
		b := make([]byte, headSize+metaSize)
		if _, err := w.f.ReadAt(b, at); err != nil {
			continue // too short for this place
		}
		m := b[headSize:]
		sum := fnv.New64a()
		sum.Write(m[:metaSize-8])
		size := int64(order.Uint32(m[8:]))
		if order.Uint32(m) != magic || order.Uint32(m[4:]) != version || order.Uint64(m[56:]) != sum.Sum64() || size < minPage || size > maxPage || at != 0 && at != size {
			continue
		}
		if tx := order.Uint64(m[48:]); !found || tx > newest {
			found, newest = true, tx
			root, w.pages, w.pageSize = order.Uint64(m[16:]), order.Uint64(m[40:]), size
		}
	}
	if !found {
		return 0, damaged("no valid meta page")
	}
	if need := int64(w.pages) * w.pageSize; w.pages > uint64(1<<62)/maxPage || need > w.size+w.pageSize*int64(w.pages) {
		return 0, damaged("%d pages announced", w.pages)
	}
	return root, nil
}

// metaPlaces are where metas may begin: the second one at any page size.
func (w *walk) metaPlaces() []int64 {
	at := []int64{0}
	for s := int64(minPage); s <= maxPage; s *= 2 {
		at = append(at, s)
	}
	return at
}

// maxDepth is more than any tree of pages is deep.
const maxDepth = 64

// page checks a page and what hangs below it.
func (w *walk) page(id uint64, depth int) error {
	if id < 2 || id >= w.pages || depth > maxDepth {
		return damaged("page %d of %d, depth %d", id, w.pages, depth)
	}
	b, err := w.read(id, 1)
	if err != nil {
		return err
	}
	flags, count, overflow := order.Uint16(b[8:]), int64(order.Uint16(b[10:])), uint64(order.Uint32(b[12:]))
	if got := order.Uint64(b); got != id || flags != branchPage && flags != leafPage || id+overflow >= w.pages {
		return damaged("page %d says that it is %d, flags %#x", id, got, flags)
	}
	for p := id; p <= id+overflow; p++ {
		if w.seen[p/64]&(1<<(p%64)) != 0 {
			return damaged("page %d is reached twice", p)
		}
		w.seen[p/64] |= 1 << (p % 64)
	}
	if headSize+count*elemSize > w.pageSize*int64(overflow+1) {
		return damaged("page %d: %d elements", id, count)
	}
	if (int64(id)+int64(overflow)+1)*w.pageSize > w.size {
		return damaged("page %d reaches behind the end of the file", id)
	}
	if headSize+count*elemSize > w.pageSize {
		if b, err = w.read(id, int64(overflow)+1); err != nil {
			return err
		}
	}
	var below []uint64
	for i := range count {
		at := headSize + i*elemSize
		e := b[at : at+elemSize]
		if end := ends(flags, e); at+end > w.pageSize*int64(overflow+1) {
			return damaged("page %d: element %d ends at %d", id, i, at+end)
		}
		if flags == branchPage {
			below = append(below, order.Uint64(e[8:]))
			continue
		}
		if order.Uint32(e)&bucketLeaf == 0 {
			continue
		}
		root, err := w.bucket(id, at, e)
		if err != nil {
			return err
		}
		if root != 0 { // one without a page of its own lies inside this one
			below = append(below, root)
		}
	}
	if flags == branchPage && len(below) == 0 {
		return damaged("branch page %d is empty", id)
	}
	for _, next := range below {
		if err := w.page(next, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// ends is where an element's key and value end, from where the element begins.
func ends(flags uint16, e []byte) int64 {
	if flags == branchPage {
		return int64(order.Uint32(e)) + int64(order.Uint32(e[4:]))
	}
	return int64(order.Uint32(e[4:])) + int64(order.Uint32(e[8:])) + int64(order.Uint32(e[12:]))
}

// bucket is the root page of a bucket that a leaf element holds.
func (w *walk) bucket(id uint64, at int64, e []byte) (root uint64, err error) {
	pos, key, value := int64(order.Uint32(e[4:])), int64(order.Uint32(e[8:])), int64(order.Uint32(e[12:]))
	if value < inlineSize {
		return 0, damaged("page %d: a bucket of %d bytes", id, value)
	}
	var h [8]byte
	if _, err := w.f.ReadAt(h[:], int64(id)*w.pageSize+at+pos+key); err != nil {
		return 0, damaged("page %d: %v", id, err)
	}
	return order.Uint64(h[:]), nil
}

func (w *walk) read(id uint64, pages int64) ([]byte, error) {
	b := make([]byte, w.pageSize*pages)
	if pages == 1 { // most pages are read to be looked at once; those above in the tree are not looked at again
		if w.buf == nil {
			w.buf = b
		}
		b = w.buf
	}
	if _, err := w.f.ReadAt(b, int64(id)*w.pageSize); err != nil {
		return nil, damaged("page %d: %v", id, err)
	}
	return b, nil
}
