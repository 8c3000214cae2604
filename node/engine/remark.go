package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// A formerState is a memory as of the revision that an undo restores.
type formerState struct {
	m      *oplog.Memory
	was    *oplog.Revision
	by     string // the memory that superseded it then
	surely bool
	number uint32 // its revision when the undo is applied
	ends   bool   // the undo changes its text or place, and so ends its present findings
}

// beforeMerge is a source of a merge or split as it was before; ok is false for one that THINK merged, whose marks
// stay. The note of a merge has no mark any more: what superseded the source is in the revision before.
func beforeMerge(v *state.View, db oplog.DB, m *oplog.Memory) (f formerState, ok bool) {
	all := v.Revisions(db, m.Seq)
	if len(all) == 0 || all[len(all)-1].Until != m.Updated {
		return f, false
	}
	f = formerState{m: m, was: &all[len(all)-1], number: all[len(all)-1].Number}
	if len(all) == 1 {
		return f, true
	}
	before := &all[len(all)-2]
	f.by, f.surely = before.By, before.Surely
	if by, marked := strings.CutPrefix(before.Reason, oplog.SupersededBy); marked {
		f.by = by
		if o, ok := v.Memory(db, by); ok {
			set := v.Settings(db)
			r, ok := mind.Read(o.Text).Replaces(m.Text, mind.Relations{Single: set.Single, Several: set.Several})
			f.surely = ok && r.How == mind.Stated && isSingleStatement(m.Text)
		}
	}
	return f, true
}

// marksOf returns the marks that ended since memories were as they were, in the order in which they can be made: on
// what the memories superseded, as far as that still says the same, and on themselves. Their records are among the
// contradictions that ended.
func marksOf(v *state.View, db oplog.DB, all []formerState) (list []oplog.Mark) {
	then := map[string]uint32{}
	for _, f := range all {
		then[f.m.RID] = f.number
	}
	for _, f := range all {
		for c := range v.ConflictsOf(db, f.m.RID) {
			o, ok := v.Memory(db, c.Other(f.m.RID))
			if ok && c.Detected <= f.was.Until {
				list = append(list, f.endedMarks(v, db, o, c, then)...)
			}
		}
	}
	created := func(k oplog.Mark) oplog.Time {
		m, _ := v.Memory(db, k.RID)
		return m.Created
	}
	slices.SortStableFunc(list, func(a, b oplog.Mark) int { return cmp.Compare(created(a), created(b)) }) // one is marked before what supersedes it is
	return list
}

// endedMarks returns the mark that a contradiction with another memory was about. then has the revisions of the
// memories that the undo brings back.
func (f formerState) endedMarks(v *state.View, db oplog.DB, o *oplog.Memory, c oplog.ConflictRow, then map[string]uint32) (list []oplog.Mark) {
	restated := c.Strategy == oplog.Restated && c.Resolved >= f.was.Until
	c.ID, c.Note, c.Winner, c.Merged = oplog.NewID(), "", "", ""
	if o.RID == f.by && (restated || c.Strategy == oplog.Superseded) {
		at, back := then[o.RID]
		for range state.MaxScan { // something newer may supersede that one by now, or it was merged
			next, ok := v.Memory(db, cmp.Or(o.By, o.Into))
			if !ok || back {
				break
			}
			o = next
			at, back = then[o.RID]
		}
		if !back {
			at = o.Revision
		}
		return []oplog.Mark{{RID: f.m.RID, Revision: f.number, By: o.RID, ByRevision: at, Surely: f.surely, Record: c}}
	}
	if !restated || o.Status != oplog.Active {
		return nil
	}
	for _, r := range v.Revisions(db, o.Seq) {
		if r.By == f.m.RID && r.Until == c.Resolved && r.Text == o.Text {
			k := oplog.Mark{RID: o.RID, Revision: o.Revision, By: f.m.RID, ByRevision: f.number, Surely: r.Surely, Record: c}
			if f.ends && o.By == f.m.RID {
				k.Revision++ // the undo makes it current first
			}
			list = append(list, k)
		}
	}
	return list
}

// marksOfUndo returns the marks of an undo, and those that follow from comparing a text that it brings back with what
// was stored or changed since the text was replaced.
func (s *Service) marksOfUndo(ctx context.Context, db oplog.DB, op *oplog.Correct, was *oplog.Revision, now uint32) ([]oplog.Mark, error) {
	m, err := s.memory(db, op.RID)
	if err != nil || m.RID == "" || op.Text == nil || m.Text == was.Text {
		return op.Marks, err
	}
	m.Text, m.By, m.Unsearchable, m.Namespace, m.Revision = was.Text, "", was.Hidden, cmp.Or(was.Namespace, m.Namespace), now+1
	found, err := s.findMarks(ctx, db, &m, m.Created, op.At)
	if err != nil {
		return nil, err
	}
	list := append([]oplog.Mark{}, op.Marks...) // not nil, which says nothing of marks
	return list, s.state.Inspect(func(v *state.View) {
		for _, k := range found {
			rid := k.By
			if rid == m.RID {
				rid = k.RID
			}
			if o, ok := v.Memory(db, rid); ok && o.Updated > was.Until {
				list = append(list, k)
			}
		}
	})
}
