package oplog

import "slices"

// Findings about an operation, such as the claims of its text, travel in operations of their own kinds. If a member
// cannot read these kinds, the operation is proposed without them. They follow the operation in its entry. If their
// grounds have changed they do nothing, and they never reject the entry.

// Assert states a relation as Claim does, and is one claim by source, relation, target, polarity, extractor and
// namespace, whichever memory it is from.
type Assert struct {
	Claim Claim `msgpack:"c" subject:""`
}

// Stated stores what texts state, as claims of their memories. Ids are given; namespace and source are the memory's.
type Stated struct {
	Texts []Statements `msgpack:"t"`
}

// Statements holds the claims that one memory's text states.
type Statements struct {
	RID    string  `msgpack:"r"`
	Claims []Claim `msgpack:"c"`
}

// Linked links memories to entities that their texts name and that did not exist when the memories were stored.
type Linked struct {
	Links []Link `msgpack:"l"`
	At    Time   `msgpack:"at"`
}

// A Link is a memory and a name.
type Link struct {
	RID  string `msgpack:"r"`
	Name string `msgpack:"n" max:"name"`
}

// Supersede marks memories as superseded by others, or as current again. Each mark stands for itself: one whose
// grounds are gone does nothing.
type Supersede struct {
	Marks []Mark `msgpack:"m"`
	At    Time   `msgpack:"at"`
}

// SupersededBy begins the reason of the revision that a mark makes; the id of the newer memory follows.
const SupersededBy = "superseded by "

// A Mark says that a memory is superseded by another, as far as both are at the revisions that were compared.
type Mark struct {
	RID        string      `msgpack:"r" max:"name"`
	Revision   uint32      `msgpack:"v,omitempty"`
	By         string      `msgpack:"b,omitempty" max:"name"` // blank: it is current again
	ByRevision uint32      `msgpack:"bv,omitempty"`
	Surely     bool        `msgpack:"s,omitempty"` // see Past
	Record     ConflictRow `msgpack:"c,omitempty"` // what the list of conflicts says of it: the older memory is A
}

// HandOn copies the relations of merged memories to their products.
type HandOn struct {
	Edges []Copied `msgpack:"e"`
	At    Time     `msgpack:"at"`
}

// MaxCopied bounds the relations that a merged memory hands on.
const MaxCopied = 32

// Copied is a relation of a merged memory, which its product gets as well.
type Copied struct {
	Into string `msgpack:"p"` // the product
	Of   string `msgpack:"o"` // the relation
	ID   string `msgpack:"i"` // of the new one
}

// Follow appends the operations that carry the findings about ops.
func Follow(ops []Op) []Op {
	var stated Stated
	var linked Linked
	var hand HandOn
	var marked Supersede
	mark := func(marks []Mark, at Time) {
		marked.Marks, marked.At = append(marked.Marks, marks...), max(marked.At, at)
	}
	found := func(rid string, claims []Claim) {
		if len(claims) > 0 {
			stated.Texts = append(stated.Texts, Statements{rid, claims})
		}
	}
	for _, op := range ops {
		switch op := op.(type) {
		case *Remember:
			found(op.RID, op.Claims)
			mark(op.Marks, max(op.Created, op.Updated))
		case *Correct:
			found(op.RID, op.Claims)
			mark(op.Marks, op.At)
		case *Resolve:
			if op.Merged != nil {
				found(op.Merged.RID, op.Merged.Claims)
			}
		case *Relate:
			linked.Links, linked.At = append(linked.Links, op.Links...), op.At
		case *Recast:
			for i := range op.Into {
				found(op.Into[i].RID, op.Into[i].Claims)
			}
			hand.Edges, hand.At = append(hand.Edges, op.Edges...), op.At
		case *TakeBack:
			for _, t := range op.Texts {
				found(t.RID, t.Claims)
			}
			mark(op.Marks, op.At)
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
	if len(marked.Marks) > 0 {
		ops = append(ops, &marked)
	}
	return ops
}
