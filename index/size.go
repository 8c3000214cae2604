package index

import "github.com/cairndb/cairn/oplog"

// A Size is the memory that a database's index holds.
type Size struct {
	Rows    int // what scoring reads, the dead among them
	Vectors int
}

// Size returns the size of a database's index; zero if it is not open.
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

// WithVectors returns how many memories of a database are not forgotten, and how many of them have a vector of its
// embedder.
func (x *Index) WithVectors(db oplog.DB) (withVector, total int) {
	x.mu.RLock()
	c, ok := x.counted[db]
	x.mu.RUnlock()
	if ok {
		return c.Have, c.Of
	}
	d, err := x.acquire(db)
	if d == nil || err != nil {
		return 0, 0
	}
	defer d.release()
	c = d.withVectors()
	return c.Have, c.Of
}

// A vectorCount says how many memories are not forgotten, and how many of them have a vector.
type vectorCount struct {
	Have int `json:"have"`
	Of   int `json:"of"`
}

func (d *database) withVectors() (c vectorCount) {
	c.Of = int(d.words.Totals().Rows)
	if v := d.vectors.Load(); v != nil {
		c.Have = min(v.Len(), c.Of) // a row that is being added has its vector first
	}
	return c
}

// changesEmbedder reports whether an operation changes a database's embedder or its vectors.
func changesEmbedder(op oplog.Op) bool {
	switch op.(type) {
	case *oplog.SetEmbedder, *oplog.Rebind, *oplog.Embed:
		return true
	}
	return false
}

// countPassed counts the memories that entries defer to a closed index. A change of an old memory may change the
// count either way: then the count is forgotten, and the next caller of WithVectors opens the index. mu of the index
// is held.
func (x *Index) countPassed(id oplog.DB, list memories) {
	c, ok := x.counted[id]
	if !ok {
		return
	}
	for _, b := range list {
		if b.Memory == nil {
			delete(x.counted, id)
			return
		}
		c.Of++
		if len(b.Vector) > 0 && b.Epoch == x.parked[id].Epoch {
			c.Have++
		}
	}
	x.counted[id] = c
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
