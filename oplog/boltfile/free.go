package boltfile

import (
	"os"
	"slices"
)

const (
	freePage = 0x10       // a page of the list of free pages
	noList   = ^uint64(0) // what a meta names that has none
)

// Prepare verifies a file before bbolt opens it, as Verify does, and leaves the list of its free pages in it: those that the
// walk has not come by. Without a list bbolt makes one by a walk of its own, which takes several times as long.
//
// The list lies in free pages that follow one another, or else behind the last page, and a meta page names it as by a commit
// of its own. That is written when the list is on the disk, in the place of the older meta: a crash leaves the newest
// commit as it was. Whoever opens the file with NoFreelistSync frees the list's pages by the next commit.
//
// The list is page numbers u64 in order behind the head of a page, which counts them; where a u16 does not, it is 0xFFFF and
// the first number is the count.
//
// A file of which one meta is not valid is the file as of the commit before the newest, perhaps.
func Prepare(path string) error {
	return examine(path, os.O_RDWR, func(f *os.File, w *walk) error {
		if w.pages > w.present() { // there are free pages that were never written: bbolt is left to it
			return nil
		}
		if err := f.Sync(); err != nil { // the newest commit, of a process that was killed, before anything of the one before it is written over
			return err
		}
		at, list := w.freeList()
		if _, err := f.WriteAt(list, int64(at)*w.pageSize); err != nil {
			return nil // no room: nothing names what is there of it
		}
		if err := f.Sync(); err != nil {
			return err
		}
		if err := w.nameList(f, at, uint64(len(list)/int(w.pageSize))); err != nil {
			return err
		}
		return f.Sync()
	})
}

// freeList is the pages of the list, and the number of the first.
func (w *walk) freeList() (at uint64, list []byte) {
	var free []uint64
	for p := uint64(2); p < w.pages; p++ {
		if w.seen[p/64]&(1<<(p%64)) == 0 {
			free = append(free, p)
		}
	}
	pages := (headSize + 8*(len(free)+1) + int(w.pageSize) - 1) / int(w.pageSize)
	at = w.pages
	for i := 0; i+pages <= len(free) && order.Uint64(w.meta[32:]) == noList; i++ { // a list that counts is not written over
		if free[i+pages-1] == free[i]+uint64(pages)-1 {
			at = free[i]
			free = slices.Delete(free, i, i+pages)
			break
		}
	}
	list = make([]byte, headSize, pages*int(w.pageSize))
	if len(free) >= 0xFFFF {
		list = order.AppendUint64(list, uint64(len(free)))
	}
	for _, p := range free {
		list = order.AppendUint64(list, p)
	}
	list = list[:cap(list)]
	putHead(list, at, freePage, uint16(min(len(free), 0xFFFF)), uint32(pages-1))
	return at, list
}

// nameList writes the meta that names a list of so many pages.
func (w *walk) nameList(f *os.File, at, pages uint64) error {
	tx := order.Uint64(w.meta[48:]) + 1
	page := make([]byte, w.pageSize)
	putHead(page, tx%2, metaPage, 0, 0)
	m := page[headSize : headSize+metaSize]
	copy(m, w.meta[:])
	order.PutUint64(m[32:], at)
	order.PutUint64(m[40:], max(w.pages, at+pages))
	order.PutUint64(m[48:], tx)
	order.PutUint64(m[56:], metaSum(m))
	_, err := f.WriteAt(page, int64(tx%2)*w.pageSize)
	return err
}

func putHead(page []byte, id uint64, flags, count uint16, overflow uint32) {
	order.PutUint64(page, id)
	order.PutUint16(page[8:], flags)
	order.PutUint16(page[10:], count)
	order.PutUint32(page[12:], overflow)
}
