package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
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
	w, err := s.change(ctx, c, op)
	if err != nil {
		return nil, err
	}
	return &api.Corrected{RID: q.RID, Corrected: q.RID, Original: q.RID, Revision: w.Results[0].Num, Index: w.Index}, nil
}

// change writes a correction, with what its text names and, where the client gave none, its vector.
func (s *Service) change(ctx context.Context, c api.Caller, op *oplog.Correct) (Written, error) {
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
	return s.write(ctx, c, write{ops: []oplog.Op{op}})
}

// undo is a correction back to a revision. Its reason says so where the client gives none.
func (s *Service) undo(ctx context.Context, c api.Caller, q *api.UndoRequest) (*api.Undone, error) {
	if len(q.Reason) > MaxMetadata {
		return nil, oplog.Errorf(oplog.TooLarge, "a reason of %d bytes is over %d", len(q.Reason), MaxMetadata)
	}
	was, err := s.revision(c.DB, q)
	if err != nil {
		return nil, err
	}
	if was.Metadata == nil {
		was.Metadata = []byte("{}") // nil leaves it as it is
	}
	op := &oplog.Correct{RID: q.RID, Text: &was.Text, Importance: &was.Importance, Valence: &was.Valence, Certainty: &was.Certainty, Metadata: was.Metadata,
		Reason: cmp.Or(q.Reason, fmt.Sprintf("back to revision %d", was.Number)), At: oplog.At(time.Now())}
	w, err := s.change(ctx, c, op)
	if err != nil {
		return nil, err
	}
	return &api.Undone{RID: q.RID, Text: was.Text, Restored: was.Number, Revision: w.Results[0].Num, Index: w.Index}, nil
}

// revision is what a memory goes back to.
func (s *Service) revision(db oplog.DB, q *api.UndoRequest) (was oplog.Revision, err error) {
	err = s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(db, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		if m.Status == oplog.Tombstoned {
			return oplog.Errorf(oplog.Conflict, "memory %s was forgotten, which cannot be undone: store what it said as a new memory", q.RID)
		}
		all := v.Revisions(db, m.Seq)
		if len(all) == 0 {
			return oplog.Errorf(oplog.Conflict, "memory %s was never corrected: there is nothing to undo", q.RID)
		}
		if was = all[len(all)-1]; q.Revision == nil {
			return nil
		}
		at := slices.IndexFunc(all, func(r oplog.Revision) bool { return r.Number == *q.Revision })
		if at < 0 {
			return oplog.Errorf(oplog.NotFound, "memory %s has no revision %d: it has %d to %d", q.RID, *q.Revision, all[0].Number, was.Number)
		}
		was = all[at]
		return nil
	})
	return was, err
}
