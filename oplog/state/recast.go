package state

import (
	"slices"

	"github.com/cairndb/cairn/oplog"
)

func applyRecast(a *entryTxn, op *oplog.Recast) oplog.Result {
	merge, split := len(op.Sources) > 1 && len(op.Into) == 1, len(op.Sources) == 1 && len(op.Into) > 1
	rejectf(!merge && !split || len(op.Sources)+len(op.Into) > oplog.MaxRecast+1, oplog.Invalid,
		"want 2 to %d memories to merge into one, or one to split into as many", oplog.MaxRecast)
	sources := a.requireUnchanged(op.Sources, oplog.Active)
	for i := range op.Into {
		a.rejectErasedText(op.Into[i].Text)
	}
	reason := "merged"
	if split {
		reason = "split"
	}
	if op.Reason != "" {
		reason = op.Reason
	}
	for _, s := range sources {
		rejectf(s.Namespace != sources[0].Namespace || s.Owner != sources[0].Owner, oplog.Conflict,
			"memories of several namespaces or owners are not merged: move them first")
		a.closeFindings(s, "what superseded it was "+reason, op.At)
		if s.By != "" {
			a.unmarkSuperseded(s, oplog.Restated, op.At)
		}
		a.revise(s, reason, op.At)
		a.movePath(s, "", op.At)
		a.putMemory(s)
	}
	rids := a.replaceBy(sources, op.Into, op.At)
	return oplog.Result{ID: op.Into[0].RID, Num: uint64(len(op.Into)), Rows: rids, Changed: true}
}

func applyTakeBack(a *entryTxn, op *oplog.TakeBack) oplog.Result {
	made := a.requireUnchanged(op.Made, oplog.Active)
	sources := a.requireUnchanged(op.Sources, oplog.Consolidated)
	r := oplog.Result{Num: uint64(len(sources)), Changed: true}
	for _, m := range made {
		rejectIf(!slices.ContainsFunc(sources, func(s *oplog.Memory) bool { return slices.Contains(madeOf(s), m.RID) }), oplog.ErrRevision)
		m.Reason = "taken back"
		a.forget(m, op.At)
		r.Rows = append(r.Rows, m.RID)
	}
	for _, m := range sources {
		if taken := a.unmerge(m, op.At); taken != nil {
			rejectFound(oplog.ErrPathTaken, taken, true)
		}
		a.putMemory(m)
		r.Rows = append(r.Rows, m.RID)
	}
	return r
}

// requireUnchanged returns memories. It rejects the entry unless each has the status and the revision that a decision
// was made from.
func (a *entryTxn) requireUnchanged(grounds []oplog.Grounds, status oplog.Status) []*oplog.Memory {
	list, seen := make([]*oplog.Memory, len(grounds)), map[string]bool{}
	for i, g := range grounds {
		m := a.knownMemory(g.RID)
		rejectIf(m.Status != status || m.Revision != g.Revision || seen[g.RID], oplog.ErrRevision)
		list[i], seen[g.RID] = m, true
	}
	return list
}

// unmerge makes a source of a merge or a split active again. It restores the fields that Recast stored as a revision.
// If another memory has the key by now, it does not restore the key and returns that memory; the revision stays, since
// it says that the memory had the key. A merge of THINK stored no revision.
func (a *entryTxn) unmerge(m *oplog.Memory, at oplog.Time) (taken *oplog.Memory) {
	a.countStatus(m, -1)
	noted := oplog.Revision{}
	if m.Revision > 0 {
		noted, _ = read[oplog.Revision](a.txn, tRevision, a.db, revisionKey(m.Seq, m.Revision-1))
	}
	merged := m.Updated
	m.Undone = append(m.Undone, wentInto(m)...) // all of them: also parts that were forgotten before
	m.Status, m.Into, m.Split, m.Updated = oplog.Active, "", nil, at
	if noted.Until == merged {
		m.Importance = noted.Importance
		if taken = a.pathConflict(m.Namespace, noted.Path); taken == nil {
			a.del(tRevision, a.db, revisionKey(m.Seq, noted.Number))
			m.Revision = noted.Number
			if m.Path = noted.Path; m.Path != "" {
				a.takePath(m, at)
			}
		}
	} else {
		m.Importance = min(m.Importance/sourceShare, 1)
	}
	a.countStatus(m, +1)
	a.putMemory(m)
	a.put(tPast, a.db, timeKey(at, m.Seq), nil)
	a.markForReread(m)
	return taken
}
