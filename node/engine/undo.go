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

// undo takes back the last change of a memory: a merge or a split, or else a correction or a move, by a correction back
// to a revision. Its reason says so where the client gives none.
//
// Invariant: an undo that names no revision expects the one that it was decided from, so a correction that comes
// between is not undone in place of the one that was looked at.
func (s *Service) undo(ctx context.Context, c api.Caller, q *api.UndoRequest) (*api.Undone, error) {
	if err := fits("reason", len(q.Reason), MaxMetadata); err != nil {
		return nil, err
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil { // a correction that another node acknowledged is there to be undone
		return nil, err
	}
	end, err := s.endOf(c, q)
	switch {
	case err != nil:
		return nil, err
	case end != nil:
		return s.takeBack(ctx, c, q, end)
	}
	if done, err := s.known(ctx, c, q); err != nil || done != nil {
		return done, err
	}
	was, now, err := s.revision(c.DB, q)
	if err != nil {
		return nil, err
	}
	expected := q.Expected
	if q.Revision == nil && expected == nil {
		expected = &now
	}
	if was.Metadata == nil {
		was.Metadata = []byte("{}") // nil leaves it as it is
	}
	if was.Expires != 0 && was.Expires <= oplog.At(s.now()) {
		was.Expires = 0 // its time has passed since: going back to it would forget the memory
	}
	if was.Attributes == nil {
		was.Attributes = []byte("{}")
	}
	op := &oplog.Correct{RID: q.RID, Text: &was.Text, Importance: &was.Importance, Valence: &was.Valence, Certainty: &was.Certainty, Pin: &was.Pin, Metadata: was.Metadata, Attributes: was.Attributes,
		Expires: &was.Expires, Searchable: new(!was.Hidden),
		Reason: cmp.Or(q.Reason, fmt.Sprintf("back to revision %d", was.Number)), At: oplog.At(time.Now())}
	if was.Path != "" {
		op.Path = &was.Path
	}
	if was.Namespace != "" {
		if err := mayMoveTo(c, was.Namespace); err != nil {
			return nil, err
		}
		op.Namespace = &was.Namespace
	}
	if was.By == "" {
		op.Marks = []oplog.Mark{{RID: q.RID}}
	}
	w, err := s.change(ctx, c, op, expected, write{key: q.Key, digest: undoDigest(q)})
	if err != nil {
		return nil, err
	}
	done := &api.Undone{RID: q.RID, Text: was.Text, Restored: was.Number, Revision: w.First.Num, Index: field.Token(w.Index)}
	if w.Replayed {
		return done, s.redescribe(c.DB, q, done)
	}
	return done, nil
}

// redescribe makes the answer to a repeated undo the one that its key got first: the memory may be at a later revision
// by now.
func (s *Service) redescribe(db oplog.DB, q *api.UndoRequest, done *api.Undone) error {
	made := uint32(done.Revision)
	done.Restored = api.OrOld(q.Revision, made-2) // made-1 was undone
	return s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(db, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		done.Text = m.Text
		all := v.Revisions(db, m.Seq)
		if i := slices.IndexFunc(all, func(r oplog.Revision) bool { return r.Number == made }); i >= 0 {
			done.Text = all[i].Text
		}
		return nil
	})
}

// revision returns the revision that a memory goes back to, and the number of its current one.
func (s *Service) revision(db oplog.DB, q *api.UndoRequest) (was oplog.Revision, now uint32, err error) {
	err = s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(db, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		if m.Status == oplog.Tombstoned {
			return oplog.Errorf(oplog.Conflict, "memory %s was forgotten, which cannot be undone: store what it said as a new memory", q.RID)
		}
		if m.Status == oplog.Consolidated {
			return oplog.Errorf(oplog.Conflict, "memory %s was merged or split, into %s: undo without a revision takes that back", q.RID, strings.Join(madeOf(m), ", "))
		}
		all := v.Revisions(db, m.Seq)
		if len(all) == 0 {
			return oplog.Errorf(oplog.Conflict, "memory %s was never corrected: there is nothing to undo", q.RID)
		}
		was, now = all[len(all)-1], m.Revision
		if q.Revision != nil {
			i := slices.IndexFunc(all, func(r oplog.Revision) bool { return r.Number == *q.Revision })
			if i < 0 {
				return noRevision(q.RID, *q.Revision, all)
			}
			was = all[i]
		}
		if was.Erased != 0 {
			return oplog.Errorf(oplog.Conflict, "revision %d of memory %s was erased for good: name another with revision", was.Number, q.RID)
		}
		return nil
	})
	return was, now, err
}

// noRevision refuses a revision that a memory does not have among its earlier ones.
func noRevision(rid string, number uint32, all []oplog.Revision) error {
	if len(all) == 0 {
		return oplog.Errorf(oplog.NotFound, "memory %s has no earlier revision: it was never corrected", rid)
	}
	oldest, newest := all[0].Number, all[len(all)-1].Number
	return &api.Refusal{Code: "revision_not_found", More: map[string]any{"oldest": oldest, "newest": newest},
		Err: oplog.Errorf(oplog.NotFound, "memory %s has no earlier revision %d: it has %s", rid, number, span(oldest, newest))}
}

func span(from, to uint32) string {
	if from == to {
		return fmt.Sprintf("only revision %d", from)
	}
	return fmt.Sprintf("revisions %d to %d", from, to)
}
