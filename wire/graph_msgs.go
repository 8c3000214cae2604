package wire

import "github.com/cairndb/cairn/wire/field"

// Relate puts two entities into a relation.
type Relate struct {
	Entity       string
	Target       string
	Relationship string
	Weight       float64 // default 1
}

func (m *Relate) fields(c *codec) {
	if c.mode == decoding {
		m.Weight = 1
	}
	c.str("entity", &m.Entity, required)
	c.str("target", &m.Target, required)
	c.str("relationship", &m.Relationship, required)
	c.bounded("weight", &m.Weight, defaulted, field.Weight)
}

// RelateOK names the edge.
type RelateOK struct {
	EdgeID string
	Index  uint64 // extension
}

func (m *RelateOK) fields(c *codec) {
	c.str("edge_id", &m.EdgeID, required)
	uintField(c, "index", &m.Index, extension)
}

// Entity is the payload of EDGES.
type Entity struct{ Entity string }

func (m *Entity) fields(c *codec) { c.str("entity", &m.Entity, required) }

// Edge is a row of EDGES_RESULT.
type Edge struct {
	Dst     string
	EdgeID  string
	RelType string
	Src     string
	Weight  float64
}

func (m *Edge) fields(c *codec) {
	c.str("dst", &m.Dst, required)
	c.str("edge_id", &m.EdgeID, required)
	c.str("rel_type", &m.RelType, required)
	c.str("src", &m.Src, required)
	c.f64("weight", &m.Weight, required)
}

// EdgesResult lists the edges of an entity, both directions.
type EdgesResult struct{ Edges []Edge }

func (m *EdgesResult) fields(c *codec) { list(c, "edges", &m.Edges, required) }

// Claim states a relation with its evidence.
type Claim struct {
	Src              string
	RelType          string
	Dst              string
	Namespace        string
	Polarity         int
	Modality         string
	ValidFrom        *float64
	ValidTo          *float64
	Extractor        string
	ExtractorVersion *string
	ConfidenceBand   string
	SourceMemoryRID  *string
	SpanStart        *int64
	SpanEnd          *int64
	Weight           float64
}

// NewClaim is a claim with the protocol's defaults.
func NewClaim(src, relType, dst string) Claim {
	return Claim{Src: src, RelType: relType, Dst: dst, Namespace: "default", Polarity: 1, Modality: "asserted",
		Extractor: "manual", ConfidenceBand: "medium", Weight: 1}
}

func (m *Claim) fields(c *codec) {
	if c.mode == decoding {
		*m = NewClaim("", "", "")
	}
	c.str("src", &m.Src, required)
	c.str("rel_type", &m.RelType, required)
	c.str("dst", &m.Dst, required)
	c.str("namespace", &m.Namespace, defaulted)
	c.integer("polarity", &m.Polarity, defaulted)
	c.str("modality", &m.Modality, defaulted)
	c.optDate("valid_from", &m.ValidFrom, optional)
	c.optDate("valid_to", &m.ValidTo, optional)
	c.str("extractor", &m.Extractor, defaulted)
	c.optStr("extractor_version", &m.ExtractorVersion, optional)
	c.str("confidence_band", &m.ConfidenceBand, defaulted)
	c.optStr("source_memory_rid", &m.SourceMemoryRID, optional)
	c.optInteger("span_start", &m.SpanStart, optional)
	c.optInteger("span_end", &m.SpanEnd, optional)
	c.bounded("weight", &m.Weight, defaulted, field.Weight)
}

// ClaimOK names the claim.
type ClaimOK struct {
	ClaimID   string
	Namespace string
	Index     uint64 // extension
}

func (m *ClaimOK) fields(c *codec) {
	c.str("claim_id", &m.ClaimID, required)
	c.str("namespace", &m.Namespace, required)
	uintField(c, "index", &m.Index, extension)
}

// Claims asks what is claimed of an entity.
type Claims struct {
	Entity    string
	Namespace string
}

func (m *Claims) fields(c *codec) {
	if c.mode == decoding {
		m.Namespace = "default"
	}
	c.str("entity", &m.Entity, required)
	c.str("namespace", &m.Namespace, defaulted)
}

// ClaimRow is a row of CLAIMS_RESULT.
type ClaimRow struct {
	ClaimID          string
	ConfidenceBand   string
	CreatedAt        float64
	Dst              string
	Extractor        string
	Modality         string
	Namespace        string
	Polarity         int
	RelType          string
	SourceMemoryRID  *string
	Src              string
	StatusSuggestion string
	ValidFrom        *float64
	ValidTo          *float64
	Weight           float64
}

func (m *ClaimRow) fields(c *codec) {
	c.str("claim_id", &m.ClaimID, required)
	c.str("confidence_band", &m.ConfidenceBand, required)
	c.f64("created_at", &m.CreatedAt, defaulted)
	c.str("dst", &m.Dst, required)
	c.str("extractor", &m.Extractor, defaulted)
	c.str("modality", &m.Modality, required)
	c.str("namespace", &m.Namespace, required)
	c.integer("polarity", &m.Polarity, required)
	c.str("rel_type", &m.RelType, required)
	c.optStr("source_memory_rid", &m.SourceMemoryRID, optional)
	c.str("src", &m.Src, required)
	c.str("status_suggestion", &m.StatusSuggestion, defaulted)
	c.optF64("valid_from", &m.ValidFrom, optional)
	c.optF64("valid_to", &m.ValidTo, optional)
	c.f64("weight", &m.Weight, required)
}

// ClaimsResult lists claims, oldest first.
type ClaimsResult struct{ Claims []ClaimRow }

func (m *ClaimsResult) fields(c *codec) { list(c, "claims", &m.Claims, required) }

// Alias makes a name stand for another.
type Alias struct {
	Alias         string
	CanonicalName string
	Namespace     string
	Source        string
}

func (m *Alias) fields(c *codec) {
	if c.mode == decoding {
		m.Namespace, m.Source = "default", "explicit"
	}
	c.str("alias", &m.Alias, required)
	c.str("canonical_name", &m.CanonicalName, required)
	c.str("namespace", &m.Namespace, defaulted)
	c.str("source", &m.Source, defaulted)
}

// AliasOK says whether the alias is new.
type AliasOK struct {
	Added         bool
	Alias         string
	CanonicalName string
	Namespace     string
	Index         uint64 // extension
}

func (m *AliasOK) fields(c *codec) {
	c.boolean("added", &m.Added, required)
	c.str("alias", &m.Alias, required)
	c.str("canonical_name", &m.CanonicalName, required)
	c.str("namespace", &m.Namespace, required)
	uintField(c, "index", &m.Index, extension)
}
