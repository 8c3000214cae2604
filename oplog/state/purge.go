package state

import (
	"bytes"
	"encoding/hex"
	"slices"

	"github.com/cairndb/cairn/oplog"
)

// purgeStep bounds the rows one Purge looks at, and so what an entry may cost.
const purgeStep = 2000

func applyPurge(a *entryTxn, op *oplog.Purge) oplog.Result {
	if op.ForGood() {
		return a.eraseForGood(op)
	}
	from, herr := hex.DecodeString(op.From)
	rejectf(herr != nil || len(from) != 0 && len(from) != 16, oplog.Invalid, "a purge continues where the one before it ended")
	var found []*oplog.Memory
	next, looked := "", 0
	end := timeKey(op.Before, 0)
	for k := range a.scanFrom(tCreated, a.db, from) {
		if bytes.Compare(k, end) >= 0 {
			break
		}
		if looked++; looked > purgeStep {
			next = hex.EncodeToString(k)
			break
		}
		if m, ok := a.memoryAt(seqOf(k)); ok && purgeMatches(op, m) {
			found = append(found, m)
		}
	}
	r := a.eraseAll(found, op.At)
	r.ID = next
	return r
}

// eraseAll erases memories that are not erased yet, and notes that this record did.
func (a *entryTxn) eraseAll(found []*oplog.Memory, at oplog.Time) (r oplog.Result) {
	gone := map[string]bool{}
	for _, m := range found {
		if m.Status == oplog.Tombstoned && erased(m) {
			continue
		}
		gone[m.RID] = true
		if a.erase(m, at) {
			r.Num++
			r.Rows = append(r.Rows, m.RID)
		}
	}
	if len(gone) > 0 {
		a.eraseThoughts(gone)
		a.dropPartitions()
		a.notePurge()
	}
	r.Changed = r.Num > 0
	return r
}

// notePurge notes that this record erased something of the database.
func (a *entryTxn) notePurge() {
	a.put(tControl, 0, keyPurged, be64(uint64(a.index)))
	d := a.database()
	d.Purged = a.index
	a.setDatabase(d)
}

func purgeMatches(op *oplog.Purge, m *oplog.Memory) bool {
	return (op.Tier == "" || m.Tier == op.Tier || oplog.TierOf(m.Tier) == op.Tier) && (op.Owner == "" || m.Owner == op.Owner) &&
		(op.Namespace == "" || m.Namespace == op.Namespace)
}

// erased reports whether nothing of what a memory said is left in it.
func erased(m *oplog.Memory) bool {
	return m.Text == "" && m.Metadata == nil && m.Attributes == nil && m.Reason == "" && m.Path == "" && len(m.Entities) == 0 &&
		len(m.Keys) == 0
}

// erase forgets a memory and takes its content out of the state, with all that was made of it: revisions, vectors,
// names, claims, the raw event it is the summary of, what a conflict says of it, the topics of its session,
// idempotency keys. Only its id, its times and where it belonged stay.
func (a *entryTxn) erase(m *oplog.Memory, at oplog.Time) (live bool) {
	live = m.Status != oplog.Tombstoned
	key := seqKey(m.Seq)
	a.erasePaths(m, at)
	for k := range a.scan(tRevision, a.db, key) {
		a.del(tRevision, a.db, k)
	}
	a.del(tVector, a.db, key)
	a.del(tVectorOdd, a.db, key)
	names := m.Entities
	a.dropClaims(m)
	a.unlink(m, nil)
	a.eraseTopics(m.Session, names)
	a.eraseConflicts(m.RID, at)
	a.eraseEvent(m.RID)
	a.eraseKeys(m)
	m.Text, m.Metadata, m.Attributes, m.Entities, m.Keys = "", nil, nil, nil, nil
	m.Speaker, m.Emotion, m.Reason, m.Domain, m.Source = "", "", "", "", ""
	m.Stamp = oplog.Stamp{Trust: m.Trust}
	if live {
		a.forget(m, at)
	} else {
		a.putMemory(m)
	}
	return live
}

// eraseTopics takes names that are entities no longer from the topics of a session that has ended.
func (a *entryTxn) eraseTopics(session string, names []string) {
	s, ok := read[oplog.Session](a.txn, tSession, a.db, []byte(session))
	if !ok {
		return
	}
	kept := slices.DeleteFunc(slices.Clone(s.Topics), func(t string) bool {
		return slices.Contains(names, t) && !a.exists(tEntity, a.db, []byte(t))
	})
	if len(kept) < len(s.Topics) {
		s.Topics = kept
		write(a.txn, tSession, a.db, []byte(session), &s)
	}
}

// eraseConflicts takes from conflicts what they quote of a memory. One that is open has nothing to decide on any more.
func (a *entryTxn) eraseConflicts(rid string, at oplog.Time) {
	for c := range a.ConflictsOf(a.db, rid) {
		c.Reason, c.Entity, c.Relation, c.Note = "", "", "", ""
		a.closeConflict(&c, oplog.Dismiss, at)
	}
}

// eraseEvent takes the content from the raw event that a memory is the summary of. Its hash stays, so that it is not
// captured again.
func (a *entryTxn) eraseEvent(rid string) {
	id := a.get(tEventSummary, a.db, []byte(rid))
	if id == nil {
		return
	}
	if e, ok := read[oplog.StoredEvent](a.txn, tEvent, a.db, id); ok {
		e.Payload, e.Packed, e.Dir = nil, false, ""
		write(a.txn, tEvent, a.db, id, &e)
	}
}

// eraseKeys takes away the idempotency keys under which a memory was stored or corrected: they are a client's words,
// and their digests are of its text.
func (a *entryTxn) eraseKeys(m *oplog.Memory) {
	for _, key := range m.Keys {
		k, ok := read[keyRecord](a.txn, tKey, a.db, []byte(key))
		if !ok || !slices.ContainsFunc(k.Results, func(r oplog.Result) bool { return r.ID == m.RID }) {
			continue // expired, or another request's by now
		}
		a.del(tKey, a.db, []byte(key))
		a.del(tKeyExpiry, a.db, expiryKey(k.Expires, key))
	}
}

// eraseThoughts takes away what THINK made of memories, and clients' words on them.
func (a *entryTxn) eraseThoughts(gone map[string]bool) {
	any := func(rids []string) bool { return slices.ContainsFunc(rids, func(rid string) bool { return gone[rid] }) }
	for _, v := range a.scan(tTrigger, a.db, nil) {
		if t := decode[oplog.TriggerRow](v); any(t.Sources) {
			a.dropTrigger(&t)
		}
	}
	for k, v := range a.scan(tPattern, a.db, nil) {
		if any(decode[oplog.Pattern](v).Sources) {
			a.del(tPattern, a.db, k)
		}
	}
	for k, v := range a.scan(tFeedback, a.db, nil) {
		if gone[decode[oplog.Judgement](v).RID] {
			a.del(tFeedback, a.db, k)
		}
	}
}

// keyPurged, of tControl, has the index of the last record that erased something: what files hold from before it may
// hold what was erased.
var keyPurged = []byte("purged")

// keyPurgedGone, of tControl, has the greatest such index among databases that were dropped.
var keyPurgedGone = []byte("purged-gone")

// Purged is the index of the last record that erased something; 0 for none.
func (v *View) Purged() oplog.Index { return oplog.Index(beUint64(v.get(tControl, 0, keyPurged))) }

// A Purges says which databases had something erased, and where: what is older is in no log.
type Purges struct {
	By   map[oplog.DB]oplog.Index // of those that there are: the last record that erased something, 0 for none
	Gone oplog.Index              // the greatest such of those that were dropped
}

// Purges returns the purges of all databases.
func (v *View) Purges() Purges {
	p := Purges{By: map[oplog.DB]oplog.Index{}, Gone: oplog.Index(beUint64(v.get(tControl, 0, keyPurgedGone)))}
	for _, d := range v.Databases() {
		p.By[d.ID] = d.Purged
	}
	return p
}

// Since are the databases that had something erased behind a record; all says that one that is no more was among them.
func (p Purges) Since(at oplog.Index) (dbs []oplog.DB, all bool) {
	for db, purged := range p.By {
		if purged > at {
			dbs = append(dbs, db)
		}
	}
	slices.Sort(dbs)
	return dbs, p.Gone > at
}

// of is up to which record a database had something erased; of one that was dropped, any of those may be it.
func (p Purges) of(db oplog.DB) oplog.Index {
	if purged, there := p.By[db]; there || db == 0 {
		return purged
	}
	return p.Gone
}

// Erase makes of a record that is kept for readers of the log what they may still read; nil where that is all of it.
func (p Purges) Erase(index uint64, rec []byte) ([]byte, error) {
	return oplog.EraseEntries(rec, func(db oplog.DB) bool { return oplog.Index(index) <= p.of(db) })
}
