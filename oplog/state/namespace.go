package state

import (
	"bytes"
	"maps"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// NamespaceFrom walks the numbers of a namespace's records upwards from one on.
func (v *View) NamespaceFrom(db oplog.DB, namespace string, from oplog.Seq, f func(oplog.Seq) bool) {
	prefix := joinKey(namespace, "")
	for k := range v.scanFrom(tNamespace, db, nameKey(namespace, from)) {
		if !bytes.HasPrefix(k, prefix) || !f(seqOf(k)) {
			return
		}
	}
}

// NamespaceBack is NamespaceFrom downwards, from the number below; 0 means from the newest.
func (v *View) NamespaceBack(db oplog.DB, namespace string, below oplog.Seq, f func(oplog.Seq) bool) {
	for k := range v.scanBelow(tNamespace, db, joinKey(namespace, ""), belowSeq(below)) {
		if !f(seqOf(k)) {
			return
		}
	}
}

// NamespaceStats are how many memories a namespace has, by status.
type NamespaceStats struct {
	Active       uint64 `msgpack:"a"`
	Consolidated uint64 `msgpack:"c"`
	Tombstoned   uint64 `msgpack:"t"`
}

func (s *NamespaceStats) count(status oplog.Status, by int64) {
	*[...]*uint64{&s.Active, &s.Consolidated, &s.Tombstoned}[status] += uint64(by)
}

func (s *NamespaceStats) add(by NamespaceStats) {
	s.Active += by.Active
	s.Consolidated += by.Consolidated
	s.Tombstoned += by.Tombstoned
}

// namespaceCounts are changes of namespaces' counters, by name. One that goes down changes by a number that wraps around.
type namespaceCounts map[string]NamespaceStats

func (n namespaceCounts) add(namespace string, by NamespaceStats) {
	sum := n[namespace]
	sum.add(by)
	n[namespace] = sum
}

// countInNamespace notes a change that the entry makes; addNamespaceCounts adds it to the batch's when the entry is not refused.
func (a *applying) countInNamespace(m *oplog.Memory, by int64) {
	if a.named == nil {
		a.named = namespaceCounts{}
	}
	var d NamespaceStats
	d.count(m.Status, by)
	a.named.add(m.Namespace, d)
}

func (a *applying) addNamespaceCounts() {
	if len(a.named) == 0 {
		return
	}
	if a.namespaces == nil {
		a.namespaces = map[oplog.DB]namespaceCounts{}
	}
	if a.namespaces[a.db] == nil {
		a.namespaces[a.db] = namespaceCounts{}
	}
	for ns, d := range a.named { // sums: the order is free
		a.namespaces[a.db].add(ns, d)
	}
}

// writeNamespaceCounts writes the counters of a database's namespaces, once a batch.
func (t *txn) writeNamespaceCounts(db oplog.DB) {
	for _, ns := range slices.Sorted(maps.Keys(t.namespaces[db])) {
		sum, _ := read[NamespaceStats](t, tNamespaceSum, db, joinKey(ns, ""))
		sum.add(t.namespaces[db][ns])
		write(t, tNamespaceSum, db, joinKey(ns, ""), &sum)
	}
}

// Namespaces walks the namespaces that have memories, in the order of their keys, behind one; "" begins with the first.
func (v *View) Namespaces(db oplog.DB, after string, f func(string, NamespaceStats) bool) {
	start := []byte(nil)
	if after != "" {
		start = append(joinKey(after, ""), 0)
	}
	for k, val := range v.scanFrom(tNamespaceSum, db, start) {
		name, _ := cutKey(k)
		if sum := decode[NamespaceStats](val); sum != (NamespaceStats{}) && !f(string(name), sum) {
			return
		}
	}
}

// NamespaceStats are a namespace's counters.
func (v *View) NamespaceStats(db oplog.DB, namespace string) NamespaceStats {
	sum, _ := read[NamespaceStats](v.txn, tNamespaceSum, db, joinKey(namespace, ""))
	return sum
}
