package text

import (
	"cmp"
	"context"
	"log/slog"
	"sync"

	bleve "github.com/blevesearch/bleve_index_api"

	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/spread"
)

// Config configures an index.
type Config struct {
	// Dir is the directory of this index alone, created if absent. Without one everything stays in the tail: no
	// Bleve, no file, no goroutine. That is for few rows.
	Dir     string
	Cache   *Cache       // shared posting cache; nil is a private one of 16 MiB
	Backlog *Backlog     // shared bound of Ready; nil is a private one of 24 MiB
	Logger  *slog.Logger // nil: discards
	Keys    *seal.Ring   // encrypts the files; nil: they are plain
	Damaged func(error)  // called with damage that a search or a merge met; nil: not called
}

func (c Config) withDefaults() Config {
	if c.Cache == nil {
		c.Cache = NewCache(16 << 20)
	}
	if c.Backlog == nil {
		c.Backlog = NewBacklog(24 << 20)
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Damaged == nil {
		c.Damaged = func(error) {}
	}
	return c
}

// A Tag is the owner's name of a text. It is stored next to the row and given back by Restored.
type Tag struct {
	Number   uint64
	Revision uint32
}

// A Restored row is one that Open found alive on disk.
type Restored struct {
	Row, Length uint32
	Tag         Tag
}

// Restored returns the rows that Open found, in ascending order, once. next is above every row number that was ever
// used.
func (x *Index) Restored() (rows []Restored, next uint32) {
	x.mu.Lock()
	defer x.mu.Unlock()
	rows, x.restored = x.restored, nil
	for n := len(x.rows.pages) - 1; n >= 0 && next == 0; n-- {
		for i := pageRows - 1; x.rows.pages[n] != nil && i >= 0 && next == 0; i-- {
			if x.rows.pages[n].known[i] {
				next = uint32(n<<pageBits+i) + 1
			}
		}
	}
	return rows, next
}

// Analyse prepares texts for ApplyDocuments, some of them on several processors.
func Analyse(texts []string) []Document {
	docs := make([]Document, len(texts))
	spread.Over(len(texts), textsEach, func(from, to int) {
		a := analysers.Get().(*analyzer)
		defer a.giveBack()
		for i := from; i < to; i++ {
			docs[i] = a.document(texts[i])
		}
	})
	return docs
}

// textsEach is the number of texts for which a processor is woken.
const textsEach = 8

// An Index is the lexical side of one database. All methods are safe for concurrent use.
type Index struct {
	cfg      Config
	store    bleve.Index // nil: everything stays in the tail
	queue    *bleve.AnalysisQueue
	users    sync.WaitGroup // searches in flight
	tasks    sync.WaitGroup // the indexer
	wake     chan struct{}  // has room for one
	panicked chan struct{}  // has room for one: a goroutine of Bleve did, see onAsyncError
	marked   bool           // the marker file is there; only Bleve's persister uses it once Open has returned

	mu       sync.Mutex // guards what follows; never held over I/O or a call into Bleve but Reader
	changed  *sync.Cond // broadcast when the state that Sync waits for changes
	closed   bool
	err      error // the first failure of the indexer; the index keeps answering from memory
	rows     rowTable
	totals   Totals
	groups   map[uint32]*Totals
	restored []Restored // found by Open, until Restored hands them over
	infos    map[uint64]*segmentInfo
	snap     *snapshot
	progress
	tail
}

// progress tracks how far changes have come: applied to memory, given to Bleve, on disk. Index.mu guards it.
//
// Invariant: flushing <= seq, persisted <= seq.
type progress struct {
	seq       uint64 // number of the last change
	flushing  uint64 // the last change given to Bleve
	persisted uint64 // the last change on disk
	syncing   int    // Sync calls waiting
}

// tail holds the rows that Bleve does not have yet, and counts their bytes. Index.mu guards it.
type tail struct {
	open        *block
	sealed      []*block // oldest first
	tailBytes   int
	unstored    int    // bytes, counted as in the tail, of rows not on disk
	bytesAdded  uint64 // bytes that ever entered the tail
	bytesStored uint64 // of those, on disk
	released    bool   // the backlog no longer counts this index
}

// ApplyDocuments makes rows and deletions searchable before it returns, as one change. It never waits for Bleve: the
// caller calls Ready first, outside the path that must not stall. A row number seen before is ignored, as is the
// deletion of an unknown row, so applying a change again is safe.
func (x *Index) ApplyDocuments(add []Document, del []uint32) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return ErrClosed
	}
	x.open.seq = x.seq // should it be sealed in the middle
	x.seq++
	for _, d := range add {
		x.addLocked(d)
		if x.open.full() && x.store != nil {
			x.sealLocked()
		}
	}
	for _, row := range del {
		x.deleteLocked(row)
	}
	b := x.open
	b.seq = x.seq
	switch {
	case x.store == nil:
		return nil
	case b.full():
		x.sealLocked()
	}
	if len(x.sealed) > 0 || !b.empty() {
		x.wakeIndexer()
	}
	return nil
}

func (x *Index) addLocked(d Document) {
	if p, _ := x.rows.at(d.row); p != nil {
		return
	}
	x.rows.add(d.row, d.group, d.length)
	x.countLocked(d.group, d.length)
	x.changeLocked(func(b *block) { b.add(d) })
}

// changeLocked changes the open block.
func (x *Index) changeLocked(change func(*block)) {
	b := x.open
	before := b.bytes
	change(b)
	more := b.bytes - before
	x.bytesAdded += uint64(more)
	b.bytesAdded = x.bytesAdded
	x.countBytesLocked(more, more)
}

func (x *Index) countLocked(group uint32, length uint16) {
	g := x.groups[group]
	if g == nil {
		g = new(Totals)
		x.groups[group] = g
	}
	for _, t := range [...]*Totals{&x.totals, g} {
		t.Rows++
		t.Tokens += uint64(length)
	}
}

func (x *Index) deleteLocked(row uint32) {
	p, i := x.rows.at(row)
	if p == nil || p.died[i].Load() != 0 {
		return
	}
	p.died[i].Store(x.seq)
	x.rows.deaths++
	for _, t := range [...]*Totals{&x.totals, x.groups[p.group[i]]} {
		t.Rows--
		t.Tokens -= uint64(p.length[i])
	}
	x.changeLocked(func(b *block) { b.remove(row) })
}

// A Lag says how far Bleve is behind the searchable changes.
type Lag struct {
	Bytes    int    // about what the tail holds in memory
	Unsynced uint64 // changes not on disk
	Err      error  // why the indexer stopped, if it did
}

// Lag returns how far Bleve is behind.
func (x *Index) Lag() Lag {
	x.mu.Lock()
	defer x.mu.Unlock()
	l := Lag{Bytes: x.tailBytes, Err: x.err}
	if x.store != nil {
		l.Unsynced = x.seq - x.persisted
	}
	return l
}

// Totals returns the counts over live rows of the given groups, or of the whole
// database when there are none.
func (x *Index) Totals(groups ...uint32) Totals {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.totalsLocked(groups)
}

func (x *Index) totalsLocked(groups []uint32) Totals {
	if len(groups) == 0 {
		return x.totals
	}
	var sum Totals
	for _, g := range groups {
		if t := x.groups[g]; t != nil {
			sum.Rows += t.Rows
			sum.Tokens += t.Tokens
		}
	}
	return sum
}

// Sync waits until every change applied before the call is on disk. An index without a directory has nothing to wait
// for.
func (x *Index) Sync(ctx context.Context) error {
	if x.store == nil {
		return nil
	}
	x.mu.Lock()
	want := x.seq
	x.syncing++
	x.wakeIndexer()
	x.mu.Unlock()
	err := x.waitUntil(ctx, func() bool { return x.persisted >= want })
	x.mu.Lock()
	x.syncing--
	x.mu.Unlock()
	return err
}

// waitUntil waits under mu for a condition, the indexer's failure, Close or ctx.
func (x *Index) waitUntil(ctx context.Context, done func() bool) error {
	stop := context.AfterFunc(ctx, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.changed.Broadcast()
	})
	defer stop()
	x.mu.Lock()
	defer x.mu.Unlock()
	for !done() {
		switch {
		case x.closed:
			return ErrClosed
		case x.err != nil:
			return x.err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		x.changed.Wait()
	}
	return nil
}

func (x *Index) wakeIndexer() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Close stops the index after the searches in flight. It does not flush: the owner applies again what is not on disk
// yet. After Sync there is nothing to apply again.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.releaseLocked()
	x.changed.Broadcast()
	x.wakeIndexer()
	x.mu.Unlock()
	x.users.Wait()
	x.tasks.Wait()
	x.replaceSnapshot(nil)
	if x.store == nil {
		return nil
	}
	err := x.closeStore()
	x.queue.Close()
	return err
}
