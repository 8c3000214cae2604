package oplog

import "slices"

// Relate says that two entities stand in a relation. The same (source, target, type) again updates the weight.
type Relate struct {
	ID     string  `msgpack:"id"` // used when the edge is new
	Src    string  `msgpack:"s"`
	Dst    string  `msgpack:"d"`
	Type   string  `msgpack:"t"`
	Weight float64 `msgpack:"w"`
	At     Time    `msgpack:"at"`

	Links []Link `msgpack:"l,omitempty"` // memories stored before that name one of the two
}

// A Link ties a memory to a name that its text has and that was no entity when it was stored.
type Link struct {
	RID  string `msgpack:"r"`
	Name string `msgpack:"n"`
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
	r := Result{ID: e.ID, Changed: isNew}
	for _, l := range op.Links {
		if (l.Name == e.Src || l.Name == e.Dst) && a.link(l, op.At) {
			r.Rows = append(r.Rows, l.RID)
		}
	}
	return r, nil
}

// maxLinked bounds the names of one memory.
const maxLinked = 64

// link ties a memory to a name, unless it is gone, or tied already.
func (a *applying) link(l Link, at Time) bool {
	m, err := a.liveMemory(l.RID)
	if err != nil || m.Status != Active || slices.Contains(m.Entities, l.Name) || len(m.Entities) >= maxLinked {
		return false
	}
	m.Entities = append(m.Entities, l.Name)
	a.mention(Mention{Name: l.Name}, m.Seq, at)
	a.putMemory(m)
	return true
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
	if _, err := a.database(); err != nil {
		return Result{}, err
	}
	if op.Src == "" || op.Dst == "" || op.Type == "" {
		return Result{}, Errorf(Invalid, "a claim needs a src, a rel_type and a dst")
	}
	c := a.stated(op)
	isNew := true
	if id := a.get(tStatement, a.db, c.statement()); id != nil {
		old, ok := read[StoredClaim](a.txn, tClaim, a.db, id)
		if !ok {
			panic("oplog: claim without a body")
		}
		c.ID, c.At, isNew = old.ID, old.At, false
	} else if op.ID == "" || a.get(tClaim, a.db, []byte(op.ID)) != nil {
		return Result{}, Errorf(Conflict, "claim id %q is not free", op.ID)
	}
	if !isNew {
		write(a.txn, tClaim, a.db, []byte(c.ID), &c)
		return Result{ID: c.ID}, nil
	}
	a.putClaim(&c)
	a.mention(Mention{Name: c.Src}, 0, op.At)
	a.mention(Mention{Name: c.Dst}, 0, op.At)
	return Result{ID: c.ID, Changed: true}, nil
}

// stated is a claim under its canonical names.
func (a *applying) stated(op *Claim) StoredClaim {
	c := StoredClaim{Claim: *op, Updated: op.At}
	c.Src, c.Dst = a.canonical(op.Namespace, op.Src), a.canonical(op.Namespace, op.Dst)
	return c
}

// statement is what a claim says: saying it again by the same extractor refreshes it.
func (c *StoredClaim) statement() []byte {
	return joinKey(c.Namespace, c.Src, c.Type, c.Dst, string(rune('1'+c.Polarity)), c.Extractor)
}

// putClaim keeps a claim that is new.
func (a *applying) putClaim(c *StoredClaim) {
	write(a.txn, tClaim, a.db, []byte(c.ID), c)
	a.put(tStatement, a.db, c.statement(), []byte(c.ID))
	a.put(tClaimBy, a.db, joinKey(c.Src, c.ID), nil)
	if c.Dst != c.Src {
		a.put(tClaimBy, a.db, joinKey(c.Dst, c.ID), nil)
	}
	a.stats.Claims++
}

// takeClaims keeps what a memory's text states, unless it is stated already. Its names are linked by the memory itself.
func (a *applying) takeClaims(m *Memory, found []Claim, at Time) {
	for i := range found {
		op := found[i]
		op.Namespace, op.SourceRID, op.At = m.Namespace, m.RID, at
		c := a.stated(&op)
		if op.ID == "" || c.Src == "" || c.Dst == "" || c.Type == "" || a.get(tClaim, a.db, []byte(op.ID)) != nil ||
			a.get(tStatement, a.db, c.statement()) != nil {
			continue
		}
		a.putClaim(&c)
		m.Claims = append(m.Claims, c.ID)
	}
}

// dropClaims takes away what a memory's text stated: the text says so no longer, or nobody may read it. Claims that
// somebody else has made theirs since stay.
func (a *applying) dropClaims(m *Memory) {
	for _, id := range m.Claims {
		c, ok := read[StoredClaim](a.txn, tClaim, a.db, []byte(id))
		if !ok || c.SourceRID != m.RID {
			continue
		}
		a.del(tClaim, a.db, []byte(id))
		a.del(tStatement, a.db, c.statement())
		a.del(tClaimBy, a.db, joinKey(c.Src, id))
		if c.Dst != c.Src {
			a.del(tClaimBy, a.db, joinKey(c.Dst, id))
		}
		a.stats.Claims--
	}
	m.Claims = nil
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
