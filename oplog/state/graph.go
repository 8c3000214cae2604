package state

import (
	"cmp"

	"github.com/cairndb/cairn/oplog"
)

func applyHandOn(a *entryTxn, op *oplog.HandOn) (r oplog.Result) {
	for _, c := range op.Edges {
		e, ok := read[oplog.Edge](a.txn, tEdge, a.db, []byte(c.Of))
		src, dst := a.mergedInto(e.Src, c.Into), a.mergedInto(e.Dst, c.Into)
		if !ok || src == dst { // removed, or between two sources
			continue
		}
		copied := oplog.Relate{ID: c.ID, Src: e.Src, Dst: e.Dst, Type: e.Type, Weight: e.Weight, At: op.At}
		if src {
			copied.Src = c.Into
		} else {
			copied.Dst = c.Into
		}
		if made, ok := a.relate(&copied); ok && made.Changed {
			r.Num, r.Changed = r.Num+1, true
		}
	}
	return r
}

func (a *entryTxn) mergedInto(rid, product string) bool {
	m, ok := a.liveMemory(rid)
	return ok && m.Into == product && product != ""
}

func applyRelate(a *entryTxn, op *oplog.Relate) oplog.Result {
	rejectf(op.Src == "" || op.Dst == "" || op.Type == "", oplog.Invalid, "a relation needs an entity, a target and a relationship")
	r, ok := a.relate(op)
	rejectf(!ok, oplog.Conflict, "relation id %q is taken", op.ID)
	return r
}

// Related finds the relation of one kind between two entities.
func (v *View) Related(db oplog.DB, src, kind, dst string) (oplog.Edge, bool) {
	return v.Edge(db, string(v.get(tTriple, db, joinKey(src, kind, dst))))
}

// relate stores or updates a relation; ok is false if a new relation has no id, or one that is taken.
func (a *entryTxn) relate(op *oplog.Relate) (r oplog.Result, ok bool) {
	triple := joinKey(op.Src, op.Type, op.Dst)
	e := oplog.Edge{ID: op.ID, Src: op.Src, Dst: op.Dst, Type: op.Type, Weight: op.Weight, Created: cmp.Or(op.Since, op.At), Updated: op.At}
	isNew := true
	if id := a.get(tTriple, a.db, triple); id != nil {
		old, ok := read[oplog.Edge](a.txn, tEdge, a.db, id)
		if !ok {
			panic("state: edge without a body")
		}
		e.ID, e.Created, isNew = old.ID, old.Created, false
	} else if op.ID == "" || a.exists(tEdge, a.db, []byte(op.ID)) {
		return oplog.Result{}, false
	}
	write(a.txn, tEdge, a.db, []byte(e.ID), &e)
	if isNew {
		a.put(tTriple, a.db, triple, []byte(e.ID))
		a.put(tBySource, a.db, joinKey(e.Src, e.ID), nil)
		a.put(tByTarget, a.db, joinKey(e.Dst, e.ID), nil)
		a.stats.Edges++
		a.mention(oplog.Mention{Name: e.Src}, 0, op.At)
		a.mention(oplog.Mention{Name: e.Dst}, 0, op.At)
	}
	return oplog.Result{ID: e.ID, Changed: isNew}, true
}

// applyUnrelate removes a relation, and its entities if nothing else names them.
func applyUnrelate(a *entryTxn, op *oplog.Unrelate) oplog.Result {
	e, ok := read[oplog.Edge](a.txn, tEdge, a.db, []byte(op.ID))
	if !ok {
		return oplog.Result{ID: op.ID}
	}
	a.del(tEdge, a.db, []byte(e.ID))
	a.del(tTriple, a.db, joinKey(e.Src, e.Type, e.Dst))
	a.del(tBySource, a.db, joinKey(e.Src, e.ID))
	a.del(tByTarget, a.db, joinKey(e.Dst, e.ID))
	a.stats.Edges--
	a.dropName(e.Src)
	a.dropName(e.Dst)
	return oplog.Result{ID: e.ID, Changed: true}
}

// EdgesBehind walks the relations after an id, by id.
func (v *View) EdgesBehind(db oplog.DB, id string, f func(oplog.Edge) bool) {
	each(v.scanBehind(tEdge, db, []byte(id)), f)
}

// EdgesBack walks the relations before an id downwards; blank begins at the end.
func (v *View) EdgesBack(db oplog.DB, below string, f func(oplog.Edge) bool) {
	each(v.scanBelow(tEdge, db, nil, belowID(below)), f)
}

// belowID returns the key where a walk downwards begins; nil begins at the end.
func belowID(id string) []byte {
	if id == "" {
		return nil
	}
	return []byte(id)
}

// Edge finds a relation by its id.
func (v *View) Edge(db oplog.DB, id string) (oplog.Edge, bool) {
	return read[oplog.Edge](v.txn, tEdge, db, []byte(id))
}

// EdgesOfAll returns at most limit relations of several entities. A relation between two of them comes once.
func (v *View) EdgesOfAll(db oplog.DB, names []string, limit int) (list []oplog.Edge) {
	seen := map[string]bool{}
	for _, name := range names {
		for _, e := range v.Edges(db, name, limit) {
			if !seen[e.ID] && len(list) < limit {
				list, seen[e.ID] = append(list, e), true
			}
		}
	}
	return list
}

// Edges returns at most limit relations of an entity, outgoing ones first.
func (v *View) Edges(db oplog.DB, entity string, limit int) (edges []oplog.Edge) {
	prefix := joinKey(entity, "")
	for _, table := range []tableID{tBySource, tByTarget} {
		for k := range v.scan(table, db, prefix) {
			if e, ok := v.Edge(db, string(k[len(prefix):])); ok && (table == tBySource || e.Src != e.Dst) { // a loop is in both
				edges = append(edges, e)
			}
			if len(edges) >= limit {
				return edges
			}
		}
	}
	return edges
}
