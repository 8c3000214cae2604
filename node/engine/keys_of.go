package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// applyOne applies a single step under a client's idempotency key.
func (s *Service) applyOne(ctx context.Context, c api.Caller, key string, st api.BatchStep) (*keyedBatch, keyedResults, error) {
	k := &keyedBatch{s: s, c: c, steps: []api.BatchStep{st}}
	w, err := keyedWrite(key, k.steps)
	if err != nil {
		return k, keyedResults{}, err
	}
	done, err := s.applyKeyed(ctx, k, w)
	return k, done, err
}

// keyedWrite binds an idempotency key to the steps as the client sent them.
func keyedWrite(key string, steps []api.BatchStep) (write, error) {
	if key == "" {
		return write{}, nil
	}
	said, err := json.Marshal(steps)
	return write{key: key, digest: digest("keyed", said)}, err
}

func (s *Service) put(ctx context.Context, c api.Caller, q *api.PutRequest) (*api.PutAnswer, error) {
	key := q.Draft.Key
	q.Draft.Key = ""
	k, done, err := s.applyOne(ctx, c, key,
		api.BatchStep{Op: "put", Namespace: q.Namespace, Path: q.Path, Memory: &q.Draft, Condition: q.Condition, Reason: q.Reason})
	if err != nil {
		return nil, err
	}
	r := k.result(0, &done)
	return &api.PutAnswer{RID: r.RID, Path: q.Path, Created: !r.Found, Changed: r.Changed, Revision: r.Revision, SHA256: r.SHA256,
		Index: field.Token(done.Index), Redacted: k.redacted}, nil
}

func (s *Service) rename(ctx context.Context, c api.Caller, q *api.RenameRequest) (*api.RenameAnswer, error) {
	k, done, err := s.applyOne(ctx, c, q.Key,
		api.BatchStep{Op: "rename", Namespace: q.Namespace, Path: q.Path, To: q.To, Condition: q.Condition, Reason: q.Reason})
	if err != nil {
		return nil, err
	}
	r := k.result(0, &done)
	return &api.RenameAnswer{RID: r.RID, Path: r.Path, Revision: r.Revision, Index: field.Token(done.Index)}, nil
}

func (s *Service) deleteKey(ctx context.Context, c api.Caller, q *api.DeleteRequest) (*api.DeleteAnswer, error) {
	k, done, err := s.applyOne(ctx, c, q.Key,
		api.BatchStep{Op: "delete", Namespace: q.Namespace, Path: q.Path, Condition: q.Condition, Reason: q.Reason})
	if err != nil {
		return nil, err
	}
	r := k.result(0, &done)
	return &api.DeleteAnswer{RID: r.RID, Path: q.Path, Found: r.Found, Index: field.Token(done.Index)}, nil
}

// result returns the outcome of a step, without the memory that it read.
func (k *keyedBatch) result(i int, done *keyedResults) api.BatchResult {
	st, before, after := k.steps[i], done.before[i], done.after[i]
	r := api.BatchResult{Path: st.Path, Found: before.ID != "", RID: cmp.Or(after.ID, before.ID), Changed: after.Changed,
		Revision: uint32(after.Num)}
	switch {
	case st.Op == "put":
		if !r.Found {
			r.Revision = 0 // the result of a new memory has its sequence number
		}
		r.SHA256 = sha256Of(done.texts[i])
	case st.Op == "rename":
		r.Path = st.To
	case st.Op == "delete":
		r.Revision = uint32(before.Num)
	}
	return r
}

func (s *Service) batch(ctx context.Context, c api.Caller, q *api.BatchRequest) (*api.BatchAnswer, error) {
	puts := 0
	for _, st := range q.Steps {
		if st.Op == "put" {
			puts++
		}
	}
	if err := s.access.CheckBatch(c, puts); err != nil {
		return nil, err
	}
	k := &keyedBatch{s: s, c: c, steps: q.Steps}
	w, err := keyedWrite(q.Key, k.steps)
	if err != nil {
		return nil, err
	}
	done, err := s.applyKeyed(ctx, k, w)
	if err != nil {
		return nil, err
	}
	a := &api.BatchAnswer{Results: make([]api.BatchResult, len(k.steps)), Index: field.Token(done.Index), Redacted: k.redacted}
	left := byteBudget{hold: c.Hold}
	return a, s.state.Inspect(func(v *state.View) {
		for i := range k.steps {
			r := k.result(i, &done)
			if k.steps[i].Op == "get" && r.Found {
				m, ok := v.Memory(c.DB, r.RID)
				if ok {
					m, ok = v.AtRevision(c.DB, m, r.Revision)
				}
				if ok {
					if r.SHA256 = sha256Of(m.Text); left.reserve(m.Weight()) {
						r.Memory = new(memoryOf(m))
					} else {
						r.Omitted = true
					}
				}
			}
			a.Results[i] = r
		}
	})
}

// getKey returns the memory under a key.
func (s *Service) getKey(v *state.View, c api.Caller, q *api.GetKeyRequest) (*api.KeyedMemory, error) {
	if err := checkKey(q.Path); err != nil {
		return nil, err
	}
	m, ok := v.Keyed(c.DB, orDefault(q.Namespace), q.Path)
	if past := !q.AsOf.IsZero(); past {
		if m, ok = v.KeyedAsOf(c.DB, orDefault(q.Namespace), q.Path, oplog.At(q.AsOf.Time)); ok {
			now, there := v.Memory(c.DB, m.RID)
			ok = there && c.Spaces.Has(now.Namespace) // else it was moved out of the caller's namespaces since
		}
	} else if ok && !c.Quiet {
		s.reinforcer.noteRead(c.DB, m, s.now())
	}
	if !ok {
		return nil, &oplog.Error{Kind: oplog.NotFound, Err: oplog.ErrNoHolder,
			Text: fmt.Sprintf("no memory of namespace %s has the key", api.OneLine(orDefault(q.Namespace)))}
	}
	return &api.KeyedMemory{Memory: wholeMemory(v, c.DB, m), SHA256: sha256Of(m.Text)}, nil
}

// maxKeys bounds the rows of a page of keys.
const maxKeys = 1000

// listKeys returns a page of a folder's keys.
func (s *Service) listKeys(v *state.View, c api.Caller, q *api.ListKeysRequest) (*api.KeyPage, error) {
	above := strings.TrimSuffix(q.Prefix, "/")
	if above != "" {
		if err := checkKey(above); err != nil {
			return nil, err
		}
	}
	folder := above + "/"
	page, most, left := &api.KeyPage{Keys: []api.KeyRow{}}, min(max(q.Limit, 1), maxKeys), byteBudget{hold: c.Hold}
	v.Keys(c.DB, orDefault(q.Namespace), folder, q.After, q.Depth, func(path string, m *oplog.Memory) bool {
		size := 512 + len(path)
		if m != nil && q.Full {
			size += m.Weight()
		}
		if len(page.Keys) == most || !left.reserve(size) {
			page.Next = new(q.After)
			if n := len(page.Keys); n > 0 {
				page.Next = &page.Keys[n-1].Path
			}
			return false
		}
		row := api.KeyRow{Path: path}
		if m != nil {
			row.RID, row.Revision, row.SHA256, row.Bytes = m.RID, &m.Revision, sha256Of(m.Text), len(m.Text)
			row.Created, row.Updated = m.Created.Seconds(), m.Updated.Seconds()
			if q.Full {
				row.Memory = new(memoryOf(m))
			}
		}
		page.Keys = append(page.Keys, row)
		return true
	})
	return page, nil
}
