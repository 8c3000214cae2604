package index

import (
	"errors"

	"github.com/cairndb/cairn/oplog"
)

// A Size is the memory that a database's index holds.
type Size struct {
	Rows    int // what scoring reads, the dead among them
	Vectors int
}

// Size says how large a database's index is; zero for one that is not open.
func (x *Index) Size(db oplog.DB) (s Size) {
	d := x.database(db)
	if d == nil {
		return s
	}
	s.Rows = int(d.cols.view().n)
	if v := d.vectors.Load(); v != nil {
		s.Vectors = v.Len()
	}
	return s
}

// WithVectors says how many memories of a database are not forgotten, and how many of them have a vector of its embedder.
func (x *Index) WithVectors(db oplog.DB) (have, of int) {
	x.mu.RLock()
	c, ok := x.counted[db]
	x.mu.RUnlock()
	if ok {
		return c.have, c.of
	}
	d, err := x.acquire(db)
	if d == nil || err != nil {
		return 0, 0
	}
	defer d.release()
	return d.withVectors()
}

// vectorCount is what withVectors says.
type vectorCount struct{ have, of int }

func (d *database) withVectors() (have, of int) {
	of = int(d.words.Totals().Rows)
	if v := d.vectors.Load(); v != nil {
		have = min(v.Len(), of) // a row that is being added has its vector first
	}
	return have, of
}

// NextWithoutVector finds the first memory at or after a sequence number that has no vector.
func (x *Index) NextWithoutVector(db oplog.DB, from oplog.Seq) (seq oplog.Seq, ok bool) {
	d, err := x.acquire(db)
	if d == nil || err != nil {
		return 0, false
	}
	defer d.release()
	store := d.vectors.Load()
	for top := oplog.Seq(d.bySeq.top.Load()); from <= top; from++ {
		if row := d.bySeq.get(from); row != 0 && (store == nil || !store.Has(row-1)) {
			return from, true
		}
	}
	return 0, false
}

// A Lag says how much of what searches find is not on disk yet, over all databases. A restart analyses that much again.
type Lag struct {
	Rows, Bytes int
	Unsynced    uint64 // changes
	Err         error  // why writing stopped, if it did: answers stay right, the next Open rebuilds
}

// Lag returns how far the disk is behind.
func (x *Index) Lag() (sum Lag) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, d := range x.dbs {
		l := d.words.Lag()
		sum.Rows, sum.Bytes, sum.Unsynced = sum.Rows+l.Rows, sum.Bytes+l.Bytes, sum.Unsynced+l.Unsynced
		sum.Err = errors.Join(sum.Err, l.Err)
	}
	return sum
}
