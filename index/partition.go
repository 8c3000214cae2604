package index

import (
	"context"

	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// repartition divides the vectors of a database by the partitions that the state has for them, and reports whether
// these are new. If so, a checkpoint is due: without it each start assigns all rows again, some seconds for a
// million. Only put's goroutine calls it, or the one that opens the index.
func (d *database) repartition(v *state.View, id oplog.DB) (changed bool) {
	d.partition = nil
	if p := v.Partitions(id); len(p.Centroids) > 0 && p.Epoch == d.epoch {
		d.partition = &vector.Partition{Rows: int(p.Rows), Groups: cast[int8](p.Groups), Centroids: cast[int8](p.Centroids), Slack: int(p.Slack)}
	}
	if store := d.vectors.Load(); store != nil {
		before := store.Division()
		if zero := (vector.Assignment{}).Sum; d.assigned.Sum != zero {
			before = d.assigned.Sum
		}
		store.Partition(d.partition, d.assigned)
		if changed = store.Division() != before; changed {
			d.version.Add(1)
		}
	}
	d.assigned = vector.Assignment{}
	return changed
}

// repartitions reports whether an operation changes how vectors are divided.
func repartitions(op oplog.Op) bool {
	switch op.(type) {
	case *oplog.Partition, *oplog.Purge, *oplog.Rebind:
		return true
	}
	return false
}

// Learn learns partitions for the vectors of a database when that is due: the database has many vectors, and has no
// partitions yet or twice as many vectors as it had for them. Otherwise it returns nil. It uses a processor for some
// seconds.
func (x *Index) Learn(ctx context.Context, db oplog.DB) (*oplog.Partition, error) {
	due := uint64(vector.PartitionedRows)
	var memories uint64
	if err := x.cfg.State.Read(func(v *state.View) error {
		if memories = v.Stats(db).NextSeq; memories >= due {
			due = max(due, 2*v.Partitions(db).Rows)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if memories < due {
		return nil, nil // its index stays closed if it is
	}
	if n, _ := x.WithVectors(db); uint64(n) < due {
		return nil, nil
	}
	d, err := x.acquire(db)
	if d == nil || err != nil {
		return nil, err
	}
	defer d.release()
	x.following.Lock()
	at, epoch, store := x.checkpoints.at, d.epoch, d.vectors.Load()
	x.following.Unlock()
	if store == nil {
		return nil, nil
	}
	p := store.Learn(ctx)
	if p == nil {
		return nil, ctx.Err()
	}
	return &oplog.Partition{At: at, Partitions: oplog.Partitions{Epoch: epoch, Dim: uint32(store.Dim()), Rows: uint64(p.Rows),
		Groups: cast[byte](p.Groups), Centroids: cast[byte](p.Centroids), Slack: uint32(p.Slack)}}, nil
}

// cast converts between bytes and int8s with the same bits.
func cast[To, From byte | int8](from []From) []To {
	out := make([]To, len(from))
	for i, x := range from {
		out[i] = To(x)
	}
	return out
}
