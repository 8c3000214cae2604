package boltfile

import (
	"hash/crc32"
	"sync/atomic"

	bolt "go.etcd.io/bbolt"
)

// Ways are the pages by which bbolt finds the rows of a file that is open, branches and the leaves that hold buckets, with
// the sums that they had when they were written. Only these name other pages, and a number that changed may be that of
// another page of the same rows, an older one for example, which looks as it should.
//
// A page is never written over while a tree has it, so what a commit has to say is which pages came and which went. Follow
// finds them by going down from the new root and from the old one, not below what both have: it costs what the commit wrote.
//
// Invariant: at Follow's end the pages known are those of the newest commit's tree. A tree up to one commit later has
// only such pages and some that were free, which are not known; one that is older, and still read, has pages
// that nobody writes over, known or not. So a page that is known and has another sum was changed by nobody who may.
type Ways struct {
	db     *bolt.DB
	commit atomic.Uint64 // whose tree the pages are of
	known  atomic.Pointer[[]*waysChunk]
	doubt  atomic.Pointer[error] // a page had changed when it was replaced: what was made of it may be wrong, with a right sum

	root  uint64 // of that tree; this and the rest are Follow's
	round uint64
}

// waysChunk holds a word for each of so many pages that follow one another: the sum u32, whether the page is known, whether it
// is a branch above leaves of rows, and the last round in which a tree was seen to keep it.
type waysChunk [4096]atomic.Uint64

const (
	isKnown   = 1 << 32
	isLowest  = 1 << 33
	roundAt   = 34
	maxRounds = 1<<(64-roundAt) - 1
)

// LearnWays is the ways of a file that was just verified.
func LearnWays(db *bolt.DB) (*Ways, error) {
	w := &Ways{db: db}
	w.forget()
	return w, w.Follow()
}

func (w *Ways) forget() {
	w.known.Store(&[]*waysChunk{})
	w.root, w.round = 0, 0
}

// Follow learns what the last commit changed. It is called after each, and ends before the next begins; where one was left out
// all is learned anew. Once it has met damage, every look is told so, until the file is another one.
func (w *Ways) Follow() (err error) {
	if err := w.err(); err != nil {
		return err
	}
	tx, err := w.db.Begin(false)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	commit := uint64(tx.ID())
	last := w.commit.Load()
	switch {
	case commit == last:
		return nil
	case commit != last+1 || w.round == maxRounds:
		w.forget()
	}
	w.round++
	g := NewGuard(tx, nil)
	old := w.root
	w.root = uint64(tx.Cursor().Bucket().Root())
	if err = w.tree(g, w.root); err == nil && old != 0 {
		err = w.drop(g, old)
	}
	if err != nil {
		w.doubt.Store(&err)
		return err
	}
	w.commit.Store(commit)
	return nil
}

func (w *Ways) err() error {
	if w == nil {
		return nil
	}
	if p := w.doubt.Load(); p != nil {
		return *p
	}
	return nil
}

// of says what is known of a page, for who reads the tree of a commit; 0 is nothing.
func (w *Ways) of(page, commit uint64) uint64 {
	if w == nil || commit > w.commit.Load()+1 {
		return 0
	}
	if word := w.word(page); word != nil {
		return word.Load()
	}
	return 0
}

// word is a page's; nil where none of its chunk is known.
func (w *Ways) word(page uint64) *atomic.Uint64 {
	chunks := *w.known.Load()
	if at := page / uint64(len(waysChunk{})); at < uint64(len(chunks)) && chunks[at] != nil {
		return &chunks[at][page%uint64(len(waysChunk{}))]
	}
	return nil
}

// keep says whether a page is known, and if so that it stays.
func (w *Ways) keep(page uint64) bool {
	word := w.word(page)
	if word == nil || word.Load() == 0 {
		return false
	}
	word.Store(word.Load()&(1<<roundAt-1) | w.round<<roundAt)
	return true
}

func (w *Ways) add(id uint64, p page, lowest bool) {
	chunks := *w.known.Load()
	if at := int(id / uint64(len(waysChunk{}))); at >= len(chunks) || chunks[at] == nil {
		more := make([]*waysChunk, max(len(chunks), at+1))
		copy(more, chunks)
		more[at] = new(waysChunk)
		w.known.Store(&more)
	}
	v := uint64(p.sum()) | isKnown | w.round<<roundAt
	if lowest {
		v |= isLowest
	}
	w.word(id).Store(v)
}

// sum is that of a branch, or of a leaf that holds buckets, whose elements lie where they belong: of all but the rows of small
// buckets, which lie in it and have sums of their own.
func (p page) sum() uint32 {
	if !p.leaf {
		return crc32.Checksum(p.b, castagnoli)
	}
	sum := crc32.Checksum(p.b[:headSize+p.count*elemSize], castagnoli)
	for i := range p.count {
		sum = crc32.Update(sum, castagnoli, p.key(i))
		v := p.value(i)
		sum = crc32.Update(sum, castagnoli, v[:min(len(v), inlineSize)])
	}
	return sum
}

// tree learns the pages of a bucket's tree that are new.
func (w *Ways) tree(g *Guard, root uint64) error {
	if w.keep(root) {
		return nil
	}
	height, at := 0, root
	p, err := g.head(at)
	for ; err == nil && !p.leaf; height++ {
		if height > maxDepth || p.count == 0 {
			return damaged("page %d at depth %d has %d elements", at, height, p.count)
		}
		at = p.child(0)
		p, err = g.head(at)
	}
	if err != nil {
		return err
	}
	dir := p.count > 0 && p.bucket(0)
	if height == 0 && !dir {
		return nil // rows, which name no pages
	}
	return w.learn(g, root, height, dir)
}

// learn learns a page so many levels above the leaves, and those below it.
func (w *Ways) learn(g *Guard, id uint64, level int, dir bool) error {
	if w.keep(id) {
		return nil
	}
	p, err := g.head(id)
	if err != nil {
		return err
	}
	if p.leaf != (level == 0) || p.leaf && !p.packed(either) {
		return damaged("page %d is not as bbolt writes it", id)
	}
	lowest := level == 1 && !dir
	w.add(id, p, lowest)
	if lowest {
		return nil
	}
	return p.each(func(below uint64) error {
		if p.leaf {
			return w.tree(g, below)
		}
		return w.learn(g, below, level-1, dir)
	})
}

// drop forgets a page that the new tree has not kept, and those below it.
func (w *Ways) drop(g *Guard, id uint64) error {
	word := w.word(id)
	if word == nil {
		return nil
	}
	v := word.Load()
	if v == 0 || v>>roundAt == w.round {
		return nil
	}
	p, err := g.head(id)
	if err != nil {
		return err
	}
	if p.leaf && !p.packed(either) || p.sum() != uint32(v) {
		return damaged("page %d is not what was written", id)
	}
	word.Store(0)
	if v&isLowest != 0 {
		return nil
	}
	return p.each(func(below uint64) error { return w.drop(g, below) })
}

// each is told the pages that a page names.
func (p page) each(f func(below uint64) error) error {
	for i := range p.count {
		below := uint64(0)
		if !p.leaf {
			below = p.child(i)
		} else if p.bucket(i) {
			v := p.value(i)
			if len(v) < inlineSize {
				return damaged("a bucket of %d bytes", len(v))
			}
			below = order.Uint64(v)
		}
		if below == 0 {
			continue
		}
		if err := f(below); err != nil {
			return err
		}
	}
	return nil
}

// bucket says whether a leaf's element is one.
func (p page) bucket(i int) bool {
	_, e := p.elem(i)
	return order.Uint32(e)&bucketLeaf != 0
}
