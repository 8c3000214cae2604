package index

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
)

// Config says where an index finds what it follows, and where it may keep what it derives.
type Config struct {
	Dir    string // of this index alone; emptied at Open
	State  *oplog.State
	Logger *slog.Logger // discards
}

// Index holds the index of every database.
type Index struct {
	cfg   Config
	cache *text.Cache

	mu  sync.RWMutex
	dbs map[oplog.DB]*database
	gen int // counts rebuilds: each has directories of its own
}

// postingCache bounds the decoded postings kept over all databases.
const postingCache = 128 << 20

// Open builds the index from the state as it is. It returns the place in the log from which to Follow on.
func Open(ctx context.Context, cfg Config) (*Index, oplog.Index, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if err := os.RemoveAll(cfg.Dir); err != nil {
		return nil, 0, fmt.Errorf("index: %w", err)
	}
	x := &Index{cfg: cfg, cache: text.NewCache(postingCache)}
	at, err := x.Rebuild(ctx)
	return x, at, err
}

// rebuildStep is how many memories are read at one view: Apply goes on between them.
const rebuildStep = 1000

// Rebuild throws away what the index holds and reads the state again, as after a restored snapshot.
// Searches see the old rows until it is done.
func (x *Index) Rebuild(ctx context.Context) (at oplog.Index, err error) {
	x.mu.Lock()
	x.gen++
	gen := x.gen
	x.mu.Unlock()
	dbs := map[oplog.DB]*database{}
	err = x.cfg.State.Read(func(v *oplog.View) error {
		at = v.Index()
		for _, d := range v.Databases() {
			db, err := x.load(ctx, v, d.ID, gen)
			if err != nil {
				return err
			}
			dbs[d.ID] = db
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, fmt.Errorf("rebuild index: %w", err)
	}
	x.mu.Lock()
	old := x.dbs
	x.dbs = dbs
	x.mu.Unlock()
	for _, d := range old {
		d.drop()
	}
	return at, nil
}

func (x *Index) load(ctx context.Context, v *oplog.View, id oplog.DB, gen int) (*database, error) {
	db, err := x.open(id, gen)
	if err != nil {
		return nil, err
	}
	var page []change
	var total, stored int
	flush := func() error {
		if len(page) == 0 {
			return nil
		}
		total += len(page)
		err := db.put(ctx, page)
		page = page[:0]
		if stored += 1; err == nil && total%50_000 == 0 {
			x.cfg.Logger.Info("building the index", "database", id, "memories", total)
		}
		return err
	}
	v.Memories(id, 0, func(m *oplog.Memory) bool {
		if page = append(page, change{m, v.Vector(id, m.Seq)}); len(page) == rebuildStep {
			err = flush()
		}
		return err == nil && ctx.Err() == nil
	})
	if err == nil {
		err = flush()
	}
	return db, err
}

func (x *Index) open(id oplog.DB, gen int) (*database, error) {
	dir := filepath.Join(x.cfg.Dir, strconv.Itoa(int(id))+"-"+strconv.Itoa(gen), "text")
	words, err := text.Open(text.Config{Dir: dir, Cache: x.cache, Logger: x.cfg.Logger})
	if err != nil {
		return nil, fmt.Errorf("database %d: %w", id, err)
	}
	return newDatabase(dir, words), nil
}

// Close lets go of the files.
func (x *Index) Close() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, d := range x.dbs {
		d.words.Close()
	}
	x.dbs = nil
	return nil
}

// Follow takes the outcomes of applied entries, in log order, from one goroutine. What it read of the state
// may be ahead of an outcome: then it does a later one's work, which finds nothing left to do.
func (x *Index) Follow(ctx context.Context, batch []oplog.Outcome) error {
	touched := map[oplog.DB]map[string]struct{}{}
	dropped := false
	for _, o := range batch {
		if o.Err != nil || o.Replayed {
			continue
		}
		for i, op := range o.Entry.Ops {
			if _, ok := op.(*oplog.DropDB); ok {
				dropped = true
			}
			for _, rid := range append(rows(op), o.Results[i].Rows...) {
				if touched[o.Entry.DB] == nil {
					touched[o.Entry.DB] = map[string]struct{}{}
				}
				touched[o.Entry.DB][rid] = struct{}{}
			}
		}
	}
	if len(touched) == 0 && !dropped {
		return nil
	}
	return x.cfg.State.Read(func(v *oplog.View) error {
		if dropped {
			x.forget(v)
		}
		for id, rids := range touched {
			if err := x.refresh(ctx, v, id, rids); err != nil {
				return err
			}
		}
		return nil
	})
}

// rows are the memories an operation touches.
func rows(op oplog.Op) []string {
	switch op := op.(type) {
	case *oplog.Remember:
		return []string{op.RID}
	case *oplog.Correct:
		return []string{op.RID}
	case *oplog.Forget:
		return []string{op.RID}
	case *oplog.Foreign:
		var out []string
		if op.Stored != nil {
			out = append(out, op.Stored.RID)
		}
		if op.Forgot != nil {
			out = append(out, op.Forgot.RID)
		}
		return out
	case *oplog.Reinforce:
		out := make([]string, len(op.Hits))
		for i, h := range op.Hits {
			out[i] = h.RID
		}
		return out
	}
	return nil
}

func (x *Index) refresh(ctx context.Context, v *oplog.View, id oplog.DB, rids map[string]struct{}) error {
	if _, ok := v.Database(id); !ok {
		return nil
	}
	db := x.database(id)
	if db == nil {
		var err error
		if db, err = x.open(id, x.gen); err != nil {
			return err
		}
		x.mu.Lock()
		x.dbs[id] = db
		x.mu.Unlock()
	}
	changes := make([]change, 0, len(rids))
	for rid := range rids {
		if m, ok := v.Memory(id, rid); ok {
			changes = append(changes, change{m, v.Vector(id, m.Seq)})
		}
	}
	sortChanges(changes)
	return db.put(ctx, changes)
}

// forget lets go of databases that are gone.
func (x *Index) forget(v *oplog.View) {
	x.mu.Lock()
	var gone []*database
	for id, d := range x.dbs {
		if _, ok := v.Database(id); !ok {
			gone = append(gone, d)
			delete(x.dbs, id)
		}
	}
	x.mu.Unlock()
	for _, d := range gone {
		d.drop()
	}
}

func (x *Index) database(db oplog.DB) *database {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.dbs[db]
}
