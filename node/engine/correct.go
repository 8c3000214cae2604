package engine

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
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
	if q.Text != nil {
		said, err := s.extract(c.DB, *q.Text)
		if err != nil {
			return nil, err
		}
		op.Extractor, op.Entities, op.Claims = extract.Version, said.entities, said.claims
		if len(op.Vector) == 0 {
			vecs, err := s.embed(ctx, c, []string{*q.Text})
			if err != nil {
				return nil, err
			}
			op.Vector = vecs[0]
		}
	}
	w, err := s.write(ctx, c, write{ops: []oplog.Op{op}})
	if err != nil {
		return nil, err
	}
	return &api.Corrected{RID: q.RID, Corrected: q.RID, Original: q.RID, Revision: w.Results[0].Num, Index: w.Index}, nil
}
