package node

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
)

// A Correction changes a memory in place. Nil fields stay as they are.
type Correction struct {
	Reason     string
	Text       *string
	Importance *float64
	Valence    *float64
	Certainty  *float64
	Merge      []byte    // JSON object whose members replace those of the metadata; null removes one
	Vector     []float32 // of the new text; without one the memory has none until it is embedded again
}

// Correct changes a memory and keeps what it was as a revision.
func (s *Service) Correct(ctx context.Context, c Caller, rid string, n Correction) (revision uint64, w Written, err error) {
	if n.Text != nil && len(*n.Text) > MaxText {
		return 0, w, oplog.Errorf(oplog.TooLarge, "text of %d bytes is over %d", len(*n.Text), MaxText)
	}
	if len(n.Merge) > MaxMetadata || len(n.Reason) > MaxMetadata {
		return 0, w, oplog.Errorf(oplog.TooLarge, "metadata or reason is over %d bytes", MaxMetadata)
	}
	if len(n.Merge) > 0 {
		var object map[string]json.RawMessage
		if json.Unmarshal(n.Merge, &object) != nil {
			return 0, w, oplog.Errorf(oplog.Invalid, "metadata to merge is not a JSON object")
		}
	}
	for name, v := range map[string]*float64{"importance": n.Importance, "valence": n.Valence, "certainty": n.Certainty} {
		if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0)) {
			return 0, w, oplog.Errorf(oplog.Invalid, "%s is not a finite number", name)
		}
	}
	dim, err := s.dimension(c.DB)
	if err != nil {
		return 0, w, err
	}
	if err := CheckVector(n.Vector, dim); err != nil {
		return 0, w, err
	}
	op := &oplog.Correct{RID: rid, Text: n.Text, Importance: n.Importance, Valence: n.Valence, Certainty: n.Certainty, Merge: n.Merge,
		Vector: oplog.MakeVector(n.Vector), Reason: n.Reason, At: oplog.At(time.Now())}
	if n.Text != nil {
		said, err := s.extract(c.DB, *n.Text)
		if err != nil {
			return 0, w, err
		}
		op.Extractor, op.Entities, op.Claims = extract.Version, said.entities, said.claims
		if len(op.Vector) == 0 {
			vecs, err := s.embed(ctx, c, []string{*n.Text})
			if err != nil {
				return 0, w, err
			}
			op.Vector = vecs[0]
		}
	}
	w, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{op}})
	if err != nil {
		return 0, w, err
	}
	return w.Results[0].Num, w, nil
}

// Revisions are what a memory was before each correction, oldest first.
func (s *Service) Revisions(ctx context.Context, c Caller, rid string, f Freshness) (r []oplog.Revision, err error) {
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		m, ok := v.Memory(c.DB, rid)
		if !ok {
			return oplog.ErrNoMemory
		}
		r = v.Revisions(c.DB, m.Seq)
		return nil
	})
	return r, err
}

// Timeline are the memories around one, oldest first: what was stored shortly before and after it in its namespace.
func (s *Service) Timeline(ctx context.Context, c Caller, rid string, n int) (list []*oplog.Memory, err error) {
	err = s.read(ctx, c, Stale, func(v *oplog.View) error {
		m, ok := v.Memory(c.DB, rid)
		if !ok {
			return oplog.ErrNoMemory
		}
		list = v.Around(c.DB, m, n)
		return nil
	})
	return list, err
}
