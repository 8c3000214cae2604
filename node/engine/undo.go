package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// undo reverts the last change of a memory: a merge or a split, or else a correction or a move, by a correction back
// to a revision. Without a reason from the client, its reason names the undo.
//
// Invariant: an undo that names no revision expects the revision that it was decided from, so it never undoes a
// correction that comes in between.
func (s *Service) undo(ctx context.Context, c api.Caller, q *api.UndoRequest) (*api.Undone, error) {
	if err := checkSize("reason", len(q.Reason), MaxMetadata); err != nil {
		return nil, err
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil { // a correction that another node acknowledged is there to be undone
		return nil, err
	}
	if done, err := s.undoneBefore(ctx, c, q); err != nil || done != nil {
		return done, err
	}
	end, err := s.planTakeBack(c, q)
	switch {
	case err != nil:
		return nil, err
	case end != nil:
		return s.takeBack(ctx, c, q, end)
	}
	op, was, now, err := s.planUndo(c, q)
	if err != nil {
		return nil, err
	}
	if op.Marks, err = s.marksOfUndo(ctx, c.DB, op, &was, now); err != nil {
		return nil, err
	}
	expected := q.Expected
	if q.Revision == nil && expected == nil {
		expected = &now
	}
	w, err := s.change(ctx, c, op, expected, write{key: q.Key, digest: undoDigest(q)})
	if err != nil {
		return nil, err
	}
	if w.Replayed {
		return s.describeFirst(c, q, w)
	}
	done := &api.Undone{RID: q.RID, Text: was.Text, Restored: was.Number, Revision: w.First.Num, Index: field.Token(w.Index)}
	return done, s.describeUndone(c.DB, q, done, false)
}

// describeUndone completes the answer to an undo. A repeated undo gets the answer of the first one, because the
// memory may be at a later revision by now.
func (s *Service) describeUndone(db oplog.DB, q *api.UndoRequest, done *api.Undone, again bool) error {
	return s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(db, q.RID)
		switch {
		case !ok && again:
			return oplog.ErrNoMemory
		case !ok:
			return nil // it was purged since
		}
		all := v.Revisions(db, m.Seq)
		if again {
			restoreAnswer(m, all, q, done)
		}
		changed := func(r oplog.Revision) bool { return uint64(r.Number)+1 == done.Revision && r.Text != done.Text }
		done.Missing = slices.ContainsFunc(all, changed) && unembedded(v, db, m)
		return nil
	})
}

// restoreAnswer returns the answer that an undo got when it was applied.
func restoreAnswer(m *oplog.Memory, all []oplog.Revision, q *api.UndoRequest, done *api.Undone) {
	made := uint32(done.Revision)
	done.Text = m.Text
	if i := slices.IndexFunc(all, func(r oplog.Revision) bool { return r.Number == made }); i >= 0 {
		done.Text = all[i].Text
	}
	i := slices.IndexFunc(all, func(r oplog.Revision) bool { return r.Number+1 >= made }) // the undo made one of its own
	if done.Restored = api.OrOld(q.Revision, 0); q.Revision == nil && i > 0 {
		done.Restored = all[lastChange(all[:i])].Number
	}
}

// unembedded reports whether a memory lacks a vector that only its client can provide.
func unembedded(v *state.View, db oplog.DB, m *oplog.Memory) bool {
	d, _ := v.Database(db)
	return d.Dim > 0 && (d.Embedder == nil || *d.Embedder == oplog.NoEmbedder) && m.Status == oplog.Active && m.Indexed() &&
		len(v.Vector(db, m.Seq)) == 0
}

// planUndo returns the correction that restores a revision of a memory, that revision, and the number of the current
// one.
func (s *Service) planUndo(c api.Caller, q *api.UndoRequest) (op *oplog.Correct, was oplog.Revision, now uint32, err error) {
	err = s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(c.DB, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		if was, err = revisionToRestore(v, c.DB, m, q.Revision); err != nil {
			return err
		}
		moves := was.Namespace != "" && was.Namespace != m.Namespace
		if moves && !c.Reach("").Has(was.Namespace) {
			return api.OutOfBound(c, "the memory was in namespace %q before, which is outside", was.Namespace)
		}
		now, op = m.Revision, correctionTo(&was, s.now())
		op.RID, op.Reason, op.At = q.RID, cmp.Or(q.Reason, fmt.Sprintf("back to revision %d", was.Number)), oplog.At(s.now())
		same := was.Text == m.Text
		op.Marks = marksOf(v, c.DB, []formerState{{m, &was, was.By, was.Surely, now + 1, !same || moves}})
		if was.By == "" && same {
			op.Marks = append(op.Marks, oplog.Mark{RID: q.RID})
		}
		if same && was.Hidden == m.Unsearchable && (q.Revision == nil || q.Expected != nil) { // what was read in it stays
			if op.Text = nil; moves && !m.Unsearchable { // but claims are of a namespace
				_, _, op.Claims = readText(v, c, m.Text)
			}
		}
		return nil
	})
	return op, was, now, err
}

// correctionTo returns a correction that sets every field to a revision's value. The text keeps its writer of that
// time; Apply gives it no higher class of trust than the memory has now.
func correctionTo(was *oplog.Revision, now time.Time) *oplog.Correct {
	if was.Metadata == nil {
		was.Metadata = []byte("{}") // nil leaves it as it is
	}
	if was.Expires != 0 && was.Expires <= oplog.At(now) {
		was.Expires = 0 // its time has passed since: going back to it would forget the memory
	}
	if was.Attributes == nil {
		was.Attributes = []byte("{}")
	}
	if was.Stamp != (oplog.Stamp{}) {
		was.Trust = oplog.TrustOf(was.Trust) // a blank class keeps the stamp that the memory has
	}
	op := &oplog.Correct{Text: &was.Text, Importance: &was.Importance, Valence: &was.Valence, Certainty: &was.Certainty,
		Pin: &was.Pin, Metadata: was.Metadata, Attributes: was.Attributes,
		Expires: &was.Expires, Searchable: new(!was.Hidden), Approval: oplog.Approval{Stamp: was.Stamp}}
	if was.Path != "" {
		op.Path = &was.Path
	}
	if was.Namespace != "" {
		op.Namespace = &was.Namespace
	}
	return op
}

// revisionToRestore returns the revision that an undo of a memory goes back to: the one of a number, or the last.
func revisionToRestore(v *state.View, db oplog.DB, m *oplog.Memory, number *uint32) (was oplog.Revision, err error) {
	if m.Status == oplog.Tombstoned {
		return was, oplog.Errorf(oplog.Conflict,
			"memory %s was forgotten, which cannot be undone: store what it said as a new memory", m.RID)
	}
	if m.Status == oplog.Consolidated {
		return was, oplog.Errorf(oplog.Conflict,
			"memory %s was merged or split, into %s: undo without a revision takes that back", m.RID, strings.Join(productsOf(m), ", "))
	}
	all := v.Revisions(db, m.Seq)
	if len(all) == 0 {
		return was, oplog.Errorf(oplog.Conflict, "memory %s was never corrected: there is nothing to undo", m.RID)
	}
	was = all[lastChange(all)]
	if number != nil {
		i := slices.IndexFunc(all, func(r oplog.Revision) bool { return r.Number == *number })
		if i < 0 {
			return was, noRevision(m.RID, *number, all)
		}
		was = all[i]
	}
	if was.Erased != 0 {
		return was, oplog.Errorf(oplog.Conflict, "revision %d of memory %s was erased for good: name another with revision",
			was.Number, m.RID)
	}
	return was, nil
}

// lastChange returns the revision before a memory's last change. A correction whose text another memory supersedes at
// once makes two revisions, but counts as one change.
func lastChange(all []oplog.Revision) int {
	last := len(all) - 1
	if last > 0 && all[last].From == all[last].Until && all[last].Text != all[last-1].Text &&
		strings.HasPrefix(all[last].Reason, oplog.SupersededBy) {
		return last - 1
	}
	return last
}

// noRevision returns the error for a revision that a memory does not have.
func noRevision(rid string, number uint32, all []oplog.Revision) error {
	if len(all) == 0 {
		return oplog.Errorf(oplog.NotFound, "memory %s has no earlier revision: it was never corrected", rid)
	}
	oldest, newest := all[0].Number, all[len(all)-1].Number
	return &api.Refusal{Code: "revision_not_found", More: map[string]any{"oldest": oldest, "newest": newest},
		Err: oplog.Errorf(oplog.NotFound, "memory %s has no earlier revision %d: it has %s", rid, number, revisionRange(oldest, newest))}
}

func revisionRange(from, to uint32) string {
	if from == to {
		return fmt.Sprintf("only revision %d", from)
	}
	return fmt.Sprintf("revisions %d to %d", from, to)
}
