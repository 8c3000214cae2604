package state

import (
	"bytes"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

// purgeStep bounds the rows that one Purge reads, and so the cost of an entry.
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

// eraseAll erases the memories that are not erased yet, and notes this record as the last purge.
func (a *entryTxn) eraseAll(found []*oplog.Memory, at oplog.Time) (r oplog.Result) {
	gone, named := map[string]bool{}, map[string][]string{} // by session
	for _, m := range found {
		if m.Status == oplog.Tombstoned && erased(m) {
			continue
		}
		gone[m.RID] = true
		named[m.Session] = append(named[m.Session], m.Entities...)
		if a.erase(m, at) {
			r.Num++
			r.Rows = append(r.Rows, m.RID)
		}
	}
	if len(gone) > 0 {
		for session, names := range named { // each its own row: the order is free
			a.eraseTopics(session, names)
		}
		a.eraseThoughts(gone)
		a.dropPartitions()
		a.notePurge()
	}
	r.Changed = r.Num > 0
	return r
}

// notePurge notes this record as the last one that erased something of the database.
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

// erased reports whether a memory has no content left.
func erased(m *oplog.Memory) bool {
	return m.Text == "" && m.Metadata == nil && m.Attributes == nil && m.Reason == "" && m.Path == "" && len(m.Entities) == 0 &&
		len(m.Keys) == 0
}

// erase forgets a memory and removes its content and everything derived from it: revisions, vectors, names, claims,
// the raw event that it summarises, quotes in conflicts, idempotency keys. Its id, its times, and its namespace, tier,
// owner and session stay.
func (a *entryTxn) erase(m *oplog.Memory, at oplog.Time) (live bool) {
	live = m.Status != oplog.Tombstoned
	key := seqKey(m.Seq)
	a.erasePaths(m, at)
	for k := range a.scan(tRevision, a.db, key) {
		a.del(tRevision, a.db, k)
	}
	a.del(tVector, a.db, key)
	a.del(tVectorOdd, a.db, key)
	a.dropClaims(m)
	a.unlink(m, nil)
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

// eraseTopics removes names of erased memories from the topics of an ended session, unless others of its memories have
// them.
func (a *entryTxn) eraseTopics(session string, names []string) {
	s, ok := read[oplog.Session](a.txn, tSession, a.db, []byte(session))
	if !ok || !slices.ContainsFunc(s.Topics, func(t string) bool { return slices.Contains(names, t) }) {
		return
	}
	left := a.sessionNames(session)
	s.Topics = slices.DeleteFunc(s.Topics, func(t string) bool { return slices.Contains(names, t) && left[t] == 0 })
	write(a.txn, tSession, a.db, []byte(session), &s)
}

// eraseConflicts removes what the conflicts of a side say, and dismisses open ones.
func (a *entryTxn) eraseConflicts(side string, at oplog.Time) {
	for c := range a.ConflictsOf(a.db, side) {
		c.Reason, c.Entity, c.Relation, c.Note = "", "", "", ""
		a.closeConflict(&c, oplog.Dismiss, at)
	}
}

// eraseEvent removes the content of the raw event that a memory summarises. The event's hash stays, so that it is not
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

// eraseKeys removes the idempotency keys under which a memory was stored or corrected: a key may hold a client's
// words, and its digest depends on the text.
func (a *entryTxn) eraseKeys(m *oplog.Memory) {
	for _, key := range m.Keys {
		k, ok := read[keyRecord](a.txn, tKey, a.db, []byte(key))
		if !ok || !slices.ContainsFunc(k.Results, func(r oplog.Result) bool { return r.ID == m.RID }) {
			continue // expired, or used by another request since
		}
		a.del(tKey, a.db, []byte(key))
		a.del(tKeyExpiry, a.db, expiryKey(k.Expires, key))
	}
}

// eraseThoughts removes triggers and patterns made from the memories, or about names that no longer are entities, and
// clients' feedback on the memories.
func (a *entryTxn) eraseThoughts(gone map[string]bool) {
	any := func(rids []string) bool { return slices.ContainsFunc(rids, func(rid string) bool { return gone[rid] }) }
	isGone := func(name string) bool { return !a.exists(tEntity, a.db, []byte(name)) }
	for k, v := range a.scan(tPattern, a.db, nil) {
		if p := decode[oplog.Pattern](v); any(p.Sources) || slices.ContainsFunc(p.Entities, isGone) {
			a.del(tPattern, a.db, k)
		}
	}
	for _, v := range a.scan(tTrigger, a.db, nil) {
		t := decode[oplog.TriggerRow](v)
		if any(t.Sources) || len(t.Sources) == 0 && t.Entity != "" && isGone(t.Entity) && !a.hasPattern(t.Entity) {
			a.dropTrigger(&t)
		}
	}
	for k, v := range a.scan(tFeedback, a.db, nil) {
		if gone[decode[oplog.Judgement](v).RID] {
			a.del(tFeedback, a.db, k)
		}
	}
}

// hasPattern reports whether there is the pattern that a trigger is about: it is named by its key, or by the entity and
// the kind of the pattern.
func (a *entryTxn) hasPattern(named string) bool {
	if a.exists(tPattern, a.db, []byte(named)) {
		return true
	}
	cut := strings.LastIndexByte(named, '/')
	return cut >= 0 && a.exists(tPattern, a.db, []byte(named[cut+1:]+"\x00"+named[:cut]))
}

// keyPurged, of tControl, holds the index of the last record that erased something. Files from before it may hold
// erased data.
var keyPurged = []byte("purged")

// keyPurgedGone, of tControl, holds the greatest such index of dropped databases.
var keyPurgedGone = []byte("purged-gone")

// Purged returns the index of the last record that erased something; 0 for none.
func (v *View) Purged() oplog.Index { return oplog.Index(beUint64(v.get(tControl, 0, keyPurged))) }

// Purges holds the last purge of each database. Its log has nothing from before that.
type Purges struct {
	By   map[oplog.DB]oplog.Index // for each existing database, the last record that erased something; 0 for none
	Gone oplog.Index              // the greatest such index of dropped databases
}

// Purges returns the purges of all databases.
func (v *View) Purges() Purges {
	p := Purges{By: map[oplog.DB]oplog.Index{}, Gone: oplog.Index(beUint64(v.get(tControl, 0, keyPurgedGone)))}
	for _, d := range v.Databases() {
		p.By[d.ID] = d.Purged
	}
	return p
}

// Since returns the databases that were purged after a record; all reports whether a dropped one may be among them.
func (p Purges) Since(at oplog.Index) (dbs []oplog.DB, all bool) {
	for db, purged := range p.By {
		if purged > at {
			dbs = append(dbs, db)
		}
	}
	slices.Sort(dbs)
	return dbs, p.Gone > at
}

// of returns the last purge of a database. For a dropped one, it returns the greatest of all dropped databases.
func (p Purges) of(db oplog.DB) oplog.Index {
	if purged, there := p.By[db]; there || db == 0 {
		return purged
	}
	return p.Gone
}

// Erase returns a record without its purged entries; nil if the record has none.
func (p Purges) Erase(index uint64, rec []byte) ([]byte, error) {
	return oplog.EraseEntries(rec, func(db oplog.DB) bool { return oplog.Index(index) <= p.of(db) })
}
