package wire

import "github.com/cairndb/cairn/wire/field"

// Relate adds a relation between two entities, or changes its weight.
type Relate struct {
	Entity       string  `wire:"entity"`
	Target       string  `wire:"target"`
	Relationship string  `wire:"relationship"`
	Weight       float64 `wire:"weight,defaulted,weight"` // default 1
}

func (m *Relate) preset() { m.Weight = 1 }

// RelateOK names the edge.
type RelateOK struct {
	EdgeID string      `wire:"edge_id"`
	Index  field.Token `wire:"index,extension"` // extension
}

// Entity is the payload of EDGES.
type Entity struct {
	Entity string `wire:"entity"`
	Fresh
}

// Edge is a row of EDGES_RESULT.
type Edge struct {
	Dst     string  `wire:"dst"`
	EdgeID  string  `wire:"edge_id"`
	RelType string  `wire:"rel_type"`
	Src     string  `wire:"src"`
	Weight  float64 `wire:"weight"`
}

// EdgesResult lists the edges of an entity in both directions.
type EdgesResult struct {
	Edges      []Edge `wire:"edges"`
	Incomplete string `wire:"incomplete,extension"` // why there are more; blank when these are all
}

// Claim states a relation with its evidence.
type Claim struct {
	Src              string   `wire:"src"`
	RelType          string   `wire:"rel_type"`
	Dst              string   `wire:"dst"`
	Namespace        string   `wire:"namespace,defaulted"`
	Polarity         int      `wire:"polarity,defaulted"`
	Modality         string   `wire:"modality,defaulted"`
	ValidFrom        *float64 `wire:"valid_from,optional,date"`
	ValidTo          *float64 `wire:"valid_to,optional,date"`
	Extractor        string   `wire:"extractor,defaulted"`
	ExtractorVersion *string  `wire:"extractor_version,optional"`
	ConfidenceBand   string   `wire:"confidence_band,defaulted"`
	SourceMemoryRID  *string  `wire:"source_memory_rid,optional"`
	SpanStart        *int64   `wire:"span_start,optional"`
	SpanEnd          *int64   `wire:"span_end,optional"`
	Weight           float64  `wire:"weight,defaulted,weight"`
}

// NewClaim returns a claim with the protocol's defaults.
func NewClaim(src, relType, dst string) Claim {
	return Claim{Src: src, RelType: relType, Dst: dst, Namespace: "default", Polarity: 1, Modality: "asserted",
		Extractor: "manual", ConfidenceBand: "medium", Weight: 1}
}

func (m *Claim) preset() { *m = NewClaim("", "", "") }

// ClaimOK names the claim.
type ClaimOK struct {
	ClaimID   string      `wire:"claim_id"`
	Namespace string      `wire:"namespace"`
	Index     field.Token `wire:"index,extension"` // extension
}

// Claims asks for the claims about an entity.
type Claims struct {
	Entity    string `wire:"entity"`
	Namespace string `wire:"namespace,defaulted"`
	Fresh
}

func (m *Claims) preset() { m.Namespace = "default" }

// ClaimRow is a row of CLAIMS_RESULT.
type ClaimRow struct {
	ClaimID          string   `wire:"claim_id"`
	ConfidenceBand   string   `wire:"confidence_band"`
	CreatedAt        float64  `wire:"created_at,defaulted"`
	Dst              string   `wire:"dst"`
	Extractor        string   `wire:"extractor,defaulted"`
	Modality         string   `wire:"modality"`
	Namespace        string   `wire:"namespace"`
	Polarity         int      `wire:"polarity"`
	RelType          string   `wire:"rel_type"`
	SourceMemoryRID  *string  `wire:"source_memory_rid,optional"`
	Src              string   `wire:"src"`
	StatusSuggestion string   `wire:"status_suggestion,defaulted"`
	ValidFrom        *float64 `wire:"valid_from,optional"`
	ValidTo          *float64 `wire:"valid_to,optional"`
	Weight           float64  `wire:"weight"`
}

// ClaimsResult lists claims, newest first.
type ClaimsResult struct {
	Claims     []ClaimRow `wire:"claims"`
	Incomplete string     `wire:"incomplete,extension"` // why there are more; blank when these are all
}

// Alias adds another name of an entity.
type Alias struct {
	Alias         string `wire:"alias"`
	CanonicalName string `wire:"canonical_name"`
	Namespace     string `wire:"namespace,defaulted"`
	Source        string `wire:"source,defaulted"`
}

func (m *Alias) preset() { m.Namespace, m.Source = "default", "explicit" }

// AliasOK reports whether the alias is new.
type AliasOK struct {
	Added         bool        `wire:"added"`
	Alias         string      `wire:"alias"`
	CanonicalName string      `wire:"canonical_name"`
	Namespace     string      `wire:"namespace"`
	Index         field.Token `wire:"index,extension"` // extension
}
