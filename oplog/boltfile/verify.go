// Package boltfile checks a bbolt file before bbolt opens it.
//
// bbolt rebuilds its list of free pages by a walk in a goroutine of its own, and panics there when a page is not what it
// should be: nobody can recover from that, and a damaged file would keep a node from starting. Verify walks the same
// pages first and returns an error instead.
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
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
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
	return examine(path, os.O_RDONLY, func(*os.File, *walk) error { return nil })
}

// VerifyNewest is Verify for a file that counts by its newest commit alone: one of whose meta pages is not valid is damaged, because it
// may be the newer one, and bbolt would go on with the commit before it.
func VerifyNewest(path string) error {
	return examine(path, os.O_RDONLY, func(_ *os.File, w *walk) error {
		if w.other() == nil {
			return damaged("one of two meta pages")
		}
		return nil
	})
}

// examine verifies a file, and calls f while nobody else may open it.
func examine(path string, mode int, f func(*os.File, *walk) error) error {
	file, err := os.OpenFile(path, mode, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	i, err := file.Stat()
	if err != nil || i.Size() == 0 {
		return err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { // the lock goes with the descriptor
		return nil
	}
	w := walk{f: file, size: i.Size()}
	if int64(int(w.size)) == w.size {
		w.whole, _ = syscall.Mmap(int(file.Fd()), 0, int(w.size), syscall.PROT_READ, syscall.MAP_SHARED) // or it is read
	}
	err = w.verify(runtime.GOMAXPROCS(0) - 1)
	if w.whole != nil {
		err = errors.Join(err, syscall.Munmap(w.whole))
		w.whole = nil
	}
	if err != nil {
		return err
	}
	return f(file, &w)
}

type walk struct {
	f        io.ReaderAt
	whole    []byte // all of it, where it can be mapped: most of the time would go by in asking for pages
	size     int64
	pageSize int64

	meta  [metaSize]byte // the newest that is valid
	first bool           // it is the first of the two
	root  uint64
	pages uint64

	seen   []uint64      // a bit a page: a page that is reached twice is a loop, or two trees grown together
	hands  chan struct{} // has a place for each goroutine that may help
	crew   sync.WaitGroup
	failed atomic.Pointer[error]
}

func damaged(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamaged, fmt.Sprintf(format, args...))
}

// verify checks the pages that can be reached, with the help of so many goroutines.
func (w *walk) verify(helpers int) error {
	if err := w.findMeta(); err != nil {
		return err
	}
	w.seen = make([]uint64, w.present()/64+1)
	w.hands = make(chan struct{}, helpers)
	w.part([]uint64{w.root}, 0)
	w.crew.Wait()
	if p := w.failed.Load(); p != nil {
		return *p
	}
	return nil
}

// present is how many of the pages the file is long enough for.
func (w *walk) present() uint64 { return min(w.pages, uint64(w.size/w.pageSize)) }

// findMeta finds the newer of the valid metas.
func (w *walk) findMeta() error {
	var newest uint64
	found := false
	for _, at := range w.metaPlaces() {
		m := w.metaAt(at)
		if m == nil {
			continue
		}
		size := int64(order.Uint32(m[8:]))
		if tx := order.Uint64(m[48:]); !found || tx > newest {
			found, newest = true, tx
			w.first = at == 0
			w.meta = [metaSize]byte(m)
			w.root, w.pages, w.pageSize = order.Uint64(m[16:]), order.Uint64(m[40:]), size
		}
	}
	if !found {
		return damaged("no valid meta page")
	}
	if w.pages > uint64(1<<62)/maxPage {
		return damaged("%d pages announced", w.pages)
	}
	return nil
}

// metaAt is the meta at a place; nil when there is no valid one.
func (w *walk) metaAt(at int64) []byte {
	b := make([]byte, headSize+metaSize)
	if _, err := w.f.ReadAt(b, at); err != nil {
		return nil // too short for this place
	}
	m := b[headSize:]
	size := int64(order.Uint32(m[8:]))
	if order.Uint32(m) != magic || order.Uint32(m[4:]) != version || order.Uint64(m[56:]) != metaSum(m) || size < minPage || size > maxPage || at != 0 && at != size {
		return nil
	}
	return m
}

// other is the older meta; nil when it is not valid.
func (w *walk) other() []byte {
	if w.first {
		return w.metaAt(w.pageSize)
	}
	return w.metaAt(0)
}

func metaSum(m []byte) uint64 {
	sum := fnv.New64a()
	sum.Write(m[:metaSize-8])
	return sum.Sum64()
}

// metaPlaces are where metas may begin: the second one at any page size.
func (w *walk) metaPlaces() []int64 {
	at := []int64{0}
	for s := int64(minPage); s <= maxPage; s *= 2 {
		at = append(at, s)
	}
	return at
}

const (
	maxDepth = 64 // more than any tree of pages is deep
	fewPages = 16 // not worth another goroutine
)

// part checks some pages and what hangs below them, and gives half of them away to whoever has nothing to do.
func (w *walk) part(ids []uint64, depth int) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		p := recover()
		if fault, ok := p.(interface{ Addr() uintptr }); ok {
			w.fail(damaged("a page cannot be read: %v", fault)) // of a disk that is broken
		} else if p != nil {
			panic(p)
		}
	}()
	w.some(ids, depth, make([]byte, w.pageSize))
}

func (w *walk) fail(err error) { w.failed.CompareAndSwap(nil, &err) }

func (w *walk) some(ids []uint64, depth int, buf []byte) {
	for len(ids) > 0 && w.failed.Load() == nil {
		if len(ids) > fewPages {
			select {
			case w.hands <- struct{}{}:
				half := ids[len(ids)/2:]
				ids = ids[:len(ids)/2]
				w.crew.Go(func() {
					w.part(half, depth)
					<-w.hands
				})
			default:
			}
		}
		below, err := w.page(ids[0], depth, buf)
		if err != nil {
			w.fail(err)
			return
		}
		w.some(below, depth+1, buf)
		ids = ids[1:]
	}
}

// page checks a page and returns those that hang below it.
func (w *walk) page(id uint64, depth int, buf []byte) (below []uint64, err error) {
	if id < 2 || id >= w.pages || depth > maxDepth {
		return nil, damaged("page %d of %d, depth %d", id, w.pages, depth)
	}
	b, err := w.read(id, 1, buf)
	if err != nil {
		return nil, err
	}
	flags, count, overflow := order.Uint16(b[8:]), int64(order.Uint16(b[10:])), uint64(order.Uint32(b[12:]))
	if got := order.Uint64(b); got != id || flags != branchPage && flags != leafPage || id+overflow >= w.pages {
		return nil, damaged("page %d says that it is %d, flags %#x", id, got, flags)
	}
	if id+overflow >= w.present() {
		return nil, damaged("page %d reaches behind the end of the file", id)
	}
	for p := id; p <= id+overflow; p++ {
		if bit := uint64(1) << (p % 64); atomic.OrUint64(&w.seen[p/64], bit)&bit != 0 {
			return nil, damaged("page %d is reached twice", p)
		}
	}
	p := page{size: int(w.pageSize * int64(overflow+1)), unit: int(w.pageSize), leaf: flags == leafPage, count: int(count)}
	if overflow > 0 && (!p.leaf || headSize+count*elemSize > w.pageSize) {
		if b, err = w.read(id, int64(overflow)+1, nil); err != nil {
			return nil, err
		}
	}
	if p.b = b; !p.packed(either) {
		return nil, damaged("the elements of page %d are not where they belong", id)
	}
	for i := range count {
		at := headSize + i*elemSize
		e := b[at : at+elemSize]
		if flags == branchPage {
			below = append(below, order.Uint64(e[8:]))
			continue
		}
		if order.Uint32(e)&bucketLeaf == 0 {
			continue
		}
		root, err := w.bucket(id, at, e)
		if err != nil {
			return nil, err
		}
		if root != 0 { // one without a page of its own lies inside this one
			below = append(below, root)
		}
	}
	if flags == branchPage && len(below) == 0 {
		return nil, damaged("branch page %d is empty", id)
	}
	return below, nil
}

// bucket is the root page of a bucket that a leaf element holds; 0 for a small one, which lies whole in the element.
func (w *walk) bucket(id uint64, at int64, e []byte) (root uint64, err error) {
	pos, key, value := int64(order.Uint32(e[4:])), int64(order.Uint32(e[8:])), int64(order.Uint32(e[12:]))
	if value < inlineSize {
		return 0, damaged("page %d: a bucket of %d bytes", id, value)
	}
	b := make([]byte, inlineSize)
	at += int64(id)*w.pageSize + pos + key
	if _, err := w.f.ReadAt(b, at); err != nil {
		return 0, damaged("page %d: %v", id, err)
	}
	if root = order.Uint64(b); root != 0 {
		return root, nil
	}
	b = make([]byte, value)
	if _, err := w.f.ReadAt(b, at); err != nil {
		return 0, damaged("page %d: %v", id, err)
	}
	return 0, inline(id, b[inlineSize:])
}

// inline checks a page within an element of another. Its own elements are no buckets.
func inline(id uint64, b []byte) error {
	if len(b) < headSize || order.Uint16(b[8:]) != leafPage {
		return damaged("page %d: a bucket in it is no page", id)
	}
	p := page{b: b, size: len(b), unit: 1, leaf: true, count: int(order.Uint16(b[10:]))}
	if !p.packed(rows) {
		return damaged("page %d: the elements of a bucket in it are not where they belong", id)
	}
	return nil
}

// read is some pages. Nobody changes what it returns, and one page is good until buf is read into again.
func (w *walk) read(id uint64, pages int64, buf []byte) ([]byte, error) {
	at, n := int64(id)*w.pageSize, pages*w.pageSize
	if w.whole != nil && at+n <= w.size {
		return w.whole[at : at+n], nil
	}
	if n > int64(len(buf)) {
		buf = make([]byte, n)
	}
	if _, err := w.f.ReadAt(buf[:n], at); err != nil {
		return nil, damaged("page %d: %v", id, err)
	}
	return buf[:n], nil
}
