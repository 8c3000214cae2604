package oplog

import (
	"maps"
	"slices"
)

// numStatuses is how many statuses a memory may have.
const numStatuses = int(Tombstoned) + 1

// NamespaceStats are how many memories a namespace has, by status.
type NamespaceStats struct {
	Active       uint64 `msgpack:"a"`
	Consolidated uint64 `msgpack:"c"`
	Tombstoned   uint64 `msgpack:"t"`
}

func (s *NamespaceStats) add(status Status, by int64) {
	n := map[Status]*uint64{Active: &s.Active, Consolidated: &s.Consolidated, Tombstoned: &s.Tombstoned}[status]
	*n = uint64(int64(*n) + by)
}

// countNamed notes what the entry changes in a namespace; putNamed writes it down when the entry stands.
func (a *applying) countNamed(m *Memory, by int64) {
	if a.named == nil {
		a.named = map[string]*[numStatuses]int64{}
	}
	d := a.named[m.Namespace]
	if d == nil {
		d = new([numStatuses]int64)
		a.named[m.Namespace] = d
	}
	d[m.Status] += by
}

// putNamed keeps the sums. A namespace of a state that was written without sums is counted once, when it changes next:
// so the sums are a function of the rows, whenever they were begun.
func (a *applying) putNamed() {
	for _, ns := range slices.Sorted(maps.Keys(a.named)) {
		sum, ok := read[NamespaceStats](a.txn, tNamespaceSum, a.db, joinKey(ns, ""))
		if !ok {
			sum = a.countNamespace(a.db, ns)
		} else {
			for status, by := range a.named[ns] {
				sum.add(Status(status), by)
			}
		}
		write(a.txn, tNamespaceSum, a.db, joinKey(ns, ""), &sum)
	}
}

// countNamespace counts the rows themselves.
func (t *txn) countNamespace(db DB, namespace string) (sum NamespaceStats) {
	prefix := joinKey(namespace, "")
	t.scan(tNamespace, db, prefix, func(k, _ []byte) bool {
		if m, ok := read[Memory](t, tMemory, db, seqKey(Seq(beUint64(k[len(prefix):])))); ok {
			sum.add(m.Status, +1)
		}
		return true
	})
	return sum
}

// NamespaceStats are a namespace's counters.
func (v *View) NamespaceStats(db DB, namespace string) NamespaceStats {
	if sum, ok := read[NamespaceStats](v.txn, tNamespaceSum, db, joinKey(namespace, "")); ok {
		return sum
	}
	return v.countNamespace(db, namespace)
}
