package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
)

// liftAttributes adds to attributes the members of the metadata that a database wants to filter by. It keeps the
// attributes that the client gave, and leaves out members that cannot be attributes.
func liftAttributes(attributes, metadata []byte, names []string) []byte {
	if len(names) == 0 || len(metadata) == 0 {
		return attributes
	}
	from, all := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if json.Unmarshal(metadata, &from) != nil || len(attributes) > 0 && json.Unmarshal(attributes, &all) != nil {
		return attributes // metadata may be any JSON
	}
	for _, name := range names {
		value, there := from[name]
		if _, given := all[name]; given || !there {
			continue
		}
		all[name] = value
		b, err := json.Marshal(all)
		if err == nil {
			b, err = filter.Canonical(b)
		}
		if err != nil {
			delete(all, name)
		} else {
			attributes = b
		}
	}
	return attributes
}

// reliftAttributes returns the attributes of a memory after a merge into its metadata: members of the merge that a
// database wants to filter by replace those lifted before. It keeps the attributes that a client gave.
func reliftAttributes(m *oplog.Memory, merge []byte, names []string) []byte {
	all, was, changes := map[string]json.RawMessage{}, map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if json.Unmarshal(merge, &changes) != nil || len(m.Attributes) > 0 && json.Unmarshal(m.Attributes, &all) != nil {
		return m.Attributes
	}
	if before := liftAttributes(nil, m.Metadata, names); len(before) > 0 && json.Unmarshal(before, &was) != nil {
		return m.Attributes
	}
	for name := range changes {
		if old, lifted := was[name]; lifted && string(all[name]) == string(old) {
			delete(all, name)
		}
	}
	kept, err := json.Marshal(all)
	if err == nil {
		kept, err = filter.Canonical(kept)
	}
	if err != nil {
		return m.Attributes
	}
	return liftAttributes(kept, merge, names)
}

// lift adds to a correction that merges metadata the attributes that follow from the merge. They depend on one
// revision, which the correction then expects. Attributes that the client gives replace all others, and lifted
// members are added to them.
func (s *Service) lift(db oplog.DB, op *oplog.Correct, given []byte, names []string) (expected *uint32, err error) {
	if len(op.Merge) == 0 || len(names) == 0 {
		return nil, nil
	}
	if given != nil {
		op.Attributes = liftAttributes(given, op.Merge, names)
		return nil, nil
	}
	m, err := s.memory(db, op.RID)
	if op.Attributes = nil; err != nil || m.RID == "" {
		return nil, err
	}
	if after := reliftAttributes(&m, op.Merge, names); string(after) != string(m.Attributes) {
		if op.Attributes, expected = after, &m.Revision; after == nil {
			op.Attributes = []byte("{}")
		}
	}
	return expected, nil
}

// liftTries bounds how often a correction is decided again because another correction was faster.
const liftTries = 16

// changeLifted is change with the attributes that follow from the metadata. given are the client's attributes, nil
// for none. A client that expects no revision is not rejected because others were faster: the last try expects none,
// and of attributes that others change at the same moment the last one stays.
func (s *Service) changeLifted(ctx context.Context, c api.Caller, op *oplog.Correct, expected *uint32, w write, given []byte, names []string) (Written, error) {
	for tries := 1; ; tries++ {
		at, err := s.lift(c.DB, op, given, names)
		if err != nil {
			return Written{}, err
		}
		if tries == liftTries {
			at = nil
		}
		done, err := s.change(ctx, c, op, cmp.Or(expected, at), w)
		faster := errors.Is(err, oplog.ErrRevision) || api.RefusedAs(err, "revision_conflict")
		if expected != nil || !faster || tries == liftTries {
			return done, err
		}
		if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil { // the faster one may have come through another node
			return Written{}, err
		}
	}
}
