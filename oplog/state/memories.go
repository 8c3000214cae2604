package state

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// Memories walks the records by sequence number, beginning at from.
func (v *View) Memories(db oplog.DB, from oplog.Seq, f func(*oplog.Memory) bool) {
	v.StoredMemories(db, from, func(m *oplog.Memory) bool { return f(v.forReaders(m)) })
}

// MemoriesBack walks the records downwards, over the numbers less than below; 0 begins at the newest.
func (v *View) MemoriesBack(db oplog.DB, below oplog.Seq, f func(*oplog.Memory) bool) {
	each(v.scanBelow(tMemory, db, nil, belowSeq(below)), func(m oplog.Memory) bool { return f(v.forReaders(&m)) })
}

// A TimePosition is a position in a walk by time: a time, and the number of a memory of that time.
type TimePosition struct {
	At  oplog.Time
	Seq oplog.Seq
}

// Recent walks the records by creation time, the newest first; with a place, only those before it.
func (v *View) Recent(db oplog.DB, before TimePosition, f func(*oplog.Memory) bool) {
	var below []byte
	if before != (TimePosition{}) {
		below = timeKey(before.At, before.Seq)
	}
	v.memoriesOf(db, v.scanBelow(tCreated, db, nil, below), f)
}

// Between walks the memories created from a place up to a time, exclusive, the oldest first.
func (v *View) Between(db oplog.DB, from TimePosition, to oplog.Time, f func(*oplog.Memory) bool) {
	v.timed(tCreated, db, from, to, f)
}

// Due walks the memories that are due from a place up to a time, exclusive, the soonest first.
func (v *View) Due(db oplog.DB, from TimePosition, to oplog.Time, f func(*oplog.Memory) bool) {
	v.timed(tDue, db, from, to, f)
}

// Past walks the memories that were corrected, merged or forgotten after a time, as they are now, without those that
// were forgotten in quarantine. A memory may come twice.
func (v *View) Past(db oplog.DB, after oplog.Time, f func(*oplog.Memory) bool) {
	more := true
	v.memoriesOf(db, v.scanFrom(tPast, db, timeKey(after, 0)), func(m *oplog.Memory) bool {
		more = f(m)
		return more
	})
	if more { // expired and not swept yet
		v.timed(tExpiry, db, TimePosition{At: after}, v.Time().Time()+1, func(m *oplog.Memory) bool {
			stored, _ := v.StoredMemoryAt(db, m.Seq)
			return stored.Status == oplog.Quarantined || f(m)
		})
	}
}

// Around returns a memory and up to n active memories of its namespace created before it and n after it, oldest
// first. kept converts each of them. cut reports whether the bound on scanned rows may have hidden others.
func (v *View) Around(db oplog.DB, m *oplog.Memory, n int, kept func(*oplog.Memory) *oplog.Memory) (all []*oplog.Memory, cut bool) {
	const scan = 100 // rows scanned for each wanted memory
	side := func(created rows) (list []*oplog.Memory) {
		seen := 0
		v.memoriesOf(db, created, func(o *oplog.Memory) bool {
			if len(list) == n || seen == scan*n {
				cut = cut || len(list) < n
				return false
			}
			if seen++; o.Status == oplog.Active && o.Namespace == m.Namespace {
				list = append(list, kept(o))
			}
			return true
		})
		return list
	}
	at := timeKey(m.Created, m.Seq)
	before := side(v.scanBelow(tCreated, db, nil, at))
	slices.Reverse(before)
	return append(append(before, kept(m)), side(v.scanBehind(tCreated, db, at))...), cut
}

// AsOf returns a memory as it was at a time; ok is false if it did not exist yet or was forgotten.
func (v *View) AsOf(db oplog.DB, m *oplog.Memory, at oplog.Time) (*oplog.Memory, bool) {
	if m.Created > at || m.Status == oplog.Quarantined || m.Status != oplog.Active && m.Updated <= at {
		return nil, false
	}
	was := *m
	was.Status, was.Into = oplog.Active, ""
	if m.Revision == 0 {
		return &was, true
	}
	for _, r := range v.Revisions(db, m.Seq) {
		if r.Until > at {
			restoreRevision(&was, &r)
			return &was, !r.Held && r.Erased == 0
		}
	}
	return &was, true
}

// restoreRevision sets a memory's fields to those of a revision.
func restoreRevision(m *oplog.Memory, r *oplog.Revision) {
	m.Text, m.Importance, m.Valence, m.Certainty, m.Pin, m.Metadata, m.Path = r.Text, r.Importance, r.Valence, r.Certainty, r.Pin, r.Metadata, r.Path
	if r.Namespace != "" { // an import may leave it out
		m.Namespace = r.Namespace
	}
	m.Expires, m.Unsearchable, m.Attributes, m.By, m.Surely = r.Expires, r.Hidden, r.Attributes, r.By, r.Surely
	m.Revision, m.Updated, m.Stamp = r.Number, cmp.Or(r.From, m.Created), r.Stamp
}

// AtRevision returns a memory as it was at a revision, before it was forgotten or merged; ok is false if the state
// does not have that revision.
func (v *View) AtRevision(db oplog.DB, m *oplog.Memory, number uint32) (was *oplog.Memory, ok bool) {
	was = new(*m)
	was.Status, was.Into, was.Reason = oplog.Active, "", ""
	if ok = m.Revision == number; !ok {
		var r oplog.Revision
		if r, ok = read[oplog.Revision](v.txn, tRevision, db, revisionKey(m.Seq, number)); ok {
			restoreRevision(was, &r)
			ok = r.Erased == 0
		}
	}
	return was, ok
}

// maxCorrectedScan bounds the revisions that Corrected reads.
const maxCorrectedScan = 64

// Corrected returns the time at which a memory's text was last corrected; 0 for never. Corrections of other fields do
// not count: they make the text no newer. A text that an undo restored has the undo's time. If more than
// maxCorrectedScan other corrections followed, Corrected returns the time of the earliest one that it read.
func (v *View) Corrected(db oplog.DB, m *oplog.Memory) oplog.Time {
	if m.Revision == 0 {
		return 0
	}
	looked := 0
	for _, raw := range v.scanBack(tRevision, db, seqKey(m.Seq)) {
		r := decode[oplog.Revision](raw)
		if looked++; r.Number < m.Revision && r.Text != m.Text || looked == maxCorrectedScan {
			return r.Until
		}
	}
	return 0
}

// RIDs walks the ids of memories in order after from, or downwards before it; a blank from begins at the end. Ids
// that Cairn makes are in order of time.
func (v *View) RIDs(db oplog.DB, from string, down bool, f func(rid string, seq oplog.Seq) bool) {
	all := v.scan(tRID, db, nil)
	switch {
	case down && from == "":
		all = v.scanBack(tRID, db, nil)
	case down:
		all = v.scanBelow(tRID, db, nil, []byte(from))
	case from != "":
		all = v.scanBehind(tRID, db, []byte(from))
	}
	for rid, seq := range all {
		if !f(string(rid), seqOf(seq)) {
			return
		}
	}
}

// timed walks the memories of a table that is ordered by time.
func (v *View) timed(table tableID, db oplog.DB, from TimePosition, to oplog.Time, f func(*oplog.Memory) bool) {
	between := span{appendRow(nil, table, db, timeKey(from.At, from.Seq)), appendRow(nil, table, db, timeKey(to, 0))}
	v.memoriesOf(db, v.walkTable(between, false), f)
}

// memoriesOf calls f for the memories whose numbers end the keys of rows.
func (v *View) memoriesOf(db oplog.DB, numbered rows, f func(*oplog.Memory) bool) {
	for k := range numbered {
		if m, ok := v.MemoryAt(db, seqOf(k)); ok && !f(m) {
			return
		}
	}
}

// belowSeq returns the key where a backward walk begins; nil begins at the newest.
func belowSeq(below oplog.Seq) []byte {
	if below == 0 {
		return nil
	}
	return seqKey(below)
}
