package state

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

func applyRemember(a *entryTxn, op *oplog.Remember) oplog.Result {
	d := a.database()
	rejectf(op.RID == "", oplog.Invalid, "a memory needs an id")
	if first, known := a.lookupKey(op.Key, op.Digest); len(first) > 0 {
		return oplog.Result{ID: first[0].ID, Num: first[0].Num}
	} else if known {
		return oplog.Result{}
	}
	a.rejectErasedText(op.Text)
	if a.getNew(tRID, a.db, []byte(op.RID)) != nil {
		reject(oplog.Errorf(oplog.Conflict, "memory %s exists already", op.RID))
	}
	m := memoryOf(op)
	vector := op.Vector
	if !m.Indexed() {
		vector = nil
	}
	if len(vector) >= 4 {
		a.fitVector(vector)
	}
	if d.MaxMemories > 0 && a.stats.Active+a.stats.Quarantined >= d.MaxMemories {
		reject(oplog.Errorf(oplog.OverQuota, "database %s is at its quota of %d memories", d.Name, d.MaxMemories))
	}
	a.checkHistory(op.Was)
	rejectf(m.Status == oplog.Quarantined && m.Path != "", oplog.Denied, "a memory in quarantine has no key: store it without one")
	a.stats.NextSeq++
	m.Seq = oplog.Seq(a.stats.NextSeq)
	if m.Path != "" {
		a.takePath(m, pathSince(m, op.Was))
	}
	a.joinSession(m, op.Was)
	key := seqKey(m.Seq)
	a.putNew(tRID, a.db, []byte(m.RID), key)
	a.putNew(tCreated, a.db, timeKey(m.Created, m.Seq), nil)
	a.putNew(tNamespace, a.db, nameKey(m.Namespace, m.Seq), nil)
	if m.Due != 0 {
		a.putNew(tDue, a.db, timeKey(m.Due, m.Seq), nil)
	}
	if len(vector) > 0 {
		a.putNew(a.vectors(a.db), a.db, key, vector)
	}
	if m.Indexed() {
		a.relink(m, op.Entities, op.Extractor, m.Created)
	}
	a.reschedule(m, 0)
	a.noteKeys(m, op.Key, a.key)
	if op.Was != nil {
		a.putHistory(m, op.Was)
	}
	a.putNew(tMemory, a.db, key, a.encode(m))
	a.countStatus(m, +1)
	r := oplog.Result{ID: m.RID, Num: uint64(m.Seq), Changed: true}
	a.storeKey(op.Key, op.Digest, 0, []oplog.Result{r})
	a.stored = oplog.Stored{Memory: m, Vector: vector, Epoch: a.Embedding(a.db).Epoch}
	return r
}

func memoryOf(op *oplog.Remember) *oplog.Memory {
	m := &oplog.Memory{Content: op.Content, Past: oplog.Past{Status: oplog.Active, Accessed: op.Created}}
	if m.Updated == 0 {
		m.Updated = m.Created
	}
	if op.Was != nil {
		m.Past = op.Was.Past
	}
	if op.Held {
		m.Status, m.Into = oplog.Quarantined, ""
	}
	return m
}

func revisionKey(seq oplog.Seq, number uint32) []byte {
	return binary.BigEndian.AppendUint32(seqKey(seq), number)
}

func applyCorrect(a *entryTxn, op *oplog.Correct) oplog.Result {
	m := a.knownMemory(op.RID)
	if m.By != "" && op.Path != nil && (op.Namespace == nil || *op.Namespace == m.Namespace) {
		a.pathConflict(m.Namespace, *op.Path) // expires a memory that has the key: the one that supersedes m, perhaps
		m = a.knownMemory(op.RID)
	}
	a.admitCorrection(m, op)
	merged := mergeJSON(m.Metadata, op.Merge)
	expiry := m.Expiry()
	a.putRevision(m, op.Reason, op.At)
	m.Revision++
	m.Updated = op.At
	if op.Release {
		a.release(m, op)
	}
	setIfGiven(&m.Importance, op.Importance)
	setIfGiven(&m.Valence, op.Valence)
	setIfGiven(&m.Certainty, op.Certainty)
	setIfGiven(&m.Pin, op.Pin)
	setIfGiven(&m.Expires, op.Expires)
	a.reschedule(m, expiry)
	if op.Searchable != nil {
		a.setSearchable(m, *op.Searchable, op)
	}
	if op.Metadata != nil {
		m.Metadata = op.Metadata
	}
	if op.Merge != nil {
		m.Metadata = merged
	}
	if op.Namespace != nil && *op.Namespace != m.Namespace {
		a.moveTo(m, *op.Namespace, op)
	} else if op.Path != nil && *op.Path != m.Path {
		a.movePath(m, *op.Path, op.At)
	}
	if op.Attributes != nil {
		if m.Attributes = op.Attributes; string(m.Attributes) == "{}" {
			m.Attributes = nil
		}
	}
	if op.Text != nil {
		a.replaceText(m, op)
	}
	a.noteKeys(m, a.key)
	a.putMemory(m)
	if op.Text != nil || op.Searchable != nil || op.Namespace != nil {
		a.markForReread(m)
	}
	return oplog.Result{ID: m.RID, Num: uint64(m.Revision), Changed: true}
}

// admitCorrection rejects a correction of a memory that was merged or split: recall does not find that memory, and an
// undo restores it as it was. It also rejects a text that was erased for good.
func (a *entryTxn) admitCorrection(m *oplog.Memory, op *oplog.Correct) {
	rejectf(m.Status == oplog.Consolidated, oplog.Conflict, "memory %s was merged or split, into %s: correct that", m.RID,
		strings.Join(madeOf(m), ", "))
	if op.Text != nil {
		a.rejectErasedText(*op.Text)
	}
}

// replaceText sets a memory's text, and the entities and vector that were made from it.
func (a *entryTxn) replaceText(m *oplog.Memory, op *oplog.Correct) {
	same := m.Text == *op.Text
	if m.Text = *op.Text; !same {
		a.restamp(m, &op.Stamp)
		a.closeFindings(m, "what superseded it was corrected", op.At)
		if m.By != "" {
			a.unmarkSuperseded(m, oplog.Restated, op.At)
		}
	}
	if m.Indexed() {
		a.relink(m, op.Entities, op.Extractor, op.At)
	}
	a.dropClaims(m)
	if !same {
		a.dropVectors(m.Seq) // they are of the old text
	}
	if len(op.Vector) >= 4 && m.Indexed() {
		a.fitVector(op.Vector)
		a.put(a.vectors(a.db), a.db, seqKey(m.Seq), op.Vector)
	}
}

// setIfGiven sets a field to a correction's value; nil does not change it.
func setIfGiven[T any](field, by *T) {
	if by != nil {
		*field = *by
	}
}

func applyExpect(a *entryTxn, op *oplog.Expect) oplog.Result {
	m := a.knownMemory(op.RID)
	rejectIf(m.Revision != op.Revision, oplog.ErrRevision)
	return oplog.Result{ID: m.RID, Num: uint64(m.Revision)}
}

// mergeJSON copies the members of one object into another, one level deep. Names are sorted, so the result is the
// same on every node.
func mergeJSON(into, from []byte) []byte {
	if from == nil {
		return into
	}
	have, add := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	rejectf(len(into) > 0 && json.Unmarshal(into, &have) != nil, oplog.Invalid,
		"the memory's metadata is not a JSON object, so nothing can be merged into it")
	rejectf(json.Unmarshal(from, &add) != nil, oplog.Invalid, "metadata to merge is not a JSON object")
	if have == nil { // it was null
		have = map[string]json.RawMessage{}
	}
	for k, v := range add {
		if string(v) == "null" {
			delete(have, k)
		} else {
			have[k] = v
		}
	}
	b, err := json.Marshal(have)
	rejectf(err != nil, oplog.Invalid, "metadata cannot be merged")
	rejectf(len(b) > oplog.MaxMetadata, oplog.TooLarge, "merged metadata of %d bytes is over %d", len(b), oplog.MaxMetadata)
	return b
}

func applyForget(a *entryTxn, op *oplog.Forget) oplog.Result {
	m, ok := a.liveMemory(op.RID)
	if !ok {
		return oplog.Result{ID: op.RID} // forgetting a missing memory is not an error
	}
	m.Reason = op.Reason
	a.forget(m, op.At)
	return oplog.Result{ID: op.RID, Num: uint64(m.Seq), Changed: true}
}

// maxHalfLife bounds in seconds the half-life that reinforcement can reach: one year.
const maxHalfLife = 365 * 24 * 3600

func applyReinforce(a *entryTxn, op *oplog.Reinforce) oplog.Result {
	var n uint64
	for _, h := range op.Hits {
		m, ok := a.liveMemory(h.RID)
		if !ok || m.Status != oplog.Active {
			continue
		}
		m.Accessed = max(m.Accessed, h.At)
		for range min(h.Count, 100) { // 1.2^100 is past any cap: repeated products are exact on every machine
			m.HalfLife = math.Min(m.HalfLife*1.2, maxHalfLife)
		}
		m.Accesses += uint64(h.Count)
		a.renew(m, h.At)
		a.putMemory(m)
		n++
	}
	return oplog.Result{Num: n, Changed: n > 0}
}

// unchanged finds an active memory, if it is at the revision that a decision was made from.
func (a *entryTxn) unchanged(g oplog.Grounds) (*oplog.Memory, bool) {
	m, ok := a.liveMemory(g.RID)
	return m, ok && m.Status == oplog.Active && m.Revision == g.Revision
}

// forget tombstones a memory. It notes the time, so that questions about the past still find the memory, unless it was
// in quarantine, where no question found it.
func (a *entryTxn) forget(m *oplog.Memory, at oplog.Time) {
	expiry := m.Expiry()
	if m.Status != oplog.Quarantined {
		a.put(tPast, a.db, timeKey(at, m.Seq), nil)
	}
	a.countStatus(m, -1)
	m.Status, m.Updated = oplog.Tombstoned, at
	a.reschedule(m, expiry)
	a.dropClaims(m)
	a.closeFindings(m, "what superseded it was forgotten", at)
	if a.isSuperseded(m) {
		a.stats.Superseded--
	}
	a.freePath(m, at)
	a.countStatus(m, +1)
	a.putMemory(m)
	a.del(tReread, a.db, seqKey(m.Seq))
}

func (a *entryTxn) memoryAt(seq oplog.Seq) (*oplog.Memory, bool) {
	m, ok := read[oplog.Memory](a.txn, tMemory, a.db, seqKey(seq))
	return &m, ok
}

// lastChanged returns the time of a memory's last change.
func lastChanged(m *oplog.Memory) oplog.Time {
	if m.Revision == 0 {
		return m.Created
	}
	return m.Updated
}

// liveMemory finds a memory that is neither forgotten nor expired.
func (a *entryTxn) liveMemory(rid string) (*oplog.Memory, bool) {
	m, ok := memoryByRID(a.txn, a.db, rid)
	return m, ok && m.Status != oplog.Tombstoned && !m.ExpiredAt(a.hlc.Time())
}

// knownMemory is liveMemory, but rejects the entry if there is no such memory.
func (a *entryTxn) knownMemory(rid string) *oplog.Memory {
	m, ok := a.liveMemory(rid)
	rejectIf(!ok, oplog.ErrNoMemory)
	return m
}

func memoryByRID(t *txn, db oplog.DB, rid string) (*oplog.Memory, bool) {
	if rid == "" {
		return nil, false
	}
	seq := t.get(tRID, db, []byte(rid))
	if seq == nil {
		return nil, false
	}
	m, ok := read[oplog.Memory](t, tMemory, db, seq)
	return &m, ok
}

func (a *entryTxn) putMemory(m *oplog.Memory) { write(a.txn, tMemory, a.db, seqKey(m.Seq), m) }

func (a *entryTxn) putRevision(m *oplog.Memory, reason string, at oplog.Time) {
	write(a.txn, tRevision, a.db, revisionKey(m.Seq, m.Revision),
		&oplog.Revision{Number: m.Revision, Text: m.Text, Importance: m.Importance,
			Valence: m.Valence, Certainty: m.Certainty, Pin: m.Pin, Path: m.Path, Namespace: m.Namespace, Metadata: m.Metadata,
			Attributes: m.Attributes, Expires: m.Expires, Hidden: m.Unsearchable,
			Held: m.Status == oplog.Quarantined, By: m.By, Surely: m.Surely, From: lastChanged(m), Reason: reason, Until: at, Stamp: m.Stamp})
	a.put(tPast, a.db, timeKey(at, m.Seq), nil)
}

// Memory finds a record by its public id, in any status, unless it has expired.
func (v *View) Memory(db oplog.DB, rid string) (*oplog.Memory, bool) {
	m, ok := memoryByRID(v.txn, db, rid)
	if ok = ok && !v.forReaders(m).Expired(); !ok {
		return nil, false
	}
	return m, true
}

// Seq finds a record's dense number by its public id.
func (v *View) Seq(db oplog.DB, rid string) (oplog.Seq, bool) {
	if key := v.get(tRID, db, []byte(rid)); rid != "" && key != nil {
		return oplog.Seq(binary.BigEndian.Uint64(key)), true
	}
	return 0, false
}

// MemoryAt finds a record by its dense number.
func (v *View) MemoryAt(db oplog.DB, seq oplog.Seq) (*oplog.Memory, bool) {
	m, ok := v.StoredMemoryAt(db, seq)
	return v.forReaders(m), ok
}

// EachRevision walks a record's states before each correction, oldest first.
func (v *View) EachRevision(db oplog.DB, seq oplog.Seq, f func(oplog.Revision) bool) {
	each(v.scan(tRevision, db, seqKey(seq)), f)
}

// Revisions returns a record's states before each correction, oldest first.
func (v *View) Revisions(db oplog.DB, seq oplog.Seq) []oplog.Revision {
	return list[oplog.Revision](v.txn, tRevision, db, seqKey(seq))
}
