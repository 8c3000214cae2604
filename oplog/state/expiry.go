package state

import "github.com/cairndb/cairn/oplog"

func applySweep(a *entryTxn, op *oplog.Sweep) (r oplog.Result) {
	for _, rid := range op.RIDs {
		if m, ok := memoryByRID(a.txn, a.db, rid); ok && m.ExpiredAt(a.hlc.Time()) {
			a.expire(m)
			r.Num, r.Changed = r.Num+1, true
		}
	}
	return r
}

// expire forgets a memory whose time is over.
func (a *entryTxn) expire(m *oplog.Memory) {
	m.Reason = oplog.ReasonExpired
	a.forget(m, max(m.Expires, m.Updated))
}

// reschedule moves a memory's row in tExpiry after a change. was is its Expiry before the change.
func (a *entryTxn) reschedule(m *oplog.Memory, was oplog.Time) {
	now := m.Expiry()
	if now == was {
		return
	}
	if was != 0 {
		a.del(tExpiry, a.db, timeKey(was, m.Seq))
		a.stats.Expiring--
	}
	if now != 0 {
		a.putExpiry(m, now)
		a.stats.Expiring++
	}
}

// putExpiry writes a memory's row in tExpiry. The row holds the status and the namespace under which the memory is
// counted, so that counts can leave out an expired memory without reading it.
func (a *entryTxn) putExpiry(m *oplog.Memory, at oplog.Time) {
	a.put(tExpiry, a.db, timeKey(at, m.Seq), append([]byte{byte(m.Status)}, m.Namespace...))
}

// renew extends the life of a memory that was read, if it has Refresh.
func (a *entryTxn) renew(m *oplog.Memory, read oplog.Time) {
	if m.Expires == 0 || m.Refresh <= 0 {
		return
	}
	was := m.Expiry()
	m.Expires = max(m.Expires, read+oplog.Time(min(m.Refresh, maxRefresh)*1e6))
	a.reschedule(m, was)
}

// maxRefresh bounds in seconds what a read adds to a memory's life: a century.
const maxRefresh = 100 * 365 * 86400

// setSearchable begins or ends the indexing of a memory. At the end it drops the entities, claims and vectors of the
// text.
func (a *entryTxn) setSearchable(m *oplog.Memory, searchable bool, op *oplog.Correct) {
	rejectf(searchable && m.Unsearchable && op.Text == nil, oplog.Invalid, "a memory becomes searchable with its text")
	if m.Unsearchable = !searchable; searchable {
		return
	}
	a.relink(m, nil, 0, op.At)
	a.dropClaims(m)
	a.dropVectors(m.Seq)
}

// forReaders returns a memory as readers see it: one that has expired by the view's time looks as the next Sweep will
// leave it.
func (v *View) forReaders(m *oplog.Memory) *oplog.Memory {
	if m.Expires != 0 && m.ExpiredAt(v.Time().Time()) {
		m.Expire()
	}
	return m
}

// StoredMemories is Memories, but gives the records as Apply wrote them: an expired one is active until a Sweep
// forgets it. It is for the index, whose content must not depend on when it was built.
func (v *View) StoredMemories(db oplog.DB, from oplog.Seq, f func(*oplog.Memory) bool) {
	each(v.scanFrom(tMemory, db, seqKey(from)), func(m oplog.Memory) bool { return f(&m) })
}

// StoredMemoryAt is MemoryAt for a record as Apply wrote it.
func (v *View) StoredMemoryAt(db oplog.DB, seq oplog.Seq) (*oplog.Memory, bool) {
	m, ok := read[oplog.Memory](v.txn, tMemory, db, seqKey(seq))
	return &m, ok
}

// Expiring walks the memories that expire up to a time, the earliest first.
func (v *View) Expiring(db oplog.DB, until oplog.Time, f func(*oplog.Memory) bool) {
	v.timed(tExpiry, db, TimePosition{At: oplog.FirstTime}, until+1, f)
}

// Unswept walks the numbers of the memories that have expired and that no Sweep has forgotten yet.
func (v *View) Unswept(db oplog.DB, f func(oplog.Seq) bool) {
	for k := range v.unsweptRows(db) {
		if !f(seqOf(k)) {
			return
		}
	}
}

// unsweptRows walks the rows of tExpiry whose time is over. It reads nothing in a database in which nothing expires.
func (v *View) unsweptRows(db oplog.DB) rows {
	if v.counters(db).Expiring == 0 {
		return func(func(k, v []byte) bool) {}
	}
	return v.walkTable(span{prefixSpan(tExpiry, db, nil).lower, appendRow(nil, tExpiry, db, timeKey(v.Time().Time()+1, 0))}, false)
}

// unsweptCounts returns the change that sweeping the memories of Unswept would make to each namespace's counts.
func (v *View) unsweptCounts(db oplog.DB) map[string]oplog.Counts {
	var by map[string]oplog.Counts // most often there are none
	for _, val := range v.unsweptRows(db) {
		if by == nil {
			by = map[string]oplog.Counts{}
		}
		sum := by[string(val[1:])]
		sum.Count(oplog.Status(val[0]), -1)
		sum.Count(oplog.Tombstoned, +1)
		by[string(val[1:])] = sum
	}
	return by
}
