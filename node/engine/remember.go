package engine

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

func (s *Service) rememberOne(ctx context.Context, c api.Caller, q *api.RememberRequest) (*api.Remembered, error) {
	d := q.Draft
	key := d.Key
	d.Key, d.Namespace = "", strings.TrimSpace(d.Namespace)
	if !d.Expires.IsZero() && !d.Expires.After(s.now()) && !d.Pin && (key == "" || s.storedUnderKey(c, key) == "") {
		return nil, oplog.Errorf(oplog.Invalid, "expires_at: %s is in the past: no answer would return the memory",
			d.Expires.UTC().Format(time.RFC3339))
	}
	var near []api.Near
	if q.Near {
		near = s.findReplaceable(ctx, c, &d)
	}
	r, err := s.storeCompared(ctx, c, key, true, []api.Draft{d})
	if errors.Is(err, oplog.ErrKeyReused) {
		refused := keyReused(err)
		refused.More["rid"] = s.storedUnderKey(c, key)
		return nil, refused
	}
	if err != nil {
		return nil, err
	}
	older, by, err := s.dividedMarks(c.DB, r.First.ID, &r.Written)
	near = slices.DeleteFunc(near, func(n api.Near) bool { return n.RID == r.First.ID }) // it was stored before
	return &api.Remembered{RID: r.First.ID, Index: field.Token(r.Index), Redacted: r.Redacted, Near: near,
		Superseded: older, By: by, Held: r.Held > 0, Replayed: r.Replayed}, err
}

// earlierSuperseded returns the stored memories that new ones supersede, without the new ones: a new memory with an
// earlier date may be superseded itself.
func earlierSuperseded(s storeResult) []string {
	return slices.DeleteFunc(s.Superseded, func(rid string) bool { return slices.Contains(s.RIDs, rid) })
}

// keyReused rejects an idempotency key that another request used before.
func keyReused(err error) *api.Refusal {
	return &api.Refusal{Code: "conflict", Err: err, More: map[string]any{"stored": false, "idempotency_conflict": true}}
}

func (s *Service) rememberBatch(ctx context.Context, c api.Caller, q *api.RememberBatchRequest) (*api.RememberedBatch, error) {
	if len(q.Memories) > MaxBatch {
		return nil, oplog.Errorf(oplog.Invalid, "batch size exceeds %d", MaxBatch)
	}
	for i := range q.Memories {
		d := &q.Memories[i]
		if d.Namespace = strings.TrimSpace(d.Namespace); d.Key == "" && q.Key != "" {
			d.Key = q.KeyOf(i)
		}
	}
	r, err := s.storeCompared(ctx, c, q.Whole, true, q.Memories)
	var one *draftError
	var cause *oplog.Error
	switch {
	case errors.Is(err, oplog.ErrKeyReused):
		return nil, keyReused(err)
	case errors.As(err, &one) && errors.As(one.err, &cause):
		return nil, oplog.Errorf(cause.Kind, "memories[%d]: %s", one.at, one.err)
	}
	return &api.RememberedBatch{RIDs: r.RIDs, Count: len(r.RIDs), Index: field.Token(r.Index), Redacted: r.Redacted,
		Superseded: earlierSuperseded(r), Held: r.Held, Replayed: r.Replayed}, err
}

// checkQuota rejects memories that would not fit a database, with the texts that clients match. keys returns their
// idempotency keys, if they have any: what has a key with an answer is not stored again. It is called only if they
// would not all fit.
func (s *Service) checkQuota(c api.Caller, adding int, keys func() []string) error {
	now, err := s.state.Current(c.DB)
	current, most := now.Stats.Active+now.Stats.Quarantined, now.Database.MaxMemories
	if err != nil || most == 0 || current+uint64(adding) <= most {
		return err
	}
	if keys != nil {
		adding -= s.countAnswered(c.DB, keys())
	}
	if adding == 0 || current+uint64(adding) <= most {
		return nil
	}
	return oplog.Errorf(oplog.OverQuota, "would exceed memory quota: current=%d, adding=%d, max=%d", current, adding, most)
}

// countAnswered counts the idempotency keys that have an answer.
func (s *Service) countAnswered(db oplog.DB, keys []string) (n int) {
	_ = s.state.Inspect(func(v *state.View) { // a closing state knows none
		for _, key := range keys {
			if key != "" && len(v.KeyResults(db, key)) > 0 {
				n++
			}
		}
	})
	return n
}

// storedUnderKey returns the memory that was first stored under an idempotency key, which is unique in the database;
// blank if the caller is bound to other namespaces.
func (s *Service) storedUnderKey(c api.Caller, key string) string {
	rid, _ := state.Get(s.state, func(v *state.View) string { // a closing state knows none
		results := v.KeyResults(c.DB, key)
		if len(results) == 0 || c.Spaces.Bind() && !v.Within(c.DB, c.Reach(""), []string{results[0].ID}) {
			return ""
		}
		return results[0].ID
	})
	return rid
}

func (s *Service) forget(ctx context.Context, c api.Caller, q *api.ForgetRequest) (*api.Forgotten, error) {
	if err := checkSize("reason", len(q.Reason), MaxReason); err != nil {
		return nil, err
	}
	w, err := s.write(ctx, c, &oplog.Forget{RID: q.RID, At: oplog.At(s.now()), Reason: q.Reason})
	return &api.Forgotten{RID: q.RID, Found: w.First.Changed, Index: field.Token(w.Index)}, err
}

func (s *Service) get(v *state.View, c api.Caller, q *api.GetRequest) (*api.Memory, error) {
	m, ok := v.Memory(c.DB, q.RID)
	if !ok {
		return nil, oplog.ErrNoMemory
	}
	if _, gone := v.Erased(c.DB, q.RID); gone {
		return nil, oplog.Errorf(oplog.NotFound, "memory %s was erased for good", q.RID)
	}
	if !c.Quiet {
		s.reinforcer.noteRead(c.DB, m, s.now())
	}
	row := wholeMemory(v, c.DB, m)
	if q.Sources {
		row.Origins = origins(v, c, m)
	}
	return &row, nil
}

// wholeMemory returns a memory together with the state of its vector.
func wholeMemory(v *state.View, db oplog.DB, m *oplog.Memory) api.Memory {
	row := memoryOf(m)
	if n := len(v.Vector(db, m.Seq)); n > 0 {
		row.VectorBytes = &n
		if d, ok := v.Database(db); ok && d.Embedder != nil { // otherwise the clients bring the vectors
			row.Model = &d.Embedder.Name
		}
	}
	return row
}

func (s *Service) revisions(v *state.View, c api.Caller, q *api.RevisionsRequest) (*api.RevisionList, error) {
	m, ok := v.Memory(c.DB, q.RID)
	if !ok {
		return nil, oplog.ErrNoMemory
	}
	list, skip := &api.RevisionList{RID: q.RID, Revisions: []api.Revision{}}, q.Offset
	left := byteBudget{hold: c.Hold}
	eachRevision(v, c, m, func(r oplog.Revision) bool {
		if skip--; skip < 0 && left.reserve(512+len(r.Text)+len(r.Metadata)) {
			list.Revisions = append(list.Revisions, revisionOf(r))
		}
		return !left.full
	})
	if left.full {
		list.Next = new(q.Offset + len(list.Revisions))
	}
	return list, nil
}

// eachRevision walks a memory's states before each correction, without those in namespaces that the caller may not
// read: it was moved from there.
func eachRevision(v *state.View, c api.Caller, m *oplog.Memory, f func(oplog.Revision) bool) {
	v.EachRevision(c.DB, m.Seq, func(r oplog.Revision) bool {
		return !c.Spaces.Has(cmp.Or(r.Namespace, m.Namespace)) || f(r) // an import may leave the namespace out
	})
}

func (s *Service) newestOf(v *state.View, c api.Caller, q *api.CurrentRequest) (*api.CurrentMemory, error) {
	ns := orDefault(q.Namespace)
	is := func(m *oplog.Memory) bool { return m.Status == oplog.Active && m.Namespace == ns && !m.Unsearchable }
	list, more := state.Collect(1, func(f func(*oplog.Memory) bool) { v.Recent(c.DB, state.TimePosition{}, f) }, is)
	if len(list) == 0 && more { // many memories of other namespaces are newer
		list, _ = state.Collect(state.MaxScan, outlined(func(f func(*oplog.Memory) bool) { v.InNamespace(c.DB, ns, f) }), is)
	}
	if len(list) == 0 {
		return nil, oplog.Errorf(oplog.NotFound, "namespace '%s' has no memories", ns)
	}
	newest := slices.MaxFunc(list, func(a, b *oplog.Memory) int {
		return cmp.Or(cmp.Compare(a.Created, b.Created), cmp.Compare(a.Seq, b.Seq))
	})
	m, _ := v.MemoryAt(c.DB, newest.Seq)
	return &api.CurrentMemory{Found: true, Namespace: ns, Record: memoryOf(m)}, nil
}
