package index

import (
	"context"
	"fmt"
	"log/slog"
	"sync"

	"github.com/cairndb/cairn/oplog"
)

// Config says where an index finds what it follows.
type Config struct {
	State  *oplog.State
	Logger *slog.Logger // discards
}

// Index holds the index of every database.
type Index struct {
	cfg Config

	mu  sync.RWMutex
	dbs map[oplog.DB]*database
}

// Open builds the index from the state as it is. It returns the place in the log from which to Follow on.
func Open(ctx context.Context, cfg Config) (*Index, oplog.Index, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	x := &Index{cfg: cfg}
	at, err := x.Rebuild(ctx)
	return x, at, err
}

// Rebuild throws away what the index holds and reads the state again, as after a restored snapshot.
// Searches see the old rows until it is done.
func (x *Index) Rebuild(ctx context.Context) (at oplog.Index, err error) {
	dbs := map[oplog.DB]*database{}
	err = x.cfg.State.Read(func(v *oplog.View) error {
		at = v.Index()
		for _, d := range v.Databases() {
			db := newDatabase()
			dbs[d.ID] = db
			v.Memories(d.ID, 0, func(m *oplog.Memory) bool {
				db.put(m, v.Vector(d.ID, m.Seq))
				return ctx.Err() == nil
			})
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, fmt.Errorf("rebuild index: %w", err)
	}
	x.mu.Lock()
	x.dbs = dbs
	x.mu.Unlock()
	return at, nil
}

// Follow takes the outcomes of applied entries, in log order, from one goroutine.
func (x *Index) Follow(batch []oplog.Outcome) error {
	if len(batch) == 0 {
		return nil
	}
	return x.cfg.State.Read(func(v *oplog.View) error {
		for _, o := range batch {
			if o.Err != nil || o.Replayed {
				continue
			}
			for _, op := range o.Entry.Ops {
				x.take(v, o.Entry.DB, op)
			}
		}
		return nil
	})
}

// take brings the rows an operation touched up to date. It reads them from the state, which may be ahead:
// then it does the later operation's work, and that finds nothing left to do.
func (x *Index) take(v *oplog.View, db oplog.DB, op oplog.Op) {
	switch op := op.(type) {
	case *oplog.DropDB:
		x.mu.Lock()
		for id := range x.dbs {
			if _, ok := v.Database(id); !ok {
				delete(x.dbs, id)
			}
		}
		x.mu.Unlock()
		return
	case *oplog.Foreign:
		if op.Stored != nil {
			x.refresh(v, db, op.Stored.RID)
		}
		if op.Forgot != nil {
			x.refresh(v, db, op.Forgot.RID)
		}
	case *oplog.Remember:
		x.refresh(v, db, op.RID)
	case *oplog.Correct:
		x.refresh(v, db, op.RID)
	case *oplog.Forget:
		x.refresh(v, db, op.RID)
	case *oplog.Reinforce:
		for _, h := range op.Hits {
			x.refresh(v, db, h.RID)
		}
	}
}

func (x *Index) refresh(v *oplog.View, db oplog.DB, rid string) {
	m, ok := v.Memory(db, rid)
	if !ok {
		return
	}
	x.mu.Lock()
	d, ok := x.dbs[db]
	if !ok {
		d = newDatabase()
		x.dbs[db] = d
	}
	x.mu.Unlock()
	d.put(m, v.Vector(db, m.Seq))
}

func (x *Index) database(db oplog.DB) *database {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.dbs[db]
}
