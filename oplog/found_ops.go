package oplog

import "slices"

// What was found beside an operation has kinds of its own, so that members which lack them can be in the cluster still:
// the operation stands in the entry without them then. They follow what they belong to in its entry; where their
// grounds are gone they do nothing, and refuse nothing.

// Assert states a relation as Claim does, and is one claim by source, relation, target, polarity, extractor and namespace,
// whichever memory it is from.
type Assert struct {
	Claim Claim `msgpack:"c"`
}

// Stated keeps what texts state, as claims of their memories. Ids are given; namespace and source are the memory's.
type Stated struct {
	Texts []Statements `msgpack:"t"`
}

// Statements are what one memory's text states.
type Statements struct {
	RID    string  `msgpack:"r"`
	Claims []Claim `msgpack:"c"`
}

// Linked ties memories to names that their texts have and that were no entities when they were stored.
type Linked struct {
	Links []Link `msgpack:"l"`
	At    Time   `msgpack:"at"`
}

// A Link is a memory and a name.
type Link struct {
	RID  string `msgpack:"r"`
	Name string `msgpack:"n"`
}

// HandOn relates the products of merges as their sources were.
type HandOn struct {
	Edges []Copied `msgpack:"e"`
	At    Time     `msgpack:"at"`
}

// Copied is a relation of a merged memory, which its product gets as well.
type Copied struct {
	Into string `msgpack:"p"` // the product
	Of   string `msgpack:"o"` // the relation
	ID   string `msgpack:"i"` // of the new one
}

var foundFamily = family{
	{KindAssert, "assert", func() Op { return new(Assert) }},
	{KindStated, "stated", func() Op { return new(Stated) }},
	{KindLinked, "linked", func() Op { return new(Linked) }},
	{KindHandOn, "hand_on", func() Op { return new(HandOn) }},
}

// Kind implements Op.
func (*Assert) Kind() OpKind { return KindAssert }

// Kind implements Op.
func (*Stated) Kind() OpKind { return KindStated }

// Kind implements Op.
func (*Linked) Kind() OpKind { return KindLinked }

// Kind implements Op.
func (*HandOn) Kind() OpKind { return KindHandOn }

func (op *Assert) apply(a *applying) (Result, *Error) {
	c, err := a.stated(&op.Claim)
	if err != nil {
		return Result{}, err
	}
	return a.claim(&c, c.statement(), c.ofSource())
}

func (op *Stated) apply(a *applying) (r Result, err *Error) {
	if _, err := a.database(); err != nil {
		return r, err
	}
	for _, t := range op.Texts {
		m, err := a.liveMemory(t.RID)
		if err == nil && m.Status == Active && a.takeClaims(m, t.Claims) {
			a.putMemory(m)
			r.Num, r.Changed = r.Num+1, true
		}
	}
	return r, nil
}

// maxLinked bounds the names of one memory.
const maxLinked = 64

func (op *Linked) apply(a *applying) (r Result, err *Error) {
	if _, err := a.database(); err != nil {
		return r, err
	}
	for _, l := range op.Links {
		m, err := a.liveMemory(l.RID)
		if err != nil || m.Status != Active || slices.Contains(m.Entities, l.Name) || len(m.Entities) >= maxLinked || a.get(tEntity, a.db, []byte(l.Name)) == nil {
			continue
		}
		m.Entities = append(m.Entities, l.Name)
		a.mention(Mention{Name: l.Name}, m.Seq, op.At)
		a.putMemory(m)
		r.Num, r.Changed, r.Rows = r.Num+1, true, append(r.Rows, m.RID)
	}
	return r, nil
}

func (op *HandOn) apply(a *applying) (r Result, err *Error) {
	if _, err := a.database(); err != nil {
		return r, err
	}
	for _, c := range op.Edges {
		e, ok := read[Edge](a.txn, tEdge, a.db, []byte(c.Of))
		src, dst := a.mergedInto(e.Src, c.Into), a.mergedInto(e.Dst, c.Into)
		if !ok || src == dst { // gone, or among the sources
			continue
		}
		copied := Relate{ID: c.ID, Src: e.Src, Dst: e.Dst, Type: e.Type, Weight: e.Weight, At: op.At}
		if src {
			copied.Src = c.Into
		} else {
			copied.Dst = c.Into
		}
		if made, err := copied.apply(a); err == nil && made.Changed { // refused when its id is taken: then it is no new relation
			r.Num, r.Changed = r.Num+1, true
		}
	}
	return r, nil
}

func (a *applying) mergedInto(rid, product string) bool {
	m, err := a.liveMemory(rid)
	return err == nil && m.Into == product && product != ""
}

// Follow adds what was found beside operations: the operations that carry it.
func Follow(ops []Op) []Op {
	var stated Stated
	var linked Linked
	var hand HandOn
	found := func(rid string, claims []Claim) {
		if len(claims) > 0 {
			stated.Texts = append(stated.Texts, Statements{rid, claims})
		}
	}
	for _, op := range ops {
		switch op := op.(type) {
		case *Remember:
			found(op.RID, op.Claims)
		case *Correct:
			found(op.RID, op.Claims)
		case *Resolve:
			if op.Merged != nil {
				found(op.Merged.RID, op.Merged.Claims)
			}
		case *Relate:
			linked.Links, linked.At = append(linked.Links, op.Links...), op.At
		case *Cognition:
			for i := range op.Merges {
				found(op.Merges[i].Into.RID, op.Merges[i].Into.Claims)
				hand.Edges, hand.At = append(hand.Edges, op.Merges[i].Edges...), op.At
			}
		}
	}
	ops = slices.Clip(ops)
	if len(stated.Texts) > 0 {
		ops = append(ops, &stated)
	}
	if len(linked.Links) > 0 {
		ops = append(ops, &linked)
	}
	if len(hand.Edges) > 0 {
		ops = append(ops, &hand)
	}
	return ops
}
