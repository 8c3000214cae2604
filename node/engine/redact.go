package engine

import (
	"bytes"
	"encoding/json"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/redact"
)

// Secrets are taken out of memories here and nowhere else, before anything is made of their texts: digests, vectors,
// names, entries of the log. The database says of which memories; what a tool said comes from nobody's pen, and is
// cleaned unless the database says off.

// kindCapture is the kind of memories that hold what a tool said, as a memory's type or in its metadata.
const kindCapture = "capture"

// redactor takes secrets out of what one request stores, and counts them.
type redactor struct {
	policy oplog.Redact
	found  redact.Found
}

func (s *Service) redactor(db oplog.DB) (*redactor, error) {
	now, err := s.state.Current(db)
	return &redactor{now.Redact, redact.Found{}}, err
}

// covers reports whether memories of a kind are redacted.
func (r *redactor) covers(kind string, metadata []byte) bool {
	if r.policy != oplog.RedactCaptures {
		return r.policy == oplog.RedactAll
	}
	var meta struct {
		Kind string `json:"kind"`
	}
	return kind == kindCapture ||
		bytes.Contains(metadata, []byte(kindCapture)) && json.Unmarshal(metadata, &meta) == nil && meta.Kind == kindCapture
}

// drafts redacts memories that come in.
func (r *redactor) drafts(list []api.Draft) {
	for i := range list {
		r.draft(&list[i], false)
	}
}

// draft redacts a memory that comes in, whatever its own kind is if the memory that it replaces is covered.
func (r *redactor) draft(d *api.Draft, replaces bool) {
	if !replaces && !r.covers(d.Type, d.Metadata) {
		return
	}
	d.Text, d.Source, d.Metadata, d.Attributes = r.found.Text(d.Text), r.found.Text(d.Source), r.raw(d.Metadata), r.raw(d.Attributes)
	if d.History != nil {
		for i := range d.History.Revisions {
			v := &d.History.Revisions[i]
			v.Text, v.Metadata, v.Attributes = r.found.Text(v.Text), r.raw(v.Metadata), r.raw(v.Attributes)
		}
	}
}

// memory redacts a memory that a dialect or a peer has made.
func (r *redactor) memory(m *oplog.Remember) {
	if r.covers(m.Type, m.Metadata) {
		m.Text, m.Source, m.Metadata, m.Attributes = r.found.Text(m.Text), r.found.Text(m.Source), r.raw(m.Metadata), r.raw(m.Attributes)
	}
}

// correction redacts the new content of a memory, according to its kind.
func (r *redactor) correction(s *Service, db oplog.DB, q *api.CorrectRequest) error {
	covered, err := state.Get(s.state, func(v *state.View) bool {
		m, ok := v.Memory(db, q.RID)
		return r.policy == oplog.RedactAll || ok && r.covers(m.Type, m.Metadata)
	})
	if err != nil || !covered {
		return err
	}
	if q.Text != nil {
		q.Text = new(r.found.Text(*q.Text))
	}
	q.Reason, q.Merge, q.Attributes = r.found.Text(q.Reason), r.raw(q.Merge), r.raw(q.Attributes)
	return nil
}

func (r *redactor) raw(metadata []byte) []byte {
	if len(metadata) == 0 {
		return metadata
	}
	return r.found.Raw(metadata)
}

// toolOutput redacts what tools said.
func (r *redactor) toolOutput(list []api.Said) []api.Said {
	if r.policy == oplog.RedactNone {
		return list
	}
	return api.Each(list, func(x api.Said) api.Said {
		payload, _ := r.found.JSON(x.Payload)
		return api.Said{Session: r.found.Text(x.Session), Tool: r.found.Text(x.Tool), Source: r.found.Text(x.Source), Payload: payload}
	})
}

// foreign redacts an operation pushed by a peer that is not a member, with its payload.
func (r *redactor) foreign(op *oplog.Foreign) {
	if m := op.Stored; m != nil && r.covers(m.Type, m.Metadata) {
		r.memory(m)
		op.Payload = r.raw(op.Payload)
	}
}
