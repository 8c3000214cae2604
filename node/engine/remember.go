package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// defaultHalfLife is that of a memory which says none, in hours.
const defaultHalfLife = 168

func (s *Service) rememberOne(ctx context.Context, c api.Caller, q *api.RememberRequest) (*api.Remembered, error) {
	d := q.Draft
	key := d.Key
	d.Key, d.Namespace = "", strings.TrimSpace(d.Namespace)
	r, err := s.store(ctx, c, key, d)
	if errors.Is(err, oplog.ErrKeyReused) {
		return nil, &api.Refusal{Code: "conflict", Err: err, More: map[string]any{"stored": false, "idempotency_conflict": true, "rid": s.keyed(c.DB, key)}}
	}
	if err != nil {
		return nil, quota(err)
	}
	return &api.Remembered{RID: r.RIDs[0], Index: r.Index, Replayed: r.Replayed}, nil
}

func (s *Service) rememberBatch(ctx context.Context, c api.Caller, q *api.RememberBatchRequest) (*api.RememberedBatch, error) {
	if len(q.Memories) > MaxBatch {
		return nil, oplog.Errorf(oplog.Invalid, "batch size exceeds %d", MaxBatch)
	}
	for i := range q.Memories {
		d := &q.Memories[i]
		if d.Namespace = strings.TrimSpace(d.Namespace); d.Key == "" && q.Key != "" {
			d.Key = fmt.Sprintf("%s:%d", q.Key, i)
		}
	}
	r, err := s.store(ctx, c, q.Whole, q.Memories...)
	if errors.Is(err, oplog.ErrKeyReused) {
		return nil, &api.Refusal{Code: "conflict", Err: err, More: map[string]any{"stored": false, "idempotency_conflict": true}}
	}
	if err != nil {
		return nil, quota(err)
	}
	return &api.RememberedBatch{RIDs: orEmpty(r.RIDs), Count: len(r.RIDs), Index: r.Index, Replayed: r.Replayed}, nil
}

// quota tells a database that is full from a request that is too large.
func quota(err error) error {
	var e *oplog.Error
	if errors.As(err, &e) && e.Kind == oplog.TooLarge && strings.Contains(e.Text, "quota") {
		return &api.Refusal{Code: "rate_limited", Err: e}
	}
	return err
}

// room refuses memories that would not fit a database, with the texts that clients match.
func (s *Service) room(c api.Caller, adding int) error {
	now, _, err := s.state.Current(c.DB)
	if current, most := now.Stats.Active, now.Database.MaxMemories; err == nil && most > 0 && current+uint64(adding) > most {
		return &api.Refusal{Code: "rate_limited",
			Err: oplog.Errorf(oplog.TooLarge, "would exceed memory quota: current=%d, adding=%d, max=%d", current, adding, most)}
	}
	return err
}

// keyed is the first memory that was stored under a key.
func (s *Service) keyed(db oplog.DB, key string) (rid string) {
	_ = s.state.Read(func(v *state.View) error { // a closing state knows none
		if r := v.KeyResults(db, key); len(r) > 0 {
			rid = r[0].ID
		}
		return nil
	})
	return rid
}

func (s *Service) forget(ctx context.Context, c api.Caller, q *api.ForgetRequest) (*api.Forgotten, error) {
	if len(q.Reason) > MaxReason {
		return nil, oplog.Errorf(oplog.TooLarge, "reason of %d bytes is over %d", len(q.Reason), MaxReason)
	}
	w, err := s.write(ctx, c, write{ops: []oplog.Op{&oplog.Forget{RID: q.RID, At: oplog.At(time.Now()), Reason: q.Reason}}})
	if err != nil {
		return nil, err
	}
	return &api.Forgotten{RID: q.RID, Found: w.Results[0].Changed, Index: w.Index}, nil
}

func (s *Service) get(_ context.Context, c api.Caller, q *api.GetRequest) (*api.Memory, error) {
	var row api.Memory
	return &row, s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(c.DB, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		row = memoryOf(m)
		if n := len(v.Vector(c.DB, m.Seq)); n > 0 {
			row.VectorBytes, row.Model = &n, embeddedBy(v, c.DB)
		}
		return nil
	})
}

// embeddedBy names what makes a database's vectors; nil where the clients bring them.
func embeddedBy(v *state.View, db oplog.DB) *string {
	if d, ok := v.Database(db); ok && d.Embedder != nil {
		return &d.Embedder.Name
	}
	return nil
}

func (s *Service) revisions(_ context.Context, c api.Caller, q *api.RevisionsRequest) (*api.RevisionList, error) {
	list := &api.RevisionList{RID: q.RID, Revisions: []api.Revision{}}
	return list, s.state.Read(func(v *state.View) error {
		m, ok := v.Memory(c.DB, q.RID)
		if !ok {
			return oplog.ErrNoMemory
		}
		for _, r := range v.Revisions(c.DB, m.Seq) {
			list.Revisions = append(list.Revisions, api.Revision{Number: r.Number, Text: r.Text, Importance: r.Importance, Valence: r.Valence, Certainty: r.Certainty,
				Reason: r.Reason, Until: r.Until.Seconds()})
		}
		return nil
	})
}

func (s *Service) current(ctx context.Context, c api.Caller, q *api.CurrentRequest) (*api.CurrentMemory, error) {
	ns := cmp.Or(strings.TrimSpace(q.Namespace), "default")
	list, err := s.newest(ctx, c, ns, 1)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, oplog.Errorf(oplog.NotFound, "namespace '%s' has no memories", ns)
	}
	return &api.CurrentMemory{Found: true, Namespace: ns, Record: memoryOf(list[0])}, nil
}
