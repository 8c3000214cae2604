package engine

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// planTakeBack returns the operation that reverts the merge or split that a memory went into or came from; nil if its
// last change is neither. If such a memory was corrected since then, the correction is undone first.
func (s *Service) planTakeBack(c api.Caller, q *api.UndoRequest) (op *oplog.TakeBack, err error) {
	if q.Revision != nil {
		return nil, nil
	}
	return op, s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(c.DB, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		made, sources := []string(nil), []string(nil)
		if m.Status == oplog.Consolidated {
			made = productsOf(m)
		} else if sources = v.MadeFrom(c.DB, m); m.Status != oplog.Active || m.Revision > 0 || len(sources) == 0 {
			return nil
		} else if source, ok := v.Memory(c.DB, sources[0]); ok {
			made = productsOf(source)
		}
		op = &oplog.TakeBack{At: oplog.At(s.now())}
		return fillTakeBack(v, c, op, m, made)
	})
}

// fillTakeBack adds the remaining products of a merge or split, and all its sources.
func fillTakeBack(v *state.View, c api.Caller, op *oplog.TakeBack, m *oplog.Memory, made []string) error {
	var sources []string
	for _, rid := range made {
		x, ok := v.Memory(c.DB, rid)
		if !ok || x.Status == oplog.Tombstoned {
			continue
		}
		if x.Status == oplog.Consolidated {
			return oplog.Errorf(oplog.Conflict,
				"memory %s, which was made of %s, was merged or split itself, into %s: undo that first", rid, m.RID,
				strings.Join(productsOf(x), ", "))
		}
		if !c.Reach("").Has(x.Namespace) {
			return oplog.Errorf(oplog.NotFound, "what memory %s was merged or split into is outside of this token's namespaces", m.RID)
		}
		op.Made = append(op.Made, oplog.Grounds{RID: rid, Revision: x.Revision})
		for _, source := range v.MadeFrom(c.DB, x) {
			if !slices.Contains(sources, source) {
				sources = append(sources, source)
			}
		}
	}
	if m.Status == oplog.Consolidated && !slices.Contains(sources, m.RID) { // all that was made is gone
		sources = append(sources, m.RID)
	}
	var back []formerState
	for _, rid := range sources {
		x, ok := v.Memory(c.DB, rid)
		if !ok || x.Status != oplog.Consolidated {
			continue
		}
		op.Sources = append(op.Sources, oplog.Grounds{RID: rid, Revision: x.Revision})
		if !x.Unsearchable {
			_, _, claims := readText(v, c, x.Text)
			op.Texts = append(op.Texts, oplog.Statements{RID: rid, Claims: claims})
		}
		if f, ok := beforeMerge(v, c.DB, x); ok {
			back = append(back, f)
		}
	}
	op.Marks = marksOf(v, c.DB, back)
	return nil
}

// takeBack reverts a merge or a split.
func (s *Service) takeBack(ctx context.Context, c api.Caller, q *api.UndoRequest, op *oplog.TakeBack) (*api.Undone, error) {
	w := write{key: q.Key, digest: undoDigest(q)}
	if q.Expected != nil {
		w.ops = append(w.ops, &oplog.Expect{RID: q.RID, Revision: *q.Expected})
	}
	w.ops = append(w.ops, op)
	done, err := s.propose(ctx, c, w)
	if errors.Is(err, oplog.ErrRevision) {
		if q.Expected != nil {
			err = s.revisionConflict(c.DB, q.RID, *q.Expected, err)
		}
		return nil, s.sourceConflict(c.DB, op.Made, err)
	}
	if err != nil {
		return nil, keyConflict(c, err)
	}
	if done.Replayed {
		return s.describeFirst(c, q, done)
	}
	return s.describeTakeBack(c, q, done, done.Results[len(w.ops)-1])
}

// describeTakeBack returns the answer to an undo that reverted a merge or a split. The rows of its result are the
// products, then as many sources as its number says, then the memories that a product had superseded. Unlike a
// correction's result it has no id.
func (s *Service) describeTakeBack(c api.Caller, q *api.UndoRequest, done Written, r oplog.Result) (*api.Undone, error) {
	a := &api.Undone{RID: q.RID, Index: field.Token(done.Index)}
	return a, s.state.Inspect(func(v *state.View) {
		made := 0
		for made < len(r.Rows)-int(r.Num) && wasMade(v, c.DB, r.Rows[made], r.Rows[made+1:]) {
			made++
		}
		a.Gone, a.Back = r.Rows[:made], r.Rows[made:made+int(r.Num)]
		if m, ok := v.Memory(c.DB, q.RID); ok {
			a.Text, a.Restored, a.Revision = m.Text, m.Revision, uint64(m.Revision)
		}
	})
}

// wasMade reports whether a memory was made of one of others and taken back.
func wasMade(v *state.View, db oplog.DB, rid string, of []string) bool {
	return slices.ContainsFunc(of, func(source string) bool {
		m, ok := v.Memory(db, source)
		return ok && slices.Contains(m.Undone, rid)
	})
}

// undoneBefore returns the answer to a repeated undo, by its key, whatever has become of the memory since; nil if the
// key has no answer. By now there may be nothing to revert, so the operation that it proposes is rejected unless the
// key is known.
func (s *Service) undoneBefore(ctx context.Context, c api.Caller, q *api.UndoRequest) (*api.Undone, error) {
	known, err := state.Get(s.state, func(v *state.View) bool { return q.Key != "" && len(v.KeyResults(c.DB, q.Key)) > 0 })
	if err != nil || !known {
		return nil, err
	}
	never := &oplog.TakeBack{Made: []oplog.Grounds{{RID: q.RID, Revision: math.MaxUint32}}, At: oplog.At(s.now())}
	w, err := s.propose(ctx, c, write{key: q.Key, digest: undoDigest(q), ops: []oplog.Op{never}})
	if errors.Is(err, oplog.ErrRevision) || errors.Is(err, oplog.ErrNoMemory) {
		return nil, nil // the key has expired
	}
	if err != nil {
		return nil, err
	}
	return s.describeFirst(c, q, w)
}

// describeFirst returns the answer to an undo whose key answered. The undo reverted a correction, or else a merge or a
// split.
func (s *Service) describeFirst(c api.Caller, q *api.UndoRequest, w Written) (*api.Undone, error) {
	a := &api.Undone{RID: q.RID, Index: field.Token(w.Index)}
	for _, r := range w.Then {
		switch {
		case r.ID == q.RID && r.Changed:
			a.Revision = r.Num
			return a, s.describeUndone(c.DB, q, a, true)
		case r.ID == "" && len(r.Rows) > 0 && r.Num > 0:
			return s.describeTakeBack(c, q, w, r)
		}
	}
	return a, nil
}

func undoDigest(q *api.UndoRequest) []byte {
	return digest("undo", q.RID, q.Reason, deref(q.Revision, q.Expected))
}
