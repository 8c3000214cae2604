package state

import (
	"encoding/binary"
	"math"

	"github.com/cairndb/cairn/oplog"
)

func applyRebind(a *applying, op *oplog.Rebind) (oplog.Result, *oplog.Error) {
	d, err := a.database()
	if err != nil {
		return oplog.Result{}, err
	}
	e, now := op.Embedder, a.embedding(a.db)
	switch {
	case e.Name == "" || e.Dim == 0:
		return oplog.Result{}, oplog.Errorf(oplog.Invalid, "an embedder needs a name and a dimension")
	case d.Embedder == nil:
		return oplog.Result{}, oplog.Errorf(oplog.Conflict, "database %s is not embedded by a node: its vectors are its clients'", d.Name)
	case *d.Embedder == e:
		return oplog.Result{ID: e.Name}, nil
	case now.Next != 0:
		return oplog.Result{}, oplog.Errorf(oplog.Conflict, "database %s is being embedded by %s", d.Name, d.Embedder)
	}
	d.Embedder, d.Dim = &e, e.Dim
	a.setDatabase(d)
	a.dropPartitions()
	next := oplog.Embedding{Epoch: now.Epoch + 1}
	if last := oplog.Seq(a.stats.NextSeq); last > 0 {
		next.Next, next.Last = 1, last
	}
	a.setEmbedding(next)
	return oplog.Result{ID: e.Name, Num: uint64(next.Last), Changed: true}, nil
}

func applyEmbed(a *applying, op *oplog.Embed) (oplog.Result, *oplog.Error) {
	d, err := a.database()
	if err != nil {
		return oplog.Result{}, err
	}
	if d.Embedder == nil || *d.Embedder != op.Embedder {
		return oplog.Result{}, oplog.Errorf(oplog.Conflict, "database %s is embedded by %s, not by %s", d.Name, d.Embedder, &op.Embedder)
	}
	var r oplog.Result
	for _, v := range op.Vectors {
		if uint32(len(v.Vector)/4) != d.Dim {
			return oplog.Result{}, oplog.Errorf(oplog.Invalid, "embedding has %d dimensions, database %s has %d", len(v.Vector)/4, d.Name, d.Dim)
		}
		key := seqKey(v.Seq)
		m, ok := a.memoryAt(v.Seq)
		if !ok || m.Status == oplog.Tombstoned || m.Revision != v.Revision || a.get(a.vectors(a.db), a.db, key) != nil {
			continue
		}
		a.put(a.vectors(a.db), a.db, key, v.Vector)
		r.Num++
		r.Rows = append(r.Rows, m.RID)
	}
	now := a.embedding(a.db)
	if now.Next != 0 && op.From == now.Next && op.Next > op.From && op.Next-op.From <= embedStep {
		for seq := op.From; seq < op.Next; seq++ {
			a.del(a.former(a.db), a.db, seqKey(seq))
		}
		if now.Next = op.Next; now.Next > now.Last {
			now.Next, now.Last = 0, 0
		}
		a.setEmbedding(now)
	}
	r.Changed = true
	return r, nil
}

func applySetEmbedder(a *applying, op *oplog.SetEmbedder) (oplog.Result, *oplog.Error) {
	d, err := a.database()
	if err != nil {
		return oplog.Result{}, err
	}
	e := op.Embedder
	if e.Name == "" || e.Dim == 0 {
		return oplog.Result{}, oplog.Errorf(oplog.Invalid, "an embedder needs a name and a dimension")
	}
	if d.Embedder != nil {
		if *d.Embedder != e {
			return oplog.Result{}, oplog.Errorf(oplog.Conflict, "database %s is embedded by %s, not by %s", d.Name, d.Embedder, &e)
		}
		return oplog.Result{ID: e.Name}, nil
	}
	if d.Dim != 0 && d.Dim != e.Dim {
		return oplog.Result{}, oplog.Errorf(oplog.Conflict, "database %s has vectors of %d dimensions, not those of %s", d.Name, d.Dim, &e)
	}
	d.Embedder, d.Dim = &e, e.Dim
	a.setDatabase(d)
	return oplog.Result{ID: e.Name, Changed: true}, nil
}

// embedStep bounds what one Embed looks at.
const embedStep = 5000

var keySelf = []byte("self")

// embedding reads how a database stands.
func (t *txn) embedding(db oplog.DB) oplog.Embedding {
	e, _ := read[oplog.Embedding](t, tEmbedding, db, keySelf)
	return e
}

// vectors is the table of a database's vectors.
func (t *txn) vectors(db oplog.DB) tableID {
	if t.epoch(db)%2 == 1 {
		return tVectorOdd
	}
	return tVector
}

// epoch is that of the embedder whose vectors a database has.
func (t *txn) epoch(db oplog.DB) uint32 {
	epoch, ok := t.epochs[db]
	if !ok {
		epoch = t.embedding(db).Epoch
		if t.epochs == nil {
			t.epochs = map[oplog.DB]uint32{}
		}
		t.epochs[db] = epoch
	}
	return epoch
}

// former is the table of the vectors that are not the database's any more.
func (t *txn) former(db oplog.DB) tableID { return tVector + tVectorOdd - t.vectors(db) }

func (a *applying) setEmbedding(e oplog.Embedding) {
	write(a.txn, tEmbedding, a.db, keySelf, &e)
	delete(a.epochs, a.db)
}

// Floats unpacks a record's vector into dst, which is grown when it is too short; nil when there is none. Many are read the
// fastest in the order of their numbers.
func (v *View) Floats(db oplog.DB, seq oplog.Seq, dst []float32) []float32 {
	table := v.vectors(db)
	raw, _, err := v.snap.Peek(v.key(table, db, seqKey(seq)))
	if err != nil {
		failDisk(table, db, err)
	}
	n := len(raw) / 4
	if n == 0 {
		return nil
	}
	if cap(dst) < n {
		dst = make([]float32, n)
	}
	dst = dst[:n]
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return dst
}

// Embedding says how a database stands with its embedders.
func (v *View) Embedding(db oplog.DB) oplog.Embedding { return v.embedding(db) }

// Unembedded looks at up to look memories from a sequence number on and returns those without a vector that are not
// forgotten, limit at most, and the first that it did not look at; 0 when there are no more.
func (v *View) Unembedded(db oplog.DB, from oplog.Seq, limit, look int) (list []*oplog.Memory, next oplog.Seq) {
	table := v.vectors(db)
	v.scanFrom(tMemory, db, seqKey(from), func(k, val []byte) bool {
		seq := oplog.Seq(beUint64(k))
		if len(list) == limit || look == 0 {
			next = seq
			return false
		}
		look--
		if v.get(table, db, k) == nil {
			if m := decode[oplog.Memory](val); m.Status != oplog.Tombstoned {
				list = append(list, &m)
			}
		}
		return true
	})
	return list, next
}

// Vector is a record's; nil when it has none.
func (v *View) Vector(db oplog.DB, seq oplog.Seq) oplog.Vector {
	return v.get(v.vectors(db), db, seqKey(seq))
}
