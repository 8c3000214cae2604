package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/redact"
)

// correct changes a memory in place and keeps what it was as a revision.
func (s *Service) correct(ctx context.Context, c api.Caller, q *api.CorrectRequest) (*api.Corrected, error) {
	if strings.TrimSpace(q.Reason) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'reason'")
	}
	if q.Text != nil && strings.TrimSpace(*q.Text) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "new_text: want words, got a blank text")
	}
	now, err := s.current(c.DB)
	if err != nil {
		return nil, err
	}
	err = cmp.Or(fits("text", len(orOld(q.Text, "")), MaxText), fits("metadata", len(q.Merge), MaxMetadata), fits("reason", len(q.Reason), MaxMetadata),
		finite("importance", orOld(q.Importance, 0)), finite("valence", orOld(q.Valence, 0)), finite("certainty", orOld(q.Certainty, 0)), CheckVector(q.Embedding, int(now.Database.Dim)))
	if err != nil {
		return nil, err
	}
	if len(q.Merge) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(q.Merge, &object) != nil {
			return nil, oplog.Errorf(oplog.Invalid, "metadata to merge is not a JSON object")
		}
	}
	secrets := &redactor{now.Redact, redact.Found{}}
	if err := secrets.correction(s, c.DB, q); err != nil {
		return nil, err
	}
	op := &oplog.Correct{RID: q.RID, Text: q.Text, Importance: q.Importance, Valence: q.Valence, Certainty: q.Certainty, Pin: q.Pin, Merge: q.Merge,
		Vector: oplog.MakeVector(q.Embedding), Reason: q.Reason, At: oplog.At(time.Now())}
	asks := write{key: q.Key, digest: digest("correct", q.RID, q.Reason, values(q.Text), values(q.Importance, q.Valence, q.Certainty), values(q.Pin), q.Merge, q.Embedding, values(q.Expected))}
	w, err := s.change(ctx, c, op, q.Expected, asks)
	return &api.Corrected{RID: q.RID, Corrected: q.RID, Original: q.RID, Revision: w.First.Num, Index: field.Token(w.Index), Redacted: secrets.found.Kinds()}, err
}

// change writes a correction, with what its text names and, where the client gave none, its vector. The correction is
// refused if the memory is at another revision than expected, where one is. The first result of the answer is that of
// the correction.
func (s *Service) change(ctx context.Context, c api.Caller, op *oplog.Correct, expected *uint32, w write) (Written, error) {
	if op.Text != nil {
		var err error
		if op.Extractor, op.Entities, op.Claims, err = s.extract(c.DB, *op.Text); err != nil {
			return Written{}, err
		}
		if len(op.Vector) == 0 {
			vecs, err := s.embed(ctx, c, []string{*op.Text})
			if err != nil {
				return Written{}, err
			}
			op.Vector = vecs[0]
		}
	}
	if expected != nil {
		w.ops = append(w.ops, &oplog.Expect{RID: op.RID, Revision: *expected})
	}
	w.ops = append(w.ops, op)
	done, err := s.propose(ctx, c, w)
	if errors.Is(err, oplog.ErrRevision) {
		return Written{}, s.revisionConflict(c.DB, op.RID, *expected, err)
	}
	if err == nil {
		done.First = done.Results[len(w.ops)-1]
	}
	return done, err
}

// revisionConflict refuses the change of a memory that another client has changed meanwhile, and names both revisions.
func (s *Service) revisionConflict(db oplog.DB, rid string, expected uint32, cause error) error {
	now, err := read(s, func(v *state.View) uint32 {
		if m, ok := v.Memory(db, rid); ok {
			return m.Revision
		}
		return expected
	})
	if err != nil || now == expected {
		return cause
	}
	return &api.Refusal{Code: "revision_conflict", More: map[string]any{"expected_revision": expected, "revision": now},
		Err: oplog.Errorf(oplog.Conflict, "memory %s is at revision %d, the request expects revision %d: read it again, then decide", rid, now, expected)}
}

// values are the values behind a request's pointers, for its digest.
func values[T any](list ...*T) []any {
	all := make([]any, len(list))
	for i, p := range list {
		if p != nil {
			all[i] = *p
		}
	}
	return all
}
