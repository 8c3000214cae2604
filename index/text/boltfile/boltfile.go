// Package boltfile checks the bbolt file in which Bleve lists its segments, before bbolt opens it.
//
// bbolt trusts every byte of it: it panics in its own goroutine when a page is not what it should be, which no
// caller can recover, so the process would end at each start and the index could not be made again. Check walks the
// same pages first and returns an error instead.
//
// The file is pages of equal size. A page begins with its number u64, flags u16, count of elements u16 and the number
// of pages it continues on u32. Pages 0 and 1 are metas: magic, version, page size, flags u32 each, then root page
// u64, sequence u64, freelist page u64, page count u64, transaction u64, and an FNV-1a checksum of all that. A branch
// element is position, key length u32 and page u64; a leaf element flags, position, key length, value length u32, the
// value being a bucket's root page u64 and sequence u64 when the flags say so. The list of free pages is page numbers
// u64 in order behind the head of a page, which counts them; where a u16 does not, it is 0xFFFF and the first number
// is the count. Numbers are in the machine's byte order.
package boltfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"syscall"
)

// ErrDamaged reports that the file is not a complete bbolt file.
var ErrDamaged = errors.New("damaged file")

const (
	headSize   = 16
	metaSize   = 64
	magic      = 0xED0CDAED
	version    = 2
	branchPage = 0x01
	leafPage   = 0x02
	freePage   = 0x10
	bucketLeaf = 0x01
	elemSize   = 16
	inlineSize = 16
	minPage    = 1 << 10
	maxPage    = 1 << 16
	noList     = ^uint64(0) // the list's page in a meta without a list of free pages
)

var order = binary.NativeEndian

// Check returns an error unless every reachable page exists and has its own number, and no reachable page is listed
// as free. A missing or empty file is valid: bbolt makes a new one. A file that another process has locked is not
// checked: it changes, and opening it reports the lock.
func Check(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { // the lock goes with the descriptor
		return nil
	}
	raw, err := read(file)
	if err != nil {
		return err
	}
	return checkPages(raw)
}

func read(file *os.File) ([]byte, error) {
	return io.ReadAll(io.NewSectionReader(file, 0, math.MaxInt64))
}

// CheckInUse is like Check, but for a file that this process has open in bbolt, which may write to it meanwhile: it
// checks the pages once two reads return the same bytes. Until a commit, bbolt writes only to free pages.
func CheckInUse(file *os.File) error {
	raw, err := read(file)
	for err == nil {
		var again []byte
		if again, err = read(file); err == nil && bytes.Equal(raw, again) {
			return checkPages(raw)
		}
		raw = again
	}
	return err
}

func checkPages(file []byte) error {
	if len(file) == 0 {
		return nil
	}
	w := walk{file: file, seen: map[uint64]bool{}}
	if !w.findMeta() {
		return damaged("no valid meta page")
	}
	if err := w.checkTree(w.root); err != nil {
		return err
	}
	return w.freeList()
}

// A walk checks the pages of a file from its root on.
type walk struct {
	file []byte
	size uint64 // of a page

	// Of the newest valid meta.
	root, pages, list uint64

	seen map[uint64]bool // a page reached twice means a loop, or two trees that share a page
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// findMeta takes the newer of the valid metas. The second one may be at any page size.
func (w *walk) findMeta() (valid bool) {
	var newest uint64
	for at := 0; at <= maxPage && at+headSize+metaSize <= len(w.file); at = max(2*at, minPage) {
		m := w.file[at+headSize:][:metaSize]
		sum := fnv.New64a()
		sum.Write(m[:metaSize-8])
		size := int(order.Uint32(m[8:]))
		if order.Uint32(m) != magic || order.Uint32(m[4:]) != version || order.Uint64(m[56:]) != sum.Sum64() || size < minPage ||
			size > maxPage || at != 0 && at != size {
			continue
		}
		if tx := order.Uint64(m[48:]); !valid || tx > newest {
			newest, w.size = tx, uint64(size)
			w.root, w.list, w.pages = order.Uint64(m[16:]), order.Uint64(m[32:]), order.Uint64(m[40:])
		}
		valid = true
	}
	return valid
}

// page returns a page together with its overflow pages.
func (w *walk) page(id uint64, flags ...uint16) (p page, err error) {
	present := min(w.pages, uint64(len(w.file))/w.size)
	if id < 2 || id >= present {
		return p, damaged("page %d of %d, of which %d are there", id, w.pages, present)
	}
	b := w.file[id*w.size:]
	is, over := order.Uint16(b[8:]), uint64(order.Uint32(b[12:]))
	if got := order.Uint64(b); got != id || !slices.Contains(flags, is) {
		return p, damaged("page %d says that it is %d, flags %#x", id, got, is)
	}
	if id+over >= present {
		return p, damaged("page %d reaches behind the end of the file", id)
	}
	for p := id; p <= id+over; p++ {
		if w.seen[p] {
			return page{}, damaged("page %d is reached twice", p)
		}
		w.seen[p] = true
	}
	return page{b: b[:(over+1)*w.size], unit: int(w.size), leaf: is == leafPage, count: int(order.Uint16(b[10:]))}, nil
}

// checkTree checks a page and the pages below it.
func (w *walk) checkTree(id uint64) error {
	p, err := w.page(id, branchPage, leafPage)
	if err != nil {
		return err
	}
	if !p.packed(either) {
		return damaged("the elements of page %d are not where they belong", id)
	}
	if !p.leaf && p.count == 0 {
		return damaged("branch page %d is empty", id)
	}
	for i := range p.count {
		_, e := p.elem(i)
		child := uint64(0)
		if !p.leaf {
			child = order.Uint64(e[8:])
		} else if order.Uint32(e)&bucketLeaf != 0 {
			if child, err = bucket(id, p.value(i)); err != nil {
				return err
			}
			if child == 0 {
				continue // it lies inside this one
			}
		} else {
			continue
		}
		if err := w.checkTree(child); err != nil {
			return err
		}
	}
	return nil
}

// bucket returns the root page of a bucket that a leaf element holds; 0 for a small one, which is stored in the
// element itself. Its own elements are not buckets.
func bucket(id uint64, value []byte) (root uint64, err error) {
	if len(value) < inlineSize {
		return 0, damaged("page %d: a bucket of %d bytes", id, len(value))
	}
	if root = order.Uint64(value); root != 0 {
		return root, nil
	}
	b := value[inlineSize:]
	if len(b) < headSize || order.Uint16(b[8:]) != leafPage {
		return 0, damaged("page %d: a bucket in it is no page", id)
	}
	if p := (page{b: b, unit: 1, leaf: true, count: int(order.Uint16(b[10:]))}); !p.packed(rows) {
		return 0, damaged("page %d: the elements of a bucket in it are not where they belong", id)
	}
	return 0, nil
}

// freeList checks that no page in the list of free pages was reached, or is part of the list.
func (w *walk) freeList() error {
	if w.list == noList {
		return nil
	}
	p, err := w.page(w.list, freePage)
	if err != nil {
		return err
	}
	ids, n := p.b[headSize:], uint64(p.count)
	if n == 0xFFFF {
		n, ids = order.Uint64(ids), ids[8:]
	}
	if n > uint64(len(ids)/8) {
		return damaged("%d free pages in a list of %d bytes", n, len(ids))
	}
	for i, last := uint64(0), uint64(1); i < n; i++ {
		id := order.Uint64(ids[8*i:])
		if id <= last || id >= w.pages || w.seen[id] {
			return damaged("page %d is called free", id)
		}
		last = id
	}
	return nil
}
