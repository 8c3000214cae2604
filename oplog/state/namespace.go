package state

import (
	"bytes"

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

// countStatus counts a memory in, or out before it changes.
func (a *applying) countStatus(m *oplog.Memory, by int64) {
	a.stats.Count(m.Status, by)
	sum := a.counted[m.Namespace]
	sum.Count(m.Status, by)
	a.counted[m.Namespace] = sum
}

// addCounts adds to the batch's counters what an entry that was not refused has counted.
func (a *applying) addCounts() {
	for namespace, by := range a.counted { // sums: the order is free
		at := place{a.db, namespace}
		sum := a.namespaces[at]
		sum.Add(by)
		a.namespaces[at] = sum
	}
}

// writeCounts writes the counters of databases and namespaces, once a batch.
func (t *txn) writeCounts(of func(oplog.DB) bool) {
	for db, stats := range t.counters {
		if of(db) {
			write(t, tStats, db, statsKey, stats)
		}
	}
	for at, by := range t.namespaces {
		if of(at.db) {
			key := joinKey(at.namespace, "")
			sum := load[oplog.Counts](t, tNamespaceSum, at.db, key)
			sum.Add(by)
			write(t, tNamespaceSum, at.db, key, &sum)
		}
	}
}

// Namespaces walks the namespaces that have memories, in the order of their keys, behind one; "" begins with the first.
func (v *View) Namespaces(db oplog.DB, after string, f func(string, oplog.Counts) bool) {
	start := []byte(nil)
	if after != "" {
		start = append(joinKey(after, ""), 0)
	}
	for k, val := range v.scanFrom(tNamespaceSum, db, start) {
		name, _ := cutKey(k)
		if sum := decode[oplog.Counts](val); sum != (oplog.Counts{}) && !f(string(name), sum) {
			return
		}
	}
}

// NamespaceStats are a namespace's counters.
func (v *View) NamespaceStats(db oplog.DB, namespace string) oplog.Counts {
	return load[oplog.Counts](v.txn, tNamespaceSum, db, joinKey(namespace, ""))
}
