package state

import (
	"bytes"
	"encoding/binary"

	"github.com/cairndb/cairn/oplog"
)

// NamespaceFrom walks the numbers of a namespace's records upwards, beginning at from.
func (v *View) NamespaceFrom(db oplog.DB, namespace string, from oplog.Seq, f func(oplog.Seq) bool) {
	prefix := joinKey(namespace, "")
	for k := range v.scanFrom(tNamespace, db, nameKey(namespace, from)) {
		if !bytes.HasPrefix(k, prefix) || !f(seqOf(k)) {
			return
		}
	}
}

// NamespaceBack is NamespaceFrom downwards, over the numbers less than below; 0 begins at the newest.
func (v *View) NamespaceBack(db oplog.DB, namespace string, below oplog.Seq, f func(oplog.Seq) bool) {
	for k := range v.scanBelow(tNamespace, db, joinKey(namespace, ""), belowSeq(below)) {
		if !f(seqOf(k)) {
			return
		}
	}
}

// InNamespace walks a namespace's records, the newest first.
func (v *View) InNamespace(db oplog.DB, namespace string, f func(*oplog.Memory) bool) {
	v.memoriesOf(db, v.scanBelow(tNamespace, db, joinKey(namespace, ""), nil), f)
}

// countStatus adds a memory to the counters (by +1), or removes it before it changes (by -1).
func (a *entryTxn) countStatus(m *oplog.Memory, by int64) {
	a.stats.Count(m.Status, by)
	sum := a.counted[m.Namespace]
	sum.Count(m.Status, by)
	a.counted[m.Namespace] = sum
	if at := m.Expiry(); by > 0 && at != 0 && a.exists(tExpiry, a.db, timeKey(at, m.Seq)) {
		a.putExpiry(m, at)
	}
	if m.Status == oplog.Quarantined {
		a.listQuarantined(m, by > 0)
	}
}

// addCounts adds the counts of an accepted entry to those of the batch.
func (a *entryTxn) addCounts() {
	for namespace, by := range a.counted { // sums: the order is free
		at := namespaceID{a.db, namespace}
		sum := a.namespaces[at]
		sum.Add(by)
		a.namespaces[at] = sum
	}
}

// writeCounts writes the counters of databases and namespaces. It runs once a batch.
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

// Namespaces walks the namespaces in within that have memories, in key order, after one; "" begins at the first. It
// does not read the other namespaces.
func (v *View) Namespaces(db oplog.DB, within oplog.Spaces, after string, f func(string, oplog.Counts) bool) {
	start := []byte(nil)
	if after != "" {
		start = append(joinKey(after, ""), 0)
	}
	expired := v.unsweptCounts(db)
	for more := true; more; {
		more = false
		for k, val := range v.scanFrom(tNamespaceSum, db, start) {
			name, _ := cutKey(k)
			if !within.Has(string(name)) {
				start, more = nextWithin(within, k), true
				break
			}
			sum := decode[oplog.Counts](val)
			sum.Add(expired[string(name)])
			if sum != (oplog.Counts{}) && !f(string(name), sum) {
				return
			}
		}
	}
}

// nextWithin returns the first key after behind that a namespace in within can have. Keys of shorter names come
// first, so a prefix has one range for each length.
func nextWithin(within oplog.Spaces, behind []byte) (next []byte) {
	least := func(length int, prefix string) {
		k := append(binary.BigEndian.AppendUint32(nil, uint32(length)), prefix...)
		if bytes.Compare(k, behind) > 0 && (next == nil || bytes.Compare(k, next) < 0) {
			next = k
		}
	}
	length := int(binary.BigEndian.Uint32(behind))
	for _, p := range within {
		least(len(p), p)
		least(max(length, len(p)+1), p+"/")
		least(max(length, len(p))+1, p+"/")
	}
	return next
}

// EachNamespace walks the namespaces within reach.
func (v *View) EachNamespace(db oplog.DB, r oplog.Reach, f func(string, oplog.Counts) bool) {
	if r.Name == "" {
		v.Namespaces(db, r.Within, "", f)
	} else if r.Has(r.Name) {
		f(r.Name, v.NamespaceStats(db, r.Name))
	}
}

// NamespaceStats returns a namespace's counters.
func (v *View) NamespaceStats(db oplog.DB, namespace string) oplog.Counts {
	sum := load[oplog.Counts](v.txn, tNamespaceSum, db, joinKey(namespace, ""))
	sum.Add(v.unsweptCounts(db)[namespace])
	return sum
}

// ReachStats returns the counters of all namespaces within reach.
func (v *View) ReachStats(db oplog.DB, r oplog.Reach) (sum oplog.Counts) {
	if r.All() {
		return v.Stats(db).Counts
	}
	v.EachNamespace(db, r, func(_ string, n oplog.Counts) bool {
		sum.Add(n)
		return true
	})
	return sum
}
