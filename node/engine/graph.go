package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/node/commit"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/wire/field"
)

// maxEdges bounds an answer about one entity.
const maxEdges = 10_000

func (s *Service) relate(ctx context.Context, c api.Caller, q *api.RelateRequest) (*api.Related, error) {
	for _, f := range [][2]string{{"entity", q.Src}, {"target", q.Dst}, {"relationship", q.Type}} {
		if strings.TrimSpace(f[1]) == "" {
			return nil, oplog.Errorf(oplog.Invalid, "missing '%s'", f[0])
		}
	}
	if err := cmp.Or(oplog.CheckNames(q.Src, q.Type, q.Dst), checkFinite("weight", q.Weight)); err != nil {
		return nil, err
	}
	links, err := s.findMentions(ctx, c.DB, q.Src, q.Dst)
	if err != nil {
		return nil, err
	}
	w, err := s.write(ctx, c,
		&oplog.Relate{ID: oplog.NewID(), Src: q.Src, Dst: q.Dst, Type: q.Type, Weight: q.Weight, Links: links, At: oplog.At(s.now())})
	return &api.Related{ID: w.First.ID, Index: field.Token(w.Index), New: w.First.Changed}, err
}

func (s *Service) unrelate(ctx context.Context, c api.Caller, q *api.UnrelateRequest) (*api.Unrelated, error) {
	w, err := s.write(ctx, c, &oplog.Unrelate{ID: q.ID, At: oplog.At(s.now())})
	return &api.Unrelated{ID: q.ID, Found: w.First.Changed, Index: field.Token(w.Index)}, err
}

// maxBacklinks bounds the older memories that one relation ties to each of its names: the best matches.
const maxBacklinks = 200

// findMentions returns the memories that have a name in their text and no link to it, because the name was no entity
// yet when they were stored. The index finds them, so that Apply need not look at every memory. A name that is in a
// relation already was searched for when the first one was made; memories that were stored since then are linked by
// their own text.
func (s *Service) findMentions(ctx context.Context, db oplog.DB, names ...string) (links []oplog.Link, err error) {
	for _, name := range names {
		related, err := state.Get(s.state, func(v *state.View) []oplog.Edge { return v.Edges(db, name, 1) })
		if err != nil {
			return nil, err
		}
		if len(related) > 0 {
			continue
		}
		hits, _, err := s.index.Search(ctx, db, index.Query{Text: name, K: maxBacklinks, Now: s.now()})
		if err != nil {
			return nil, err
		}
		for i := range hits {
			m := hits[i].Memory
			if !slices.Contains(m.Entities, name) && extract.Names(m.Text, name) {
				links = append(links, oplog.Link{RID: m.RID, Name: name})
			}
		}
	}
	return links, nil
}

// edges returns the relations, in both directions, of the entities that a name stands for.
func (s *Service) edges(v *state.View, c api.Caller, q *api.EdgesRequest) (*api.EdgeList, error) {
	list := v.EdgesOfAll(c.DB, v.ResolveName(c.DB, orDefault(""), q.Entity), maxEdges+1)
	a := &api.EdgeList{Edges: api.Each(list[:min(len(list), maxEdges)], edgeOf)}
	if len(list) > maxEdges {
		a.Bounded = api.Cut(maxEdges, "relations", "the others are those of the entities on their other side, and in an export")
	}
	return a, nil
}

func (s *Service) edge(v *state.View, c api.Caller, q *api.EdgeRequest) (*api.Edge, error) {
	e, ok := v.Edge(c.DB, q.ID)
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "no relation %s in this database", q.ID)
	}
	return new(edgeOf(e)), nil
}

var edgeOf = api.Made[oplog.Edge, api.Edge]()

func (s *Service) graph(v *state.View, c api.Caller, q *api.GraphRequest) (*api.EdgeList, error) {
	if q.Action != "" && q.Action != "query" {
		return nil, oplog.Errorf(oplog.Invalid, "action '%s' is not supported: want query", q.Action)
	}
	return s.edges(v, c, &api.EdgesRequest{Entity: q.Entity})
}

func (s *Service) claim(ctx context.Context, c api.Caller, q *api.ClaimRequest) (*api.Claimed, error) {
	if err := oplog.CheckNames(q.Src, q.Type, q.Dst, q.Namespace, q.Modality, q.Extractor, q.Band); err != nil {
		return nil, err
	}
	if q.Polarity < -1 || q.Polarity > 1 {
		return nil, oplog.Errorf(oplog.Invalid, "polarity: want 1, 0 or -1")
	}
	claim := oplog.Claim{ID: oplog.NewID(), Namespace: orDefault(q.Namespace), Src: q.Src, Type: q.Type, Dst: q.Dst,
		Polarity: int8(q.Polarity), Modality: q.Modality,
		ValidFrom: unixSeconds(q.ValidFrom), ValidTo: unixSeconds(q.ValidTo), Extractor: q.Extractor, Version: q.Version, Band: q.Band,
		SourceRID: q.SourceRID,
		SpanStart: q.SpanStart, SpanEnd: q.SpanEnd, Weight: q.Weight, At: oplog.At(s.now()), Trust: c.Class()}
	w, err := s.write(ctx, c, &oplog.Assert{Claim: claim})
	if commit.IsTooOld(err) {
		w, err = s.write(ctx, c, &claim)
	}
	return &api.Claimed{ID: w.First.ID, Namespace: claim.Namespace, Index: field.Token(w.Index)}, err
}

// unixSeconds returns a date in Unix seconds; nil for none.
func unixSeconds(d field.Date) *float64 {
	if d.IsZero() {
		return nil
	}
	return new(field.Seconds(d.Time))
}

func (s *Service) claims(v *state.View, c api.Caller, q *api.ClaimsRequest) (*api.ClaimList, error) {
	now := oplog.At(s.now()).Seconds()
	list := &api.ClaimList{Claims: []api.ClaimRow{}}
	claims, cut := claimsOf(v, c.DB, v.ResolveName(c.DB, q.Namespace, q.Entity), c.Reach(q.Namespace))
	if cut {
		list.Bounded = api.Cut(maxEdges, "claims, the newest,", "the others are those of the entities on their other side")
	}
	for _, x := range claims {
		if c.Spaces.Bind() && !v.Within(c.DB, c.Reach(""), []string{x.SourceRID}) {
			x.SourceRID = ""
		}
		disputed := v.InConflict(c.DB, "claim:"+x.ID) || x.SourceRID != "" && v.InConflict(c.DB, x.SourceRID)
		list.Claims = append(list.Claims,
			api.ClaimRow{ID: x.ID, Src: x.Src, Dst: x.Dst, Type: x.Type, Weight: x.Weight, Created: x.At.Seconds(),
				Polarity: int(x.Polarity),
				Modality: x.Modality, ValidFrom: x.ValidFrom, ValidTo: x.ValidTo, Extractor: x.Extractor, Band: x.Band,
				SourceRID: api.OrNil(x.SourceRID), Namespace: x.Namespace,
				Trust: lowTrust(x.Trust), Suggestion: suggestion(x, now, disputed)})
	}
	return list, nil
}

// claimsOf returns the claims that name one of several entities, the newest first. cut reports whether there are
// older ones.
func claimsOf(v *state.View, db oplog.DB, names []string, r oplog.Reach) (list []oplog.StoredClaim, cut bool) {
	for _, name := range names {
		some, more := state.Collect(maxEdges, func(f func(oplog.StoredClaim) bool) { v.NewestClaims(db, name, f) },
			func(x oplog.StoredClaim) bool { return r.Has(x.Namespace) })
		list, cut = append(list, some...), cut || more
	}
	slices.SortFunc(list, func(a, b oplog.StoredClaim) int { return cmp.Compare(b.ID, a.ID) })
	list = slices.CompactFunc(list, func(a, b oplog.StoredClaim) bool { return a.ID == b.ID })
	return list[:min(len(list), maxEdges)], cut || len(list) > maxEdges
}

// suggestion returns the suggested status of a claim at a time.
func suggestion(c oplog.StoredClaim, now float64, disputed bool) string {
	switch {
	case c.Polarity < 0:
		return "negative"
	case c.ValidTo != nil && *c.ValidTo < now:
		return "historical"
	case c.ValidTo != nil:
		return "superseded"
	case disputed:
		return "conflicted"
	}
	return "active"
}

func (s *Service) alias(ctx context.Context, c api.Caller, q *api.AliasRequest) (*api.Aliased, error) {
	ns := orDefault(q.Namespace)
	if err := oplog.CheckNames(q.Alias, q.Canonical, ns, q.Source); err != nil {
		return nil, err
	}
	if q.Alias == q.Canonical {
		is, err := state.Get(s.state, func(v *state.View) bool { return isAlias(v, c.DB, ns, q.Alias) })
		if err == nil && !is {
			err = oplog.Errorf(oplog.Invalid, "'%s' is no alias and stands for itself: 'canonical_name' must be another name", q.Alias)
		}
		if err != nil {
			return nil, err
		}
	}
	w, err := s.write(ctx, c,
		&oplog.Alias{Namespace: ns, Alias: q.Alias, Canonical: q.Canonical, Source: q.Source, At: oplog.At(s.now())})
	return &api.Aliased{Alias: q.Alias, Canonical: q.Canonical, Namespace: ns, Added: w.First.Changed, Index: w.Index}, err
}

// isAlias reports whether a name is stored as an alias that counts in a namespace. To stand for itself ends that.
func isAlias(v *state.View, db oplog.DB, namespace, name string) (is bool) {
	v.Aliases(db, func(in, alias string, _ oplog.StoredAlias) bool {
		is = alias == name && (in == namespace || in == "default")
		return !is
	})
	return is
}

// orDefault returns the namespace of a request, or default when it names none.
func orDefault(ns string) string { return cmp.Or(strings.TrimSpace(ns), "default") }
