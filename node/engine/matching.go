package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/filter"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// countMatching counts active memories with the index. The door has waited for the requested freshness.
func (s *Service) countMatching(_ context.Context, c api.Caller, q *api.CountRequest) (*api.Counted, error) {
	f := index.Filter{Namespace: strings.TrimSpace(q.Namespace), Spaces: c.Spaces, Domain: q.Domain, Source: q.Source, Session: q.Session}
	if q.Type != "" {
		f.Types = []string{q.Type}
	}
	var err error
	if f.Match, err = parseFilter(q.Filter); err != nil {
		return nil, err
	}
	a := &api.Counted{Index: s.commit.Indexed()}
	a.Count, err = s.index.Count(c.DB, f)
	return a, err
}

// maxValues bounds the rows of a page of values.
const maxValues = 1000

// values returns the values of an attribute from the index. The door has waited for the requested freshness.
func (s *Service) values(_ context.Context, c api.Caller, q *api.ValuesRequest) (*api.ValuePage, error) {
	if !filter.ValidName(q.Attribute) {
		return nil, oplog.Errorf(oplog.Invalid,
			"attribute: %q is not the name of an attribute: want 1 to %d bytes, not and, or, not, and no @ in front",
			q.Attribute, filter.MaxName)
	}
	f := index.Filter{Namespace: strings.TrimSpace(q.Namespace), Spaces: c.Spaces}
	var err error
	if f.Match, err = parseFilter(q.Filter); err != nil {
		return nil, err
	}
	all, err := s.index.Values(c.DB, q.Attribute, f)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b index.Valued) int { return strings.Compare(a.Value, b.Value) })
	page, most, left := &api.ValuePage{Values: []api.AttributeValue{}, Total: len(all)}, min(max(q.Limit, 1), maxValues), byteBudget{hold: c.Hold}
	for _, v := range all {
		if v.Value <= q.After {
			continue
		}
		if n := len(page.Values); n == most || !left.reserve(128+len(v.Value)) {
			page.Next = new(q.After)
			if n > 0 {
				page.Next = new(string(page.Values[n-1].Value))
			}
			break
		}
		page.Values = append(page.Values,
			api.AttributeValue{Value: json.RawMessage(v.Value), Count: v.Memories, First: v.First.Seconds(), Last: v.Last.Seconds()})
	}
	return page, nil
}

// matchTries bounds how often a deletion by filter is decided again because a memory was corrected meanwhile.
const matchTries = 5

// forgetMatching forgets the memories that pass a filter, in one entry of the log.
//
// Invariant: each memory is at the revision at which it passed the filter, or nothing is forgotten.
func (s *Service) forgetMatching(ctx context.Context, c api.Caller, q *api.ForgetMatchingRequest) (*api.ForgottenMatching, error) {
	if err := checkSize("reason", len(q.Reason), MaxReason); err != nil {
		return nil, err
	}
	match, err := parseFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	if match == nil || len(match.Parts()) == 0 {
		return nil, oplog.Errorf(oplog.Invalid, "filter: an empty one would forget every memory")
	}
	for tries := 1; ; tries++ {
		a, err := s.forgetPassing(ctx, c, q, match)
		if !errors.Is(err, oplog.ErrRevision) && !errors.Is(err, oplog.ErrNoMemory) || tries == matchTries {
			return a, err
		}
	}
}

func (s *Service) forgetPassing(ctx context.Context, c api.Caller, q *api.ForgetMatchingRequest, match *filter.Filter) (*api.ForgottenMatching, error) {
	if err := s.commit.Fresh(ctx, commit.Linearizable); err != nil {
		return nil, err
	}
	now := s.now()
	f := index.Filter{Namespace: strings.TrimSpace(q.Namespace), Spaces: c.Spaces, Match: match}
	hits, _, err := s.index.Search(ctx, c.DB, index.Query{K: q.Limit, Bare: true, Now: now, Filter: f})
	if err != nil {
		return nil, err
	}
	a := &api.ForgottenMatching{RIDs: []string{}, More: len(hits) == q.Limit, Index: field.Token(s.commit.Indexed())}
	var ops []oplog.Op
	if err := s.state.Inspect(func(v *state.View) {
		for _, h := range hits {
			if m, ok := v.MemoryAt(c.DB, h.Memory.Seq); ok && passes(&f, m) {
				ops = append(ops, &oplog.Expect{RID: m.RID, Revision: m.Revision},
					&oplog.Forget{RID: m.RID, At: oplog.At(now), Reason: q.Reason})
				a.RIDs = append(a.RIDs, m.RID)
			}
		}
	}); err != nil || len(ops) == 0 {
		return a, err
	}
	w, err := s.write(ctx, c, ops...)
	a.Forgotten, a.Index = len(a.RIDs), field.Token(w.Index)
	return a, err
}
