package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// merge makes one memory of several.
//
// Invariant: Apply alone decides whether the sources are as they were read, so a repeated request with a key gets the
// answer of the first, though its sources are merged by now.
func (s *Service) merge(ctx context.Context, c api.Caller, q *api.MergeRequest) (*api.Merged, error) {
	if n := len(q.RIDs); n < 2 || n > oplog.MaxRecast {
		return nil, oplog.Errorf(oplog.Invalid, "rids: want 2 to %d ids of memories, got %d", oplog.MaxRecast, n)
	}
	if q.Expected != nil && len(q.Expected) != len(q.RIDs) {
		return nil, oplog.Errorf(oplog.Invalid, "expected_revisions: want one for each of the %d rids, got %d", len(q.RIDs),
			len(q.Expected))
	}
	sources, err := s.sources(ctx, c, q.RIDs, q.Text, q.Reason)
	if err != nil {
		return nil, err
	}
	op := &oplog.Recast{Reason: q.Reason, At: oplog.At(s.now())}
	made := mergedContent(sources, q.Text, op.At)
	op.Into = []oplog.Remember{{Content: made}}
	found, err := s.enrichProducts(ctx, c, op, sources)
	if err != nil {
		return nil, err
	}
	for i, m := range sources {
		at := m.Revision
		if q.Expected != nil {
			at = q.Expected[i]
		}
		op.Sources = append(op.Sources, oplog.Grounds{RID: m.RID, Revision: at})
	}
	w, err := s.recast(ctx, c, op, write{key: q.Key, digest: digest("merge", q.RIDs, q.Text, q.Reason, q.Expected)})
	if err != nil {
		return nil, err
	}
	return &api.Merged{RID: w.First.ID, Sources: api.OrEmpty(q.RIDs), Index: field.Token(w.Index), Redacted: found}, nil
}

// split makes several memories of one.
func (s *Service) split(ctx context.Context, c api.Caller, q *api.SplitRequest) (*api.Splitted, error) {
	if n := len(q.Texts); n < 2 || n > oplog.MaxRecast {
		return nil, oplog.Errorf(oplog.Invalid, "texts: want 2 to %d texts, got %d", oplog.MaxRecast, n)
	}
	sources, err := s.sources(ctx, c, []string{q.RID}, strings.Join(q.Texts, " "), q.Reason)
	if err != nil {
		return nil, err
	}
	m := sources[0]
	op := &oplog.Recast{Reason: q.Reason, At: oplog.At(s.now()),
		Sources: []oplog.Grounds{{RID: m.RID, Revision: api.OrOld(q.Expected, m.Revision)}}}
	for _, text := range q.Texts {
		if strings.TrimSpace(text) == "" {
			return nil, oplog.Errorf(oplog.Invalid, "texts: want words in each, got a blank text")
		}
		part := m.Content
		part.RID, part.Text, part.Path, part.Updated, part.Extractor = oplog.NewID(), text, "", op.At, 0
		if part.Metadata, err = withMember(m.Metadata, "split_from", m.RID); err != nil {
			return nil, err
		}
		op.Into = append(op.Into, oplog.Remember{Content: part})
	}
	found, err := s.enrichProducts(ctx, c, op, sources)
	if err != nil {
		return nil, err
	}
	w, err := s.recast(ctx, c, op, write{key: q.Key, digest: digest("split", q.RID, q.Texts, q.Reason, deref(q.Expected))})
	if err != nil {
		return nil, err
	}
	parts := w.First.Rows[1 : 1+w.First.Num] // behind the source, and before what that superseded
	return &api.Splitted{RID: q.RID, RIDs: api.OrEmpty(parts), Index: field.Token(w.Index), Redacted: found}, nil
}

// withMember sets a member of a JSON object.
func withMember(object []byte, name, value string) ([]byte, error) {
	all := map[string]json.RawMessage{}
	if len(object) > 0 && json.Unmarshal(object, &all) != nil || all == nil {
		all = map[string]json.RawMessage{} // it was none: it says nothing by name
	}
	all[name], _ = json.Marshal(value) // a text always encodes
	b, err := json.Marshal(all)
	return b, cmp.Or(err, checkSize("metadata", len(b), MaxMetadata))
}

// sources returns the memories that a merge or a split begins with.
func (s *Service) sources(ctx context.Context, c api.Caller, rids []string, text, reason string) (list []*oplog.Memory, err error) {
	if strings.TrimSpace(text) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "text: want words, got a blank text")
	}
	if err := cmp.Or(checkSize("text", len(text), MaxText), checkSize("reason", len(reason), MaxReason)); err != nil {
		return nil, err
	}
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil { // a correction that another node acknowledged is not merged away
		return nil, err
	}
	return list, s.state.Read(func(v *state.View) error {
		for i, rid := range rids {
			m, ok := v.Memory(c.DB, rid)
			if !ok {
				return oplog.Errorf(oplog.NotFound, "no such memory: %s", rid)
			}
			if m.Status == oplog.Quarantined {
				return errHeld(rid)
			}
			if slices.Contains(rids[:i], rid) {
				return oplog.Errorf(oplog.Invalid, "rids: %s stands there twice", rid)
			}
			if list = append(list, m); m.Namespace != list[0].Namespace {
				return oplog.Errorf(oplog.Conflict, "memory %s is in namespace %s, %s in %s: move it first", rid,
					m.Namespace, list[0].RID, list[0].Namespace)
			}
		}
		return nil
	})
}

// mergedContent returns the content of a merged memory. It is as certain as the least certain source, and expires
// with the last source, if all expire.
func mergedContent(sources []*oplog.Memory, text string, at oplog.Time) oplog.Content {
	d, first := api.Draft{}, sources[0]
	d.Inherit(sources)
	meta, _ := json.Marshal(map[string]any{"consolidated_from": api.Each(sources, func(m *oplog.Memory) string { return m.RID })}) // ids always encode
	made := oplog.Content{RID: oplog.NewID(), Text: text, Type: first.Type, Importance: d.Importance,
		Certainty: first.Certainty, Namespace: first.Namespace,
		Domain: d.Domain, Source: d.Source, Tier: d.Tier, Owner: d.Owner, Metadata: meta, Created: at, Updated: at,
		Unsearchable: true, Expires: first.Expires,
		Attributes: filter.Shared(api.Each(sources, func(m *oplog.Memory) []byte { return m.Attributes })...)}
	for _, m := range sources {
		if m.Type != made.Type {
			made.Type = "semantic"
		}
		made.HalfLife, made.Certainty = max(made.HalfLife, m.HalfLife), min(made.Certainty, m.Certainty)
		made.Valence += m.Valence / float64(len(sources))
		made.Pin, made.Unsearchable = made.Pin || m.Pin, made.Unsearchable && m.Unsearchable
		if made.Expires != 0 {
			made.Expires = max(made.Expires, m.Expires)
		}
	}
	if slices.ContainsFunc(sources, func(m *oplog.Memory) bool { return m.Expires == 0 }) {
		made.Expires = 0
	}
	return made
}

// enrichProducts redacts the products of a merge or split as the sources are redacted, and adds the names and
// statements in their texts, and their vectors. It returns the kinds of removed secrets. A product of several sources
// keeps their names and relations.
func (s *Service) enrichProducts(ctx context.Context, c api.Caller, op *oplog.Recast, sources []*oplog.Memory) ([]string, error) {
	secrets, err := s.redactor(c.DB)
	if err != nil {
		return nil, err
	}
	covered := slices.ContainsFunc(sources, func(m *oplog.Memory) bool { return secrets.covers(m.Type, m.Metadata) })
	ops := make([]*oplog.Remember, len(op.Into))
	for i := range op.Into {
		if ops[i] = &op.Into[i]; covered {
			ops[i].Text = secrets.found.Text(ops[i].Text)
		}
	}
	if covered {
		op.Reason = secrets.found.Text(op.Reason)
	}
	if err := s.vectors.Add(ctx, c, ops); err != nil {
		return nil, err
	}
	now, err := s.state.Current(c.DB)
	if err != nil {
		return nil, err
	}
	return secrets.found.Kinds(), s.state.Inspect(func(v *state.View) {
		for _, made := range ops {
			if made.Unsearchable {
				continue
			}
			if made.Extractor, made.Entities, made.Claims = readText(v, c, made.Text); len(sources) == 1 {
				continue
			}
			if len(made.Vector) == 0 && !s.vectors.Makes(now.Database) { // no embedder will make one: the mean of the sources' vectors is near to all
				made.Vector = v.MeanVector(c.DB, sources)
			}
			for _, m := range sources {
				for _, name := range m.Entities {
					named, _ := v.Entity(c.DB, name)
					made.Entities = append(made.Entities, oplog.Mention{Name: name, Type: named.Type})
				}
				for _, e := range v.Edges(c.DB, m.RID, oplog.MaxCopied) {
					op.Edges = append(op.Edges, oplog.Copied{Into: made.RID, Of: e.ID, ID: oplog.NewID()})
				}
			}
		}
	})
}

// recast proposes a merge or a split. If a source prevents it, the error names that source.
func (s *Service) recast(ctx context.Context, c api.Caller, op *oplog.Recast, w write) (Written, error) {
	for i := range op.Into {
		op.Into[i].Stamp = c.Stamp() // Apply lowers its class to that of the sources
	}
	w.ops = []oplog.Op{op}
	done, err := s.propose(ctx, c, w)
	if errors.Is(err, oplog.ErrRevision) {
		return Written{}, s.sourceConflict(c.DB, op.Sources, err)
	}
	return done, keyConflict(c, err)
}

// sourceConflict returns an error that names the memory that has changed since a merge, a split or its undo was
// decided.
func (s *Service) sourceConflict(db oplog.DB, grounds []oplog.Grounds, cause error) error {
	for _, g := range grounds {
		m, err := s.memory(db, g.RID)
		switch {
		case err != nil:
			return err
		case m.RID != "" && m.Status == oplog.Active && m.Revision != g.Revision:
			return s.revisionConflict(db, g.RID, g.Revision, cause)
		case m.RID != "" && m.Status == oplog.Consolidated:
			return oplog.Errorf(oplog.Conflict, "memory %s was merged or split already, into %s: undo that first", g.RID,
				strings.Join(productsOf(&m), ", "))
		}
	}
	return cause
}

// productsOf returns the memories that a merge or a split made of a memory.
func productsOf(m *oplog.Memory) []string {
	if m.Into != "" {
		return []string{m.Into}
	}
	return m.Split
}
