package oplog

import "fmt"

// Embedder names what made a database's vectors. Vectors of different embedders cannot be compared.
type Embedder struct {
	Name    string `msgpack:"n"`
	Version string `msgpack:"v"`
	Dim     uint32 `msgpack:"d"`
}

// SetEmbedder binds the entry's database to an embedder, once. Saying the same again changes nothing.
type SetEmbedder struct {
	Embedder Embedder `msgpack:"e"`
}

// Rebind gives a database that is bound to an embedder to another. Its vectors are those of the new one from then on, so it
// has none at first; those of the old one are removed as Embed goes through the memories.
type Rebind struct {
	Embedder Embedder `msgpack:"e"`
}

// Embed gives memories that lack them their vectors. Embedder must be the database's. A memory that is not at the revision its
// vector speaks of, or has a vector, is passed over. From and Next say how far memories were looked at: while a database
// is being rebound the vectors of the former embedder are removed from there.
type Embed struct {
	Embedder Embedder   `msgpack:"e"`
	Vectors  []Embedded `msgpack:"v,omitempty"`
	From     Seq        `msgpack:"f,omitempty"`
	Next     Seq        `msgpack:"n,omitempty"`
}

// Embedded is the vector of a memory's text at a revision.
type Embedded struct {
	Seq      Seq    `msgpack:"q"`
	Revision uint32 `msgpack:"r,omitempty"`
	Vector   Vector `msgpack:"v"`
}

// Embedding is how a database stands with its embedders. The zero value is that of one that never changed.
type Embedding struct {
	Epoch uint32 `msgpack:"e"`           // counts its embedders; vectors of an odd one lie in a table of their own
	Next  Seq    `msgpack:"n,omitempty"` // the first memory not gone through since the last change; 0 when that is done
	Last  Seq    `msgpack:"l,omitempty"` // the last to go through
}

// embedStep bounds what one Embed looks at.
const embedStep = 5000

var keySelf = []byte("self")

var embedFamily = family{
	{KindSetEmbedder, "set_embedder", func() Op { return new(SetEmbedder) }},
	{KindRebind, "rebind", func() Op { return new(Rebind) }},
	{KindEmbed, "embed", func() Op { return new(Embed) }},
}

// Kind implements Op.
func (*Rebind) Kind() OpKind { return KindRebind }

// Kind implements Op.
func (*Embed) Kind() OpKind { return KindEmbed }

// embedding reads how a database stands.
func (t *txn) embedding(db DB) Embedding {
	e, _ := read[Embedding](t, tEmbedding, db, keySelf)
	return e
}

// vectors is the table of a database's vectors.
func (t *txn) vectors(db DB) tableID {
	table, ok := t.tables[db]
	if !ok {
		table = tVector
		if t.embedding(db).Epoch%2 == 1 {
			table = tVectorOdd
		}
		t.tables[db] = table
	}
	return table
}

// former is the table of the vectors that are not the database's any more.
func (t *txn) former(db DB) tableID { return tVector + tVectorOdd - t.vectors(db) }

func (a *applying) setEmbedding(e Embedding) {
	write(a.txn, tEmbedding, a.db, keySelf, &e)
	delete(a.tables, a.db)
}

func (op *Rebind) apply(a *applying) (Result, *Error) {
	d, err := a.database()
	if err != nil {
		return Result{}, err
	}
	e, now := op.Embedder, a.embedding(a.db)
	switch {
	case e.Name == "" || e.Dim == 0:
		return Result{}, Errorf(Invalid, "an embedder needs a name and a dimension")
	case d.Embedder == nil:
		return Result{}, Errorf(Conflict, "database %s is not embedded by a node: its vectors are its clients'", d.Name)
	case *d.Embedder == e:
		return Result{ID: e.Name}, nil
	case now.Next != 0:
		return Result{}, Errorf(Conflict, "database %s is being embedded by %s", d.Name, d.Embedder)
	}
	d.Embedder, d.Dim = &e, e.Dim
	a.setDatabase(d)
	next := Embedding{Epoch: now.Epoch + 1}
	if last := Seq(a.stats.NextSeq); last > 0 {
		next.Next, next.Last = 1, last
	}
	a.setEmbedding(next)
	return Result{ID: e.Name, Num: uint64(next.Last), Changed: true}, nil
}

func (op *Embed) apply(a *applying) (Result, *Error) {
	d, err := a.database()
	if err != nil {
		return Result{}, err
	}
	if d.Embedder == nil || *d.Embedder != op.Embedder {
		return Result{}, Errorf(Conflict, "database %s is embedded by %s, not by %s", d.Name, d.Embedder, &op.Embedder)
	}
	var r Result
	for _, v := range op.Vectors {
		if uint32(len(v.Vector)/4) != d.Dim {
			return Result{}, Errorf(Invalid, "embedding has %d dimensions, database %s has %d", len(v.Vector)/4, d.Name, d.Dim)
		}
		key := seqKey(v.Seq)
		m, ok := a.memoryAt(v.Seq)
		if !ok || m.Status == Tombstoned || m.Revision != v.Revision || a.get(a.vectors(a.db), a.db, key) != nil {
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

// Kind implements Op.
func (*SetEmbedder) Kind() OpKind { return KindSetEmbedder }

func (op *SetEmbedder) apply(a *applying) (Result, *Error) {
	d, err := a.database()
	if err != nil {
		return Result{}, err
	}
	e := op.Embedder
	if e.Name == "" || e.Dim == 0 {
		return Result{}, Errorf(Invalid, "an embedder needs a name and a dimension")
	}
	if d.Embedder != nil {
		if *d.Embedder != e {
			return Result{}, Errorf(Conflict, "database %s is embedded by %s, not by %s", d.Name, d.Embedder, &e)
		}
		return Result{ID: e.Name}, nil
	}
	if d.Dim != 0 && d.Dim != e.Dim {
		return Result{}, Errorf(Conflict, "database %s has vectors of %d dimensions, not those of %s", d.Name, d.Dim, &e)
	}
	d.Embedder, d.Dim = &e, e.Dim
	a.setDatabase(d)
	return Result{ID: e.Name, Changed: true}, nil
}

func (e *Embedder) String() string {
	if e == nil {
		return "nothing"
	}
	return fmt.Sprintf("%s/%s (%d dimensions)", e.Name, e.Version, e.Dim)
}
