package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/mind"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
	"github.com/cairndb/cairn/wire/redact"
)

// correct changes a memory in place and stores its former content as a revision.
func (s *Service) correct(ctx context.Context, c api.Caller, q *api.CorrectRequest) (*api.Corrected, error) {
	if strings.TrimSpace(q.Reason) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'reason'")
	}
	if q.Text != nil && strings.TrimSpace(*q.Text) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "new_text: want words, got a blank text")
	}
	now, err := s.state.Current(c.DB)
	if err != nil {
		return nil, err
	}
	err = cmp.Or(checkSize("text", len(api.OrOld(q.Text, "")), MaxText), checkSize("metadata", len(q.Merge), MaxMetadata),
		checkSize("reason", len(q.Reason), MaxMetadata),
		checkFinite("importance", api.OrOld(q.Importance, 0)), checkFinite("valence", api.OrOld(q.Valence, 0)),
		checkFinite("certainty", api.OrOld(q.Certainty, 0)), CheckVector(q.Embedding, int(now.Database.Dim)))
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
	attributes, err := replacementAttributes(q.Attributes)
	if err != nil {
		return nil, err
	}
	op := &oplog.Correct{RID: q.RID, Text: q.Text, Importance: q.Importance, Valence: q.Valence, Certainty: q.Certainty,
		Pin: q.Pin, Merge: q.Merge, Attributes: attributes,
		Searchable: q.Searchable, Vector: oplog.MakeVector(q.Embedding), Reason: q.Reason, At: oplog.At(s.now())}
	if op.Expires, err = s.expiry("new_ttl", "new_expires_at", q.TTL, timeOrZero(q.Expires.Time)); err != nil {
		return nil, err
	}
	expected, err := s.includeCurrentText(c.DB, op, q.Expected)
	if err != nil {
		return nil, err
	}
	asks := write{key: q.Key,
		digest: digest("correct", q.RID, q.Reason, deref(q.Text), deref(q.Importance, q.Valence, q.Certainty),
			deref(q.Pin, q.Searchable), deref(q.TTL), q.Expires, q.Merge, attributes, q.Embedding, deref(q.Expected))}
	stated, err := s.statedRelations(c, op)
	if err != nil {
		return nil, err
	}
	w, err := s.changeLifted(ctx, c, op, expected, asks, attributes, now.Lift)
	if err == nil && w.Replayed {
		err = s.addEarlierSuperseded(c.DB, &w)
	}
	if err != nil {
		return nil, err
	}
	older, by, err := s.dividedMarks(c.DB, q.RID, &w)
	return &api.Corrected{RID: q.RID, Corrected: q.RID, Original: q.RID, Revision: w.First.Num, Index: field.Token(w.Index),
		Redacted: secrets.found.Kinds(), Superseded: older, By: by, Check: dropRestated(stated, op)}, err
}

// maxToCheck bounds the relations that a correction suggests to check.
const maxToCheck = 20

// statedRelations returns the relations whose ends a memory's text names, before a correction replaces that text. A
// token that is bound to namespaces gets none: relations belong to the whole database.
func (s *Service) statedRelations(c api.Caller, op *oplog.Correct) (edges []api.Edge, err error) {
	if op.Text == nil || c.Spaces.Bind() {
		return nil, nil
	}
	return edges, s.state.Inspect(func(v *state.View) {
		m, ok := v.Memory(c.DB, op.RID)
		if !ok || m.Text == *op.Text {
			return
		}
		for _, name := range m.Entities {
			for _, e := range v.Edges(c.DB, name, maxBacklinks) {
				if e.Src == name && slices.Contains(m.Entities, e.Dst) && len(edges) < maxToCheck {
					edges = append(edges, edgeOf(e))
				}
			}
		}
	})
}

// dropRestated leaves out the relations that the new text states as well: it names both ends, and has the relation's
// words.
func dropRestated(edges []api.Edge, op *oplog.Correct) []api.Edge {
	named := func(name string) bool {
		return slices.ContainsFunc(op.Entities, func(n oplog.Mention) bool { return n.Name == name })
	}
	return slices.DeleteFunc(edges, func(e api.Edge) bool {
		return named(e.Src) && named(e.Dst) && mind.States(*op.Text, e.Type)
	})
}

// includeCurrentText adds to a correction that makes a memory searchable, or that brings only a vector, the text that
// must be read again. The text is that of one revision, so the correction expects it.
func (s *Service) includeCurrentText(db oplog.DB, op *oplog.Correct, expected *uint32) (*uint32, error) {
	shows := op.Searchable != nil && *op.Searchable
	if op.Text != nil || !shows && len(op.Vector) == 0 {
		return expected, nil
	}
	return expected, s.state.Inspect(func(v *state.View) {
		if m, ok := v.Memory(db, op.RID); ok && (m.Unsearchable && shows || len(op.Vector) > 0) {
			op.Text = &m.Text
			expected = cmp.Or(expected, &m.Revision)
		}
	})
}

// enrich adds the names and statements of a new text and, if the client gave none, its vector. It does not read the
// text of an unsearchable memory.
func (s *Service) enrich(ctx context.Context, c api.Caller, op *oplog.Correct) error {
	if op.Text == nil {
		return nil
	}
	m, err := s.memory(c.DB, op.RID)
	if err != nil || m.Unsearchable && !api.OrOld(op.Searchable, false) {
		return err
	}
	if m.RID != "" && m.Text != *op.Text && op.Marks == nil { // an undo says itself which marks follow
		since := op.At
		if m.By != "" {
			since = m.Created // a correction of a superseded memory is about the past
		}
		m.Text, m.Unsearchable = *op.Text, false
		m.Revision++ // by this correction
		if op.Marks, err = s.findMarks(ctx, c.DB, &m, since, op.At); err != nil {
			return err
		}
	}
	if op.Extractor, op.Entities, op.Claims, err = s.extract(c, *op.Text); err != nil || len(op.Vector) > 0 {
		return err
	}
	vecs, err := s.vectors.Embed(ctx, c, *op.Text)
	if err == nil {
		op.Vector = vecs[0]
	}
	return err
}

// replacementAttributes returns attributes that replace a memory's; nil leaves them as they are, and {} removes them.
func replacementAttributes(attributes []byte) ([]byte, error) {
	b, err := canonicalAttributes(attributes)
	if b == nil && len(attributes) > 0 && string(attributes) != "null" {
		b = []byte("{}")
	}
	return b, err
}

// change writes a correction, with the names in its text and, if the client gave none, its vector. If the correction
// expects a revision, it is rejected when the memory is at another one. The first result of the answer is that of the
// correction.
func (s *Service) change(ctx context.Context, c api.Caller, op *oplog.Correct, expected *uint32, w write) (Written, error) {
	if err := s.enrich(ctx, c, op); err != nil {
		return Written{}, err
	}
	if !op.Release && op.Stamp == (oplog.Stamp{}) {
		op.Stamp = c.Stamp()
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
		done.First = done.Results[min(len(w.ops), len(done.Results))-1]
		for _, r := range done.Then { // the first time it may have expected a revision, and now not, or the other way round
			if r.ID == op.RID && r.Changed {
				done.First = r
				break
			}
		}
	}
	return done, keyConflict(c, err)
}

// revisionConflict returns the error for a memory that another client has changed meanwhile, with both revisions.
func (s *Service) revisionConflict(db oplog.DB, rid string, expected uint32, cause error) error {
	now, err := s.memory(db, rid)
	if err != nil || now.RID == "" || now.Revision == expected {
		return cause
	}
	return &api.Refusal{Code: "revision_conflict", More: map[string]any{"expected_revision": expected, "revision": now.Revision},
		Err: oplog.Errorf(oplog.Conflict,
			"memory %s is at revision %d, the request expects revision %d: read it again, then decide", rid, now.Revision, expected)}
}

// deref returns the values behind a request's pointers, for its digest.
func deref[T any](list ...*T) []any {
	all := make([]any, len(list))
	for i, p := range list {
		if p != nil {
			all[i] = *p
		}
	}
	return all
}
