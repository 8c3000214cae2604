package state

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
)

// inheritedTrust returns the trust class of something made from a memory: the lower of the memory's class and class.
// A blank class does not count.
func inheritedTrust(class string, from *oplog.Memory) string {
	if class == "" {
		return oplog.TrustOf(from.Trust)
	}
	return oplog.LowestTrust(class, from.Trust)
}

// restamp sets a memory's stamp to that of the writer who replaced its text. The class does not rise, because part of
// the old text may remain. But if the text is exactly that of an earlier revision, the memory gets that revision's
// class.
func (a *entryTxn) restamp(m *oplog.Memory, by *oplog.Stamp) {
	if by.Trust == "" {
		return
	}
	class := oplog.LowestTrust(m.Trust, by.Trust)
	m.Stamp, m.Trust = *by, class
	if oplog.TrustBelow(class, by.Trust) == 0 {
		return
	}
	looked, size := 0, 0
	each(a.scanBelow(tRevision, a.db, seqKey(m.Seq), nil), func(r oplog.Revision) bool {
		if was := oplog.LowestTrust(r.Trust, by.Trust); r.Text == m.Text && oplog.TrustBelow(m.Trust, was) > 0 {
			m.Trust = was
		}
		looked, size = looked+1, size+len(r.Text)
		return looked < maxStampRevisions && size < maxStampBytes
	})
}

// maxStampRevisions and maxStampBytes bound the newest revisions that restamp compares, and their texts.
const (
	maxStampRevisions = 100
	maxStampBytes     = 4 << 20
)

// release lets a memory out of quarantine, and into the session that it names.
func (a *entryTxn) release(m *oplog.Memory, op *oplog.Correct) {
	rejectf(m.Status != oplog.Quarantined, oplog.Conflict, "memory %s is %s: only one in quarantine can be released", m.RID, m.Status)
	rejectf(op.Text == nil, oplog.Invalid, "a memory is released with its text")
	a.countStatus(m, -1)
	m.Status = oplog.Active
	a.countStatus(m, +1)
	a.detached = true // it must not join a session that is active now
	a.joinSession(m, nil)
	a.detached = false
}

// listQuarantined adds a memory to the list of quarantined ones, or removes it.
func (a *entryTxn) listQuarantined(m *oplog.Memory, in bool) {
	if in {
		a.put(tQuarantined, a.db, seqKey(m.Seq), nil)
	} else {
		a.del(tQuarantined, a.db, seqKey(m.Seq))
	}
}

// Quarantined walks the memories in quarantine after a number, the oldest first.
func (v *View) Quarantined(db oplog.DB, behind oplog.Seq, f func(*oplog.Memory) bool) {
	v.memoriesOf(db, v.scanBehind(tQuarantined, db, seqKey(behind)), func(m *oplog.Memory) bool {
		return m.Status != oplog.Quarantined || f(m) // the next sweep forgets an expired one
	})
}

// Sources returns the memories that m was made of: those that were merged into it, or the sides of the conflict that
// it resolved. A client can write the metadata that names them, so Sources checks it against the state.
func (v *View) Sources(db oplog.DB, m *oplog.Memory) []string {
	if m.Merged > 0 {
		return v.MadeFrom(db, m)
	}
	var said struct {
		Conflict string `json:"conflict_id"`
	}
	if json.Unmarshal(m.Metadata, &said) != nil || said.Conflict == "" {
		return nil
	}
	if c, ok := v.Conflict(db, said.Conflict); ok && c.Merged == m.RID {
		return []string{c.A, c.B}
	}
	return nil
}
