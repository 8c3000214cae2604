package text

import (
	"cmp"
	"context"
	"log/slog"
	"runtime"
	"sync"

	bleve "github.com/blevesearch/bleve_index_api"
)

// Config says where an index lives and how it scores. Dir empty keeps it in
// memory, which is for tests: such an index never merges.
type Config struct {
	Dir      string       // directory of this index alone, created if absent
	Params   Params       // the defaults of Params
	Cache    *Cache       // shared posting cache; nil is a private one of 16 MiB
	MaxTail  int          // 32768: rows not yet in Bleve above which Ready waits
	MaxBytes int          // 128 MiB: the same bound in bytes
	Logger   *slog.Logger // discards
}

func (c Config) withDefaults() Config {
	c.Params = c.Params.withDefaults()
	if c.Cache == nil {
		c.Cache = NewCache(16 << 20)
	}
	c.MaxTail = cmp.Or(c.MaxTail, 32768)
	c.MaxBytes = cmp.Or(c.MaxBytes, 128<<20)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	return c
}

// A Row is one text to index. Row numbers are dense, ascend in the order of
// changes, and are never used twice: a changed text is a new row and a deleted old one.
type Row struct {
	Row   uint32
	Group uint32 // small interned number of the namespace
	Text  string
}

// An Index is the lexical side of one database. All methods are safe for concurrent use.
type Index struct {
	cfg    Config
	store  bleve.Index
	queue  *bleve.AnalysisQueue
	users  sync.WaitGroup // searches in flight
	tasks  sync.WaitGroup // the indexer
	wake   chan struct{}  // has room for one
	accs   sync.Pool      // of *accumulator
	marked bool           // Bleve's persister alone uses it once Open has returned

	mu        sync.Mutex // guards what follows; never held over I/O or a call into Bleve but Reader
	changed   *sync.Cond // something Ready or Sync waits for happened
	closed    bool
	err       error // the first failure of the indexer; the index keeps answering from memory
	rows      rowTable
	totals    Totals
	groups    map[uint32]*Totals
	seq       uint64 // number of the last change
	applied   uint64 // highest applied index seen
	persisted uint64 // sequence that is on disk
	watermark uint64 // applied index that is on disk
	flushing  uint64 // sequence given to Bleve
	syncing   int    // Sync calls waiting
	open      *block
	sealed    []*block // oldest first
	tailRows  int
	tailBytes int
	added     uint64 // rows taken since Open
	stored    uint64 // of those, on disk
	infos     map[uint64]*segmentInfo
	snap      *snapshot
}

// Apply makes rows and deletions of one log index searchable before it returns,
// as one change. It never waits for Bleve; who feeds rows calls Ready before, outside the
// path that must not stall. A row number seen before is ignored, as is the
// deletion of an unknown row, so that replaying a log from the watermark is
// harmless. applied 0 leaves the watermark where it is: a rebuild passes it
// until its last call.
func (x *Index) Apply(applied uint64, add []Row, del []uint32) error {
	docs := analyseAll(add)
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed {
		return ErrClosed
	}
	x.seq++
	x.applied = max(x.applied, applied)
	b := x.open
	for _, d := range docs {
		x.addLocked(b, d)
	}
	for _, row := range del {
		x.deleteLocked(b, row)
	}
	b.applied, b.seq, b.added = x.applied, x.seq, x.added
	if len(b.docs) >= blockRows {
		x.sealLocked()
	}
	if len(x.sealed) > 0 || !b.empty() {
		x.poke()
	}
	return nil
}

func (x *Index) addLocked(b *block, d document) {
	if p, _ := x.rows.at(d.row); p != nil {
		return
	}
	x.rows.add(d.row, d.group, d.length)
	x.countLocked(d.group, d.length)
	bytes := b.bytes
	b.add(d)
	x.tailRows++
	x.added++
	x.tailBytes += b.bytes - bytes
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

func (x *Index) deleteLocked(b *block, row uint32) {
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
	b.deletes = append(b.deletes, row)
}

// analyseAll analyses rows, many of them on several cores.
func analyseAll(rows []Row) []document {
	docs := make([]document, len(rows))
	workers := min(runtime.GOMAXPROCS(0), len(rows)/32)
	if workers <= 1 {
		for i, r := range rows {
			docs[i] = analyse(r)
		}
		return docs
	}
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < len(rows); i += workers {
				docs[i] = analyse(rows[i])
			}
		})
	}
	wg.Wait()
	return docs
}

// Applied returns the highest applied index that searches reflect.
func (x *Index) Applied() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.applied
}

// Watermark returns the applied index up to which every change is on disk.
// After Open, what came later must be applied again.
func (x *Index) Watermark() uint64 {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.watermark
}

// A Lag says how far Bleve is behind what is searchable.
type Lag struct {
	Rows     int    // rows in the tail
	Bytes    int    // about what the tail holds in memory
	Unsynced uint64 // changes not on disk
	Err      error  // why the indexer stopped, if it did
}

// Lag returns how far Bleve is behind.
func (x *Index) Lag() Lag {
	x.mu.Lock()
	defer x.mu.Unlock()
	return Lag{Rows: x.tailRows, Bytes: x.tailBytes, Unsynced: x.seq - x.persisted, Err: x.err}
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

// Ready waits until the tail is within its bound, and what Bleve holds in memory
// because it cannot write within eight times that. Callers of Apply call it
// first, where waiting is allowed; a caller that does not is never refused.
func (x *Index) Ready(ctx context.Context) error {
	return x.await(ctx, func() bool {
		return x.tailRows < x.cfg.MaxTail && x.tailBytes < x.cfg.MaxBytes && x.added-x.stored < uint64(8*x.cfg.MaxTail)
	})
}

// Sync waits until every change applied before the call is on disk.
func (x *Index) Sync(ctx context.Context) error {
	x.mu.Lock()
	want := x.seq
	x.syncing++
	x.poke()
	x.mu.Unlock()
	err := x.await(ctx, func() bool { return x.persisted >= want })
	x.mu.Lock()
	x.syncing--
	x.mu.Unlock()
	return err
}

// await waits under mu for a condition, the indexer's failure, Close or ctx.
func (x *Index) await(ctx context.Context, done func() bool) error {
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

func (x *Index) poke() {
	select {
	case x.wake <- struct{}{}:
	default:
	}
}

// Close stops the index after the searches in flight. It does not flush:
// what is not on disk yet is what replay from Watermark restores. Call Sync
// first to have nothing to replay.
func (x *Index) Close() error {
	x.mu.Lock()
	if x.closed {
		x.mu.Unlock()
		return nil
	}
	x.closed = true
	x.changed.Broadcast()
	x.poke()
	x.mu.Unlock()
	x.users.Wait()
	x.tasks.Wait()
	x.install(nil)
	err := x.store.Close()
	x.queue.Close()
	return err
}
