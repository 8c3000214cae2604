package node

import (
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
)

var graphRoutes = []route{
	{name: "relate", method: "POST", path: "/v1/relate", scope: Write, write: true, handle: httpRelate, summary: "Put two entities into a relation; src, dst and rel_type are taken as well",
		body: "entity,src:string! target,dst:string! relationship,rel_type,rel:string! weight:weight namespace:string~", result: "edge_id:string! log_index:integer!"},
	{name: "edges", method: "GET", path: "/v1/edges", scope: Read, handle: httpEdges, summary: "The relations an entity is in", query: "entity:string!", result: "edges:[]Edge!"},
	{name: "unrelate", method: "DELETE", path: "/v1/edges/{id}", scope: Write, write: true, handle: httpUnrelate, summary: "Take a relation away", result: "edge_id:string! found:boolean! log_index:integer!"},
	{name: "graph", method: "POST", path: "/v1/graph", scope: Read, handle: httpGraph, summary: "The relations an entity is in, asked by POST", body: "action:string entity:string! namespace:string~", result: "edges:[]Edge!"},
	{name: "ingest_claim", method: "POST", path: "/v1/claim", scope: Write, write: true, handle: httpClaim, summary: "State a relation with its evidence",
		body: "src:string! rel_type:string! dst:string! namespace:string polarity:integer[-1..1] modality:string valid_from:date valid_to:date extractor:string " +
			"extractor_version:string confidence_band:string source_memory_rid:string span_start:integer[0..] span_end:integer[0..] weight:weight",
		result: "claim_id:string! namespace:string! log_index:integer!"},
	{name: "get_claims", method: "GET", path: "/v1/claims", scope: Read, handle: httpClaims, summary: "What is claimed of an entity, newest first", query: "entity:string! namespace:string", result: "claims:[]Claim!"},
	{name: "add_alias", method: "POST", path: "/v1/alias", scope: Write, write: true, handle: httpAlias, summary: "Make a name stand for another",
		body: "alias:string! canonical_name:string! namespace:string source:string", result: "alias:string! canonical_name:string! namespace:string! added:boolean!"},
}

func httpRelate(g *gateway, q *request) (any, error) {
	src, dst, rel := q.body.str("entity", ""), q.body.str("target", ""), q.body.str("relationship", "")
	for _, f := range [][2]string{{"entity", src}, {"target", dst}, {"relationship", rel}} {
		if f[1] == "" {
			return nil, oplog.Errorf(oplog.Invalid, "missing '%s'", f[0])
		}
	}
	id, w, err := g.s.Relate(q.r.Context(), q.c, src, rel, dst, q.body.num("weight", 1))
	if err != nil {
		return nil, err
	}
	q.w.Header().Set("Deprecation", "true")
	q.w.Header().Set("Link", `</v1/claim>; rel="successor-version"`)
	return map[string]any{"edge_id": id, "log_index": w.Index}, nil
}

func edgesOf(g *gateway, q *request, entity string) (any, error) {
	edges, err := g.s.Edges(q.r.Context(), q.c, entity, Stale)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]any, len(edges))
	for i, e := range edges {
		rows[i] = map[string]any{"edge_id": e.ID, "src": e.Src, "dst": e.Dst, "rel_type": e.Type, "weight": e.Weight}
	}
	return map[string]any{"edges": rows}, nil
}

func httpUnrelate(g *gateway, q *request) (any, error) {
	found, w, err := g.s.Unrelate(q.r.Context(), q.c, q.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	return map[string]any{"edge_id": q.r.PathValue("id"), "found": found, "log_index": w.Index}, nil
}

var errNoEntity = oplog.Errorf(oplog.Invalid, "missing 'entity' query parameter")

func httpEdges(g *gateway, q *request) (any, error) {
	if q.param("entity") == "" {
		return nil, errNoEntity
	}
	return edgesOf(g, q, q.param("entity"))
}

func httpGraph(g *gateway, q *request) (any, error) {
	if action := q.body.str("action", "query"); action != "query" {
		return nil, oplog.Errorf(oplog.Invalid, "action '%s': query is all that is offered", action)
	}
	entity, err := q.body.must("entity")
	if err != nil {
		return nil, err
	}
	return edgesOf(g, q, entity)
}

func httpClaim(g *gateway, q *request) (any, error) {
	f := q.body
	for _, name := range []string{"src", "rel_type", "dst"} {
		if _, err := f.must(name); err != nil {
			return nil, err
		}
	}
	polarity := f.num("polarity", 1)
	if polarity != 1 && polarity != 0 && polarity != -1 {
		return nil, oplog.Errorf(oplog.Invalid, "polarity is 1, 0 or -1")
	}
	claim := oplog.Claim{Namespace: blank(f.str("namespace", "")), Src: f.str("src", ""), Type: f.str("rel_type", ""), Dst: f.str("dst", ""), Polarity: int8(polarity),
		Modality: f.str("modality", "asserted"), ValidFrom: f.epoch("valid_from"), ValidTo: f.epoch("valid_to"), Extractor: f.str("extractor", "manual"),
		Version: f.str("extractor_version", ""), Band: f.str("confidence_band", "medium"), SourceRID: f.str("source_memory_rid", ""), Weight: f.num("weight", 1)}
	if v, ok := decoded[int64](f, "span_start"); ok {
		claim.SpanStart = &v
	}
	if v, ok := decoded[int64](f, "span_end"); ok {
		claim.SpanEnd = &v
	}
	id, w, err := g.s.Claim(q.r.Context(), q.c, claim)
	if err != nil {
		return nil, err
	}
	return map[string]any{"claim_id": id, "namespace": claim.Namespace, "log_index": w.Index}, nil
}

// blank is the namespace of what names none.
func blank(ns string) string {
	if ns = strings.TrimSpace(ns); ns == "" {
		return "default"
	}
	return ns
}

func httpClaims(g *gateway, q *request) (any, error) {
	entity := q.param("entity")
	if entity == "" {
		return nil, errNoEntity
	}
	ns, now := q.param("namespace"), float64(time.Now().UnixMicro())/1e6
	rows := []map[string]any{}
	err := g.s.read(q.r.Context(), q.c, Stale, func(v *oplog.View) error {
		claims := v.Claims(q.c.DB, v.Canonical(q.c.DB, ns, entity), ns, maxEdges)
		for i := len(claims) - 1; i >= 0; i-- {
			c := claims[i]
			disputed := v.InConflict(q.c.DB, "claim:"+c.ID) || c.SourceRID != "" && v.InConflict(q.c.DB, c.SourceRID)
			rows = append(rows, map[string]any{"claim_id": c.ID, "src": c.Src, "dst": c.Dst, "rel_type": c.Type, "weight": c.Weight, "created_at": c.At.Seconds(),
				"polarity": c.Polarity, "modality": c.Modality, "valid_from": c.ValidFrom, "valid_to": c.ValidTo, "extractor": c.Extractor,
				"confidence_band": c.Band, "source_memory_rid": orNil(c.SourceRID), "namespace": c.Namespace, "status_suggestion": suggestion(c, now, disputed)})
		}
		return nil
	})
	return map[string]any{"claims": rows}, err
}

// suggestion is how a claim reads at a time.
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

func httpAlias(g *gateway, q *request) (any, error) {
	alias, err := q.body.must("alias")
	if err != nil {
		return nil, err
	}
	canonical, err := q.body.must("canonical_name")
	if err != nil {
		return nil, err
	}
	ns := blank(q.body.str("namespace", ""))
	added, _, err := g.s.Alias(q.r.Context(), q.c, oplog.Alias{Namespace: ns, Alias: alias, Canonical: canonical, Source: q.body.str("source", "explicit")})
	if err != nil {
		return nil, err
	}
	return map[string]any{"alias": alias, "canonical_name": canonical, "namespace": ns, "added": added}, nil
}
