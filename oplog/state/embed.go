package state

import (
	"encoding/binary"
	"math"

	"github.com/cairndb/cairn/oplog"
)

func applyRebind(a *entryTxn, op *oplog.Rebind) oplog.Result {
	d := a.database()
	e, now, last := op.Embedder, a.Embedding(a.db), oplog.Seq(a.stats.NextSeq)
	rejectIf(!e.Valid(), errEmbedder)
	rejectf(d.Embedder == nil, oplog.Conflict, "no node embeds database %s: its clients bring their vectors", d.Name)
	switch pending := now.Pending; {
	case pending != nil && *pending == e, pending == nil && *d.Embedder == e:
		return oplog.Result{ID: e.Name}
	case pending != nil && *d.Embedder == e:
		now.Pending, now.Last = nil, now.Next-1 // the vectors made so far are removed
		now.Changes++
		if now.Next = min(now.Last, 1); now.Next == 0 {
			now.Last = 0
		}
		a.setEmbedding(now)
	case pending != nil:
		reject(oplog.Errorf(oplog.Conflict, "database %s is being embedded by %s: wait until that is done, or end it", d.Name, pending))
	case now.Next != 0:
		reject(oplog.Errorf(oplog.Conflict, "vectors of the former embedder of database %s are still being removed: retry later", d.Name))
	case d.Dim == 0, last == 0, e == oplog.NoEmbedder: // there are no vectors to keep, or none are wanted
		now.Changes++
		a.switchEmbedder(d, e, now)
	default:
		now.Pending, now.Next, now.Last = &e, 1, 0
		now.Changes++
		a.setEmbedding(now)
	}
	return oplog.Result{ID: e.Name, Num: uint64(last), Changed: true}
}

// switchEmbedder makes another embedder's vectors the database's. Later Embed operations remove the old vectors.
func (a *entryTxn) switchEmbedder(d oplog.Database, e oplog.Embedder, now oplog.Embedding) {
	d.Embedder, d.Dim = &e, e.Dim
	a.setDatabase(d)
	a.dropPartitions()
	now.Epoch++
	now.Pending, now.Next, now.Last = nil, 0, oplog.Seq(a.stats.NextSeq)
	if now.Last > 0 {
		now.Next = 1
	}
	a.setEmbedding(now)
}

func applyEmbed(a *entryTxn, op *oplog.Embed) oplog.Result {
	d := a.database()
	now := a.Embedding(a.db)
	table, dim := a.vectors(a.db), d.Dim
	pending := now.Pending != nil && *now.Pending == op.Embedder
	if pending {
		table, dim = a.otherVectors(a.db), now.Pending.Dim
	}
	rejectf(!pending && (d.Embedder == nil || *d.Embedder != op.Embedder), oplog.Conflict,
		"database %s is embedded by %s, not by %s", d.Name, d.Embedder, &op.Embedder)
	var r oplog.Result
	for _, v := range op.Vectors {
		checkDim(v.Vector, dim, d.Name)
		key := seqKey(v.Seq)
		m, ok := a.memoryAt(v.Seq)
		if !ok || m.Status == oplog.Tombstoned || !m.Indexed() || m.Revision != v.Revision || a.exists(table, a.db, key) {
			continue
		}
		a.put(table, a.db, key, v.Vector)
		r.Num++
		r.Rows = append(r.Rows, m.RID)
	}
	if (pending || now.Pending == nil) && now.Next != 0 && op.From == now.Next && op.Next > op.From && op.Next-op.From <= embedStep {
		a.embeddedUpTo(d, now, op.Next)
	}
	r.Changed = true
	return r
}

// embeddedUpTo notes that all memories before next are done: they have a vector of the pending embedder, or, after
// the change, no longer have one of the former.
func (a *entryTxn) embeddedUpTo(d oplog.Database, now oplog.Embedding, next oplog.Seq) {
	if now.Pending != nil {
		if now.Next = next; now.Next > oplog.Seq(a.stats.NextSeq) {
			a.switchEmbedder(d, *now.Pending, now)
			return
		}
		a.setEmbedding(now)
		return
	}
	for seq := now.Next; seq < min(next, now.Last+1); seq++ {
		a.del(a.otherVectors(a.db), a.db, seqKey(seq))
	}
	if now.Next = next; now.Next > now.Last {
		now.Next, now.Last = 0, 0
	}
	a.setEmbedding(now)
}

func applySetEmbedder(a *entryTxn, op *oplog.SetEmbedder) oplog.Result {
	d := a.database()
	e := op.Embedder
	rejectIf(!e.Valid(), errEmbedder)
	if d.Embedder != nil {
		rejectf(*d.Embedder != e, oplog.Conflict, "database %s is embedded by %s, not by %s", d.Name, d.Embedder, &e)
		return oplog.Result{ID: e.Name}
	}
	rejectf(d.Dim != 0 && d.Dim != e.Dim, oplog.Conflict, "database %s has vectors of %d dimensions, not those of %s", d.Name, d.Dim, &e)
	d.Embedder, d.Dim = &e, e.Dim
	a.setDatabase(d)
	return oplog.Result{ID: e.Name, Changed: true}
}

// fitVector rejects a client's vector whose dimension is not the database's. The first vector of a database decides it.
func (a *entryTxn) fitVector(v oplog.Vector) {
	d := a.database()
	if d.Dim == 0 {
		d.Dim = uint32(len(v) / 4)
		a.setDatabase(d)
	}
	checkDim(v, d.Dim, d.Name)
}

// checkDim rejects a vector whose dimension is not dim.
func checkDim(v oplog.Vector, dim uint32, database string) {
	if n := len(v) / 4; uint32(n) != dim {
		reject(oplog.Errorf(oplog.Invalid, "embedding has %d dimensions, database %s has %d", n, database, dim))
	}
}

var errEmbedder = oplog.Errorf(oplog.Invalid, "an embedder needs a name and a dimension of up to %d", oplog.MaxDim)

// embedStep bounds the memories that one Embed covers.
const embedStep = 5000

var keySelf = []byte("self")

// Embedding returns the state of a database's change of embedders.
func (t *txn) Embedding(db oplog.DB) oplog.Embedding {
	e, ok := t.embeddings[db]
	if !ok {
		e = load[oplog.Embedding](t, tEmbedding, db, keySelf)
		t.embeddings[db] = e
	}
	return e
}

// vectors returns the table of a database's vectors.
func (t *txn) vectors(db oplog.DB) tableID {
	if t.Embedding(db).Epoch%2 == 1 {
		return tVectorOdd
	}
	return tVector
}

// otherVectors returns the table of the pending or the former embedder's vectors.
func (t *txn) otherVectors(db oplog.DB) tableID { return tVector + tVectorOdd - t.vectors(db) }

// vectorsOf returns the table of the pending embedder's vectors, or of the current ones.
func (t *txn) vectorsOf(db oplog.DB, pending bool) tableID {
	if pending {
		return t.otherVectors(db)
	}
	return t.vectors(db)
}

// dropVectors removes the vectors of a memory.
func (a *entryTxn) dropVectors(seq oplog.Seq) {
	a.del(a.vectors(a.db), a.db, seqKey(seq))
	if a.Embedding(a.db).Pending != nil {
		a.del(a.otherVectors(a.db), a.db, seqKey(seq))
	}
}

func (a *entryTxn) setEmbedding(e oplog.Embedding) {
	write(a.txn, tEmbedding, a.db, keySelf, &e)
	delete(a.embeddings, a.db)
}

// Floats unpacks a record's vector into dst, which grows as needed; nil if there is none. Reading many is fastest in
// order of their numbers.
func (v *View) Floats(db oplog.DB, seq oplog.Seq, dst []float32) []float32 {
	raw, _ := v.peek(v.vectors(db), db, seqKey(seq))
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

// Unembedded reads up to look memories from a sequence number on. It returns at most limit of them that have no
// vector and are not forgotten, and the number of the first one that it did not read, which may not exist yet. With
// pending, it checks for vectors of the embedder that the database changes to.
func (v *View) Unembedded(db oplog.DB, pending bool, from oplog.Seq, limit, look int) (list []*oplog.Memory, next oplog.Seq) {
	table := v.vectorsOf(db, pending)
	for k, val := range v.scanFrom(tMemory, db, seqKey(from)) {
		if len(list) == limit || look == 0 {
			return list, seqOf(k)
		}
		look--
		if !v.exists(table, db, k) {
			if m := decode[oplog.Memory](val); v.forReaders(&m).Status != oplog.Tombstoned && m.Indexed() {
				list = append(list, &m)
			}
		}
	}
	return list, oplog.Seq(v.Stats(db).NextSeq) + 1
}

// Vector returns a record's vector; nil if it has none.
func (v *View) Vector(db oplog.DB, seq oplog.Seq) oplog.Vector {
	return v.get(v.vectors(db), db, seqKey(seq))
}

// MeanVector returns the mean of some memories' vectors; nil if none has a vector.
func (v *View) MeanVector(db oplog.DB, of []*oplog.Memory) oplog.Vector {
	var all [][]float32
	for _, m := range of {
		if f := v.Vector(db, m.Seq).Floats(); len(f) > 0 {
			all = append(all, f)
		}
	}
	return oplog.MeanVector(all)
}

// PendingVector returns a record's vector by the pending embedder; nil if it has none yet.
func (v *View) PendingVector(db oplog.DB, seq oplog.Seq) oplog.Vector {
	if v.Embedding(db).Pending == nil {
		return nil
	}
	return v.get(v.otherVectors(db), db, seqKey(seq))
}

// Vectors calls f with the vectors of all records, in order; with pending, with those of the pending embedder. A
// vector is valid until f returns.
func (v *View) Vectors(db oplog.DB, pending bool, f func(oplog.Seq, oplog.Vector) bool) {
	for k, val := range v.scanFrom(v.vectorsOf(db, pending), db, nil) {
		if !f(seqOf(k), val) {
			return
		}
	}
}
