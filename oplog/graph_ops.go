package oplog

// Relate says that two entities stand in a relation. The same (source, target, type) again updates the weight.
type Relate struct {
	ID     string  `msgpack:"id"` // used when the edge is new
	Src    string  `msgpack:"s"`
	Dst    string  `msgpack:"d"`
	Type   string  `msgpack:"t"`
	Weight float64 `msgpack:"w"`
	At     Time    `msgpack:"at"`

	Links []Link `msgpack:"-"` // memories stored before that name one of the two: they travel in a Linked beside it
}

// Unrelate takes an edge away.
type Unrelate struct {
	ID string `msgpack:"id"`
	At Time   `msgpack:"at"`
}

// Claim states a relation with its evidence: polarity, modality, validity, extractor.
type Claim struct {
	ID        string   `msgpack:"id"`
	Namespace string   `msgpack:"ns"`
	Src       string   `msgpack:"s"`
	Type      string   `msgpack:"t"`
	Dst       string   `msgpack:"d"`
	Polarity  int8     `msgpack:"p"`
	Modality  string   `msgpack:"m"`
	ValidFrom *float64 `msgpack:"vf,omitempty"` // unix seconds
	ValidTo   *float64 `msgpack:"vt,omitempty"`
	Extractor string   `msgpack:"x"`
	Version   string   `msgpack:"xv,omitempty"`
	Band      string   `msgpack:"b"`
	SourceRID string   `msgpack:"r,omitempty"`
	SpanStart *int64   `msgpack:"ss,omitempty"`
	SpanEnd   *int64   `msgpack:"sn,omitempty"`
	Weight    float64  `msgpack:"w"`
	At        Time     `msgpack:"at"`
}

// Alias says that a name stands for another in a namespace.
type Alias struct {
	Namespace string `msgpack:"ns"`
	Alias     string `msgpack:"a"`
	Canonical string `msgpack:"c"`
	Source    string `msgpack:"s"`
	At        Time   `msgpack:"at"`
}

var graphFamily = family{
	{KindRelate, "relate", func() Op { return new(Relate) }},
	{KindUnrelate, "unrelate", func() Op { return new(Unrelate) }},
	{KindClaim, "claim", func() Op { return new(Claim) }},
	{KindAlias, "alias", func() Op { return new(Alias) }},
}

// Kind implements Op.
func (*Relate) Kind() OpKind { return KindRelate }

// Kind implements Op.
func (*Unrelate) Kind() OpKind { return KindUnrelate }

// Kind implements Op.
func (*Claim) Kind() OpKind { return KindClaim }

// Kind implements Op.
func (*Alias) Kind() OpKind { return KindAlias }

func (op *Relate) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	if op.Src == "" || op.Dst == "" || op.Type == "" {
		return Result{}, Errorf(Invalid, "a relation needs an entity, a target and a relationship")
	}
	triple := joinKey(op.Src, op.Type, op.Dst)
	e := Edge{ID: op.ID, Src: op.Src, Dst: op.Dst, Type: op.Type, Weight: op.Weight, Created: op.At, Updated: op.At}
	isNew := true
	if id := a.get(tTriple, a.db, triple); id != nil {
		old, ok := read[Edge](a.txn, tEdge, a.db, id)
		if !ok {
			panic("oplog: edge without a body")
		}
		e.ID, e.Created, isNew = old.ID, old.Created, false
	} else if op.ID == "" || a.get(tEdge, a.db, []byte(op.ID)) != nil {
		return Result{}, Errorf(Conflict, "relation id %q is not free", op.ID)
	}
	write(a.txn, tEdge, a.db, []byte(e.ID), &e)
	if isNew {
		a.put(tTriple, a.db, triple, []byte(e.ID))
		a.put(tBySource, a.db, joinKey(e.Src, e.ID), nil)
		a.put(tByTarget, a.db, joinKey(e.Dst, e.ID), nil)
		a.stats.Edges++
		a.mention(Mention{Name: e.Src}, 0, op.At)
		a.mention(Mention{Name: e.Dst}, 0, op.At)
	}
	return Result{ID: e.ID, Changed: isNew}, nil
}

func (op *Unrelate) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	e, ok := read[Edge](a.txn, tEdge, a.db, []byte(op.ID))
	if !ok {
		return Result{ID: op.ID}, nil
	}
	a.del(tEdge, a.db, []byte(e.ID))
	a.del(tTriple, a.db, joinKey(e.Src, e.Type, e.Dst))
	a.del(tBySource, a.db, joinKey(e.Src, e.ID))
	a.del(tByTarget, a.db, joinKey(e.Dst, e.ID))
	a.stats.Edges--
	return Result{ID: e.ID, Changed: true}, nil
}

func (op *Claim) apply(a *applying) (Result, *Error) {
	c, err := a.stated(op)
	if err != nil {
		return Result{}, err
	}
	return a.claim(&c, c.ofSource())
}

func (op *Alias) apply(a *applying) (Result, *Error) {
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	if op.Alias == "" || op.Canonical == "" {
		return Result{}, Errorf(Invalid, "an alias needs both names")
	}
	key := joinKey(op.Namespace, op.Alias)
	old, had := read[StoredAlias](a.txn, tAlias, a.db, key)
	if had && old.Canonical == op.Canonical {
		return Result{ID: op.Alias}, nil
	}
	write(a.txn, tAlias, a.db, key, &StoredAlias{Canonical: op.Canonical, Source: op.Source, At: op.At})
	return Result{ID: op.Alias, Changed: true}, nil
}

// canonical resolves a name through the namespace's aliases, then the default ones.
func (a *applying) canonical(namespace, name string) string {
	for _, ns := range []string{namespace, "default"} {
		if al, ok := read[StoredAlias](a.txn, tAlias, a.db, joinKey(ns, name)); ok {
			return al.Canonical
		}
	}
	return name
}

// mention counts an entity and, when seq is a memory, links the two.
func (a *applying) mention(m Mention, seq Seq, at Time) {
	e, ok := read[Entity](a.txn, tEntity, a.db, []byte(m.Name))
	if !ok {
		e = Entity{Name: m.Name, Type: "unknown", First: at}
		a.stats.Entities++
		a.put(tFolded, a.db, joinKey(Fold(m.Name), m.Name), nil)
	}
	if m.Type != "" && e.Type == "unknown" {
		e.Type = m.Type
	}
	e.Last = max(e.Last, at)
	e.Mentions++
	write(a.txn, tEntity, a.db, []byte(m.Name), &e)
	if seq != 0 {
		a.put(tEntityMemory, a.db, nameKey(m.Name, seq), nil)
	}
}
