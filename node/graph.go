package node

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/extract"
)

// maxEdges bounds an answer about one entity.
const maxEdges = 10_000

// Relate says that two entities stand in a relation; saying it again updates the weight.
func (s *Service) Relate(ctx context.Context, c Caller, src, relation, dst string, weight float64) (edge string, w Written, err error) {
	if err := names(src, relation, dst); err != nil {
		return "", w, err
	}
	if math.IsNaN(weight) || math.IsInf(weight, 0) {
		return "", w, oplog.Errorf(oplog.Invalid, "weight is not a finite number")
	}
	op := &oplog.Relate{ID: oplog.NewID(), Src: src, Dst: dst, Type: relation, Weight: weight, At: oplog.At(time.Now())}
	if c.May(Write) { // a refused write searches nothing
		if op.Links, err = s.mentioning(ctx, c.DB, src, dst); err != nil {
			return "", w, err
		}
	}
	w, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{op}})
	if err != nil {
		return "", w, err
	}
	return w.Results[0].ID, w, nil
}

// maxBacklinks bounds the older memories that one relation ties to each of its names: the best matches.
const maxBacklinks = 200

// mentioning are the memories that have a name in their text and are not tied to it: the name was no entity yet when they were
// stored. The index finds them, so that Apply need not look at every memory. A name that stands in a relation already was looked for then,
// and what was stored since is tied to it by its own words.
func (s *Service) mentioning(ctx context.Context, db oplog.DB, names ...string) (links []oplog.Link, err error) {
	for _, name := range names {
		var known bool
		if err := s.state.Read(func(v *oplog.View) error {
			known = len(v.Edges(db, name, 1)) > 0
			return nil
		}); err != nil {
			return nil, err
		}
		if known {
			continue
		}
		hits, _, err := s.index.Search(ctx, db, index.Query{Text: name, K: maxBacklinks, Now: time.Now()})
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

func names(all ...string) error {
	for _, n := range all {
		if len(n) > maxName {
			return oplog.Errorf(oplog.TooLarge, "name of %d bytes is over %d", len(n), maxName)
		}
	}
	return nil
}

// Edges are the relations an entity is in, both directions.
func (s *Service) Edges(ctx context.Context, c Caller, entity string, f Freshness) (edges []oplog.Edge, err error) {
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		edges = v.Edges(c.DB, entity, maxEdges)
		return nil
	})
	return edges, err
}

// Claim states a relation with its evidence.
func (s *Service) Claim(ctx context.Context, c Caller, claim oplog.Claim) (id string, w Written, err error) {
	if err := names(claim.Src, claim.Type, claim.Dst, claim.Namespace, claim.Modality, claim.Extractor, claim.Band); err != nil {
		return "", w, err
	}
	if claim.Polarity < -1 || claim.Polarity > 1 {
		return "", w, oplog.Errorf(oplog.Invalid, "polarity is 1, 0 or -1")
	}
	claim.ID, claim.At = oplog.NewID(), oplog.At(time.Now())
	w, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{&oplog.Assert{Claim: claim}}})
	if tooOld(err) {
		w, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{&claim}})
	}
	if err != nil {
		return "", w, err
	}
	return w.Results[0].ID, w, nil
}

// Claims are what is claimed of an entity; the namespaces "" and "default" mean all.
func (s *Service) Claims(ctx context.Context, c Caller, entity, namespace string, f Freshness) (claims []oplog.StoredClaim, err error) {
	if namespace == "default" {
		namespace = ""
	}
	err = s.read(ctx, c, f, func(v *oplog.View) error {
		claims = v.Claims(c.DB, v.Canonical(c.DB, namespace, entity), namespace, maxEdges)
		return nil
	})
	return claims, err
}

// Alias makes a name stand for another.
func (s *Service) Alias(ctx context.Context, c Caller, a oplog.Alias) (added bool, w Written, err error) {
	if err := names(a.Alias, a.Canonical, a.Namespace, a.Source); err != nil {
		return false, w, err
	}
	a.At = oplog.At(time.Now())
	w, err = s.write(ctx, c, write{scope: Write, ops: []oplog.Op{&a}})
	return err == nil && w.Results[0].Changed, w, err
}
