package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Relations, claims and aliases.
var (
	Relate = row[RelateRequest, Related](Op{Name: "relate",
		Does:  "Relate two entities; repeating it changes the weight. Relations belong to the database, not to a namespace.",
		Scope: Write, Writes: true, HTTP: "POST /v1/relate", Wire: wire.OpRelate,
		Tool: &Tool{Name: "relate", Title: "Relate two entities", Idempotent: true,
			Text: "State a relation between two entities, such as Alice leads payments. Recall follows relations between the names in a question."}})
	Edges = row[EdgesRequest, EdgeList](Op{Name: "edges",
		Does:  "The relations that an entity is in, in both directions, one step away. entity also returns its memories and claims.",
		Scope: Read, HTTP: "GET /v1/edges", Wire: wire.OpEdges})
	Graph   = row[GraphRequest, EdgeList](Op{Name: "graph", Does: "The same as edges, as a POST.", Scope: Read, HTTP: "POST /v1/graph"})
	OneEdge = row[EdgeRequest, Edge](Op{Name: "edge", Does: "A relation, by its id.", Scope: Read,
		HTTP: "GET /v1/edges/{id}", Missing: "relation_not_found"})

	Unrelate = row[UnrelateRequest, Unrelated](Op{Name: "unrelate", Does: "Delete a relation.", Scope: Write, Writes: true,
		HTTP: "DELETE /v1/edges/{id}", Confirm: "id"})
	Claim = row[ClaimRequest, Claimed](Op{Name: "ingest_claim", Bound: Single,
		Does: "State a relation with its evidence.", Scope: Write, Writes: true, HTTP: "POST /v1/claim", Wire: wire.OpClaim})
	Claims = row[ClaimsRequest, ClaimList](Op{Name: "get_claims", Bound: Narrowed,
		Does: "Claims about an entity, newest first.", Scope: Read, HTTP: "GET /v1/claims", Wire: wire.OpClaims})
	Alias = row[AliasRequest, Aliased](Op{Name: "add_alias", Bound: Single, Does: "Make a name an alias of another.",
		Scope: Write, Writes: true, HTTP: "POST /v1/alias", Wire: wire.OpAlias})
)

type RelateRequest struct {
	Src    string  `json:"entity" also:"src" tool:"source,from" is:"string!" doc:"The entity that the relation starts from." example:"Alice"`
	Dst    string  `json:"target" also:"dst" tool:"to" is:"string!" doc:"The entity that it leads to." example:"payments"`
	Type   string  `json:"relationship" also:"rel_type,rel" tool:"relation" is:"string!" doc:"How the two are related." example:"leads"`
	Weight float64 `json:"weight" is:"weight" default:"1" doc:"Weight of the relation, at least 0."`
	_      string  `idle:"namespace" tool:"-"`
}

type Related struct {
	ID    string      `json:"edge_id" doc:"The relation's id."`
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`

	New bool `json:"-"` // it did not exist before
}

type EdgesRequest struct {
	Entity string `json:"entity" is:"string!" doc:"The entity whose relations to return, in any case." example:"Alice"`
	Fresh
}

type GraphRequest struct {
	Entity string `json:"entity" is:"string!" doc:"The entity whose relations to return, in any case." example:"Alice"`
	Action string `json:"action" default:"query" doc:"Only query is offered."`
	_      string `idle:"namespace"`
	Fresh
}

type EdgeList struct {
	Edges []Edge `json:"edges" doc:"In both directions."`
	Bounded
}

// An Edge is a relation between two entities.
type Edge struct {
	ID     string  `json:"edge_id" doc:"The relation's id."`
	Src    string  `json:"src" doc:"The entity that it starts from."`
	Dst    string  `json:"dst" doc:"The entity that it leads to."`
	Type   string  `json:"rel_type" doc:"How the two are related."`
	Weight float64 `json:"weight" doc:"Weight of the relation."`
}

type EdgeRequest struct {
	ID string `json:"id" in:"path" doc:"The relation's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e13"`
	Fresh
}

type UnrelateRequest struct {
	ID string `json:"id" in:"path" doc:"The relation's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e13"`
}

type Unrelated struct {
	ID    string      `json:"edge_id" doc:"The relation's id."`
	Found bool        `json:"found" doc:"Whether such a relation existed."`
	Index field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type ClaimRequest struct {
	Src       string     `json:"src" is:"string!" doc:"The entity that something is claimed of." example:"Alice"`
	Type      string     `json:"rel_type" is:"string!" doc:"The relation that is claimed." example:"leads"`
	Dst       string     `json:"dst" is:"string!" doc:"The entity or value on its other side." example:"payments"`
	Namespace string     `json:"namespace" doc:"Namespace of the claim; blank for default."`
	Polarity  int        `json:"polarity" is:"integer[-1..1]" default:"1" doc:"1 affirms the claim, -1 denies it, 0 leaves it open."`
	Modality  string     `json:"modality" default:"asserted" doc:"How the claim was made: asserted, reported, or a word the client chooses."`
	ValidFrom field.Date `json:"valid_from" doc:"Since when it holds."`
	ValidTo   field.Date `json:"valid_to" doc:"Until when it held."`
	Extractor string     `json:"extractor" default:"manual" doc:"The extractor that found the claim."`
	Version   string     `json:"extractor_version" doc:"Its version."`
	Band      string     `json:"confidence_band" default:"medium" doc:"Confidence band: low, medium, high, or a word the client chooses."`
	SourceRID string     `json:"source_memory_rid" names:"memory" is:"rid" doc:"The memory that states it."`
	SpanStart *int64     `json:"span_start" is:"integer[0..]" doc:"Where in that memory's text it begins, in bytes."`
	SpanEnd   *int64     `json:"span_end" is:"integer[0..]" doc:"Where it ends, in bytes."`
	Weight    float64    `json:"weight" is:"weight" default:"1" doc:"Weight, at least 0."`
}

type Claimed struct {
	ID        string      `json:"claim_id" doc:"The claim's id."`
	Namespace string      `json:"namespace" doc:"Its namespace."`
	Index     field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type ClaimsRequest struct {
	Entity    string `json:"entity" is:"string!" doc:"The entity whose claims to return, in any case." example:"Alice"`
	Namespace string `json:"namespace" doc:"Only claims of this namespace; blank means all."`
	Fresh
}

type ClaimList struct {
	Claims []ClaimRow `json:"claims" doc:"The newest first."`
	Bounded
}

// A ClaimRow is a claim about an entity.
type ClaimRow struct {
	ID         string   `json:"claim_id" doc:"The claim's id."`
	Src        string   `json:"src" doc:"The entity that it is about."`
	Dst        string   `json:"dst" doc:"The entity or value on its other side."`
	Type       string   `json:"rel_type" doc:"The relation."`
	Weight     float64  `json:"weight" doc:"Weight."`
	Created    float64  `json:"created_at" is:"time" doc:"When it was stated, in Unix seconds."`
	Polarity   int      `json:"polarity" doc:"1 affirms the claim, -1 denies it, 0 leaves it open."`
	Modality   string   `json:"modality" doc:"How the claim was made: asserted, reported, or a word the client chooses."`
	ValidFrom  *float64 `json:"valid_from" is:"time" doc:"Since when it holds, in Unix seconds."`
	ValidTo    *float64 `json:"valid_to" is:"time" doc:"Until when it held, in Unix seconds."`
	Extractor  string   `json:"extractor" doc:"The extractor that found the claim."`
	Band       string   `json:"confidence_band" doc:"Confidence band of the claim."`
	SourceRID  *string  `json:"source_memory_rid" is:"rid" doc:"The memory that states it."`
	Namespace  string   `json:"namespace" doc:"Its namespace."`
	Trust      string   `json:"trust,omitempty" is:"string{tool,web}" doc:"The class of trust of its writer, or of the memory that states it, where that is less than an agent's."`
	Suggestion string   `json:"status_suggestion" is:"string{active,negative,historical,superseded,conflicted}" doc:"Suggested status of the claim at this time."`
}

type AliasRequest struct {
	Alias     string `json:"alias" is:"string!" doc:"The name that stands for another." example:"Ali"`
	Canonical string `json:"canonical_name" is:"string!" doc:"The name that it stands for." example:"Alice"`
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Source    string `json:"source" default:"explicit" doc:"The source of the claim."`
}

type Aliased struct {
	Alias     string      `json:"alias" doc:"The name that stands for another."`
	Canonical string      `json:"canonical_name" doc:"The name that it stands for."`
	Namespace string      `json:"namespace" doc:"The namespace."`
	Added     bool        `json:"added" doc:"Whether it is new."`
	Index     oplog.Index `json:"-"`
}
