package api

import "encoding/json"

// A Memory is all that is known of one.
type Memory struct {
	RID       string  `json:"rid" doc:"The memory's id."`
	Type      string  `json:"type" doc:"The same as memory_type."`
	Kind      string  `json:"memory_type" doc:"What kind of memory it is: semantic, episodic, procedural or a name of the client's own."`
	Text      string  `json:"text" doc:"What it says."`
	Created   float64 `json:"created_at" doc:"When what it says was so, in Unix seconds."`
	CreatedAt string  `json:"created_at_iso" doc:"The same as RFC 3339."`
	Updated   float64 `json:"updated_at" doc:"When it was stored or changed last, in Unix seconds."`
	UpdatedAt string  `json:"updated_at_iso" doc:"The same as RFC 3339."`

	Importance float64 `json:"importance" doc:"How much it matters, from 0 to 1."`
	HalfLife   float64 `json:"half_life" doc:"After how many hours it has faded by half."`
	Accessed   float64 `json:"last_access" doc:"When it was recalled last, in Unix seconds."`
	Accesses   uint64  `json:"access_count" doc:"How often it was recalled."`
	Valence    float64 `json:"valence" doc:"How good or bad it is, from -1 to 1."`
	Certainty  float64 `json:"certainty" doc:"How sure it is, from 0 to 1."`

	Into    *string  `json:"consolidated_into" doc:"The memory that it was merged into."`
	Status  string   `json:"consolidation_status" is:"string{active,consolidated,tombstoned}" doc:"Whether it is recalled: active ones are."`
	Sources []string `json:"consolidation_sources" doc:"The memories that it was merged from."`
	Tier    string   `json:"storage_tier" doc:"hot, or the tier that its client put it in."`

	MetadataText string          `json:"metadata_json" doc:"The metadata as a text."`
	Metadata     json.RawMessage `json:"metadata" doc:"What its client keeps beside it."`
	Namespace    string          `json:"namespace" doc:"Where in the database it is."`
	Domain       string          `json:"domain" doc:"What it is about, as its client named it."`
	Source       string          `json:"source" doc:"Where it comes from."`
	Emotion      *string         `json:"emotional_state" doc:"The feeling that it was stored with."`
	Session      *string         `json:"session_id" doc:"The session that it joined."`
	Due          *float64        `json:"due_at" doc:"When it is due, in Unix seconds."`
	TemporalKind *string         `json:"temporal_kind" doc:"What its date means, as its client named it."`
	Reason       *string         `json:"tombstone_reason" doc:"Why it was forgotten."`
	Revision     uint32          `json:"revision" doc:"How often it was corrected."`
	Model        *string         `json:"embedding_model" doc:"What made its vector."`
	VectorBytes  *int            `json:"embedding_bytes" doc:"How large its vector is."`
	Entities     []string        `json:"entities" doc:"What its text names."`
	Claims       []string        `json:"claims" doc:"The claims that were read from its text."`
}
