package engine

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
	"github.com/cairndb/cairn/oplog/state"
)

// correct changes a memory in place and keeps what it was as a revision.
func (s *Service) correct(ctx context.Context, c api.Caller, q *api.CorrectRequest) (*api.Corrected, error) {
	if strings.TrimSpace(q.Reason) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'reason'")
	}
	if q.Text != nil && len(*q.Text) > MaxText {
		return nil, oplog.Errorf(oplog.TooLarge, "text of %d bytes is over %d", len(*q.Text), MaxText)
	}
	if len(q.Merge) > MaxMetadata || len(q.Reason) > MaxMetadata {
		return nil, oplog.Errorf(oplog.TooLarge, "metadata or reason is over %d bytes", MaxMetadata)
	}
	if len(q.Merge) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(q.Merge, &object) != nil {
			return nil, oplog.Errorf(oplog.Invalid, "metadata to merge is not a JSON object")
		}
	}
	for name, v := range map[string]*float64{"importance": q.Importance, "valence": q.Valence, "certainty": q.Certainty} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return nil, oplog.Errorf(oplog.Invalid, "%s is not a finite number", name)
		}
	}
	dim, err := s.dimension(c.DB)
	if err != nil {
		return nil, err
	}
	if err := CheckVector(q.Embedding, dim); err != nil {
		return nil, err
	}
	op := &oplog.Correct{RID: q.RID, Text: q.Text, Importance: q.Importance, Valence: q.Valence, Certainty: q.Certainty, Merge: q.Merge,
		Vector: oplog.MakeVector(q.Embedding), Reason: q.Reason, At: oplog.At(time.Now())}
	asks := write{key: q.Key, digest: digest("correct", q.RID, q.Reason, values(q.Text), values(q.Importance, q.Valence, q.Certainty), q.Merge, q.Embedding, values(q.Expected))}
	w, err := s.change(ctx, c, op, q.Expected, asks)
	if err != nil {
		return nil, err
	}
	return &api.Corrected{RID: q.RID, Corrected: q.RID, Original: q.RID, Revision: w.Results[0].Num, Index: w.Index}, nil
}

// change writes a correction, with what its text names and, where the client gave none, its vector. The correction is refused if the memory is
// at another revision than expected, where one is. The answer has the one result of the correction.
func (s *Service) change(ctx context.Context, c api.Caller, op *oplog.Correct, expected *uint32, w write) (Written, error) {
	if op.Text != nil {
		said, err := s.extract(c.DB, *op.Text)
		if err != nil {
			return Written{}, err
		}
		op.Extractor, op.Entities, op.Claims = extract.Version, said.entities, said.claims
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
	done, err := s.write(ctx, c, w)
	if errors.Is(err, oplog.ErrRevision) {
		return Written{}, s.movedOn(c.DB, op.RID, *expected, err)
	}
	if err != nil {
		return Written{}, err
	}
	done.Results = done.Results[len(w.ops)-1:]
	return done, nil
}

// movedOn is the refusal of a change of a memory that was changed meanwhile: it names both revisions.
func (s *Service) movedOn(db oplog.DB, rid string, expected uint32, cause error) error {
	now := expected
	err := s.state.Read(func(v *state.View) error {
		if m, ok := v.Memory(db, rid); ok {
			now = m.Revision
		}
		return nil
	})
	if err != nil || now == expected {
		return cause
	}
	return &api.Refusal{Code: "revision_conflict", More: map[string]any{"expected_revision": expected, "revision": now},
		Err: oplog.Errorf(oplog.Conflict, "memory %s is at revision %d, the request expects revision %d: read it again, then decide", rid, now, expected)}
}

// values are what pointers of a request point to, for its digest.
func values[T any](list ...*T) []any {
	all := make([]any, len(list))
	for i, p := range list {
		if p != nil {
			all[i] = *p
		}
	}
	return all
}
