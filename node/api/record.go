package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/wire/field"
)

// The fields of a memory. A new one is declared here, in Draft if a client sets it and in Memory, and stored in
// oplog.Content or oplog.Past. The structs below show a part of them: name, type, bounds and description come from
// Memory where they say nothing else ([field.Like]), and values move between them and the state by the names of the
// fields ([Carry]).

// A Memory has all fields of one, in the order of its JSON.
type Memory struct {
	RID       string  `json:"rid" doc:"The memory's id."`
	Same      string  `json:"type" of:"Type" doc:"The same as memory_type."`
	Type      string  `json:"memory_type" doc:"What kind of memory it is: semantic, episodic, procedural or a name of the client's own."`
	Text      string  `json:"text" doc:"Its text."`
	Created   float64 `json:"created_at" is:"time" doc:"When it happened, in Unix seconds."`
	CreatedAt string  `json:"created_at_iso" of:"Created" doc:"The same time in RFC 3339."`
	Updated   float64 `json:"updated_at" is:"time" doc:"When it was stored or changed last, in Unix seconds."`
	UpdatedAt string  `json:"updated_at_iso" of:"Updated" doc:"The same time in RFC 3339."`

	Importance float64 `json:"importance" doc:"Importance, from 0 to 1."`
	HalfLife   float64 `json:"half_life" unit:"hours" doc:"Half-life in hours: after it the memory's importance has decayed by half."`
	Accessed   float64 `json:"last_access" is:"time" doc:"When it was recalled last, in Unix seconds."`
	Accesses   uint64  `json:"access_count" doc:"Number of recalls that returned it."`
	Valence    float64 `json:"valence" doc:"Emotional valence, from -1 (bad) to 1 (good)."`
	Certainty  float64 `json:"certainty" doc:"Certainty, from 0 to 1."`

	Into    *string  `json:"consolidated_into" doc:"The memory that it was merged into."`
	Status  string   `json:"consolidation_status" is:"string{active,consolidated,tombstoned}" doc:"Its status; active memories are recalled."`
	Sources []string `json:"consolidation_sources" doc:"The memories that it was merged from."`
	Tier    string   `json:"storage_tier" empty:"hot" doc:"hot, or the tier that the client gave."`

	MetadataText string          `json:"metadata_json" of:"Metadata" empty:"{}" doc:"The metadata as a text."`
	Metadata     json.RawMessage `json:"metadata" empty:"{}" doc:"The client's own data."`
	Namespace    string          `json:"namespace" doc:"Its namespace."`
	Domain       string          `json:"domain" doc:"Its domain, as the client named it."`
	Source       string          `json:"source" doc:"Its source."`
	Emotion      *string         `json:"emotional_state" doc:"The emotion that it was stored with."`
	Session      *string         `json:"session_id" doc:"The session that it joined."`
	Due          *float64        `json:"due_at" is:"time" doc:"When it is due, in Unix seconds."`
	TemporalKind *string         `json:"temporal_kind" doc:"The meaning of its date, as the client named it."`
	Reason       *string         `json:"tombstone_reason" doc:"Why it was forgotten."`
	Pin          bool            `json:"pin,omitempty" doc:"true: it is pinned, and THINK neither merges nor moves nor forgets it."`
	Revision     uint32          `json:"revision" doc:"Number of corrections."`
	Model        *string         `json:"embedding_model" doc:"The embedder that made its vector."`
	VectorBytes  *int            `json:"embedding_bytes" doc:"Size of its vector in bytes."`
	Entities     []string        `json:"entities" doc:"The entities that its text names."`
	Claims       []string        `json:"claims" doc:"The claims that were read from its text."`
}

// A Draft is a memory as a client gives it: flat, in the order in which the reference lists its fields.
type Draft struct {
	_ field.Like[Memory]

	Text         string          `json:"text" tool:"content,memory" is:"string!" doc:"What to remember: a sentence that stands by itself." example:"Ada prefers tea to coffee."`
	Type         string          `json:"memory_type" tool:"type" default:"semantic" doc:"What kind of memory it is: semantic, episodic, procedural or a name of your own."`
	Importance   float64         `json:"importance" is:"unit" default:"0.5"`
	Valence      float64         `json:"valence" is:"signed"`
	HalfLife     float64         `json:"half_life" unit:"hours" is:"hours" default:"168"`
	Metadata     json.RawMessage `json:"metadata" default:"{}" doc:"Your own JSON object, stored with the memory."`
	Namespace    string          `json:"namespace" doc:"Its namespace; blank for default."`
	Certainty    float64         `json:"certainty" is:"unit" default:"1"`
	Domain       string          `json:"domain" doc:"Its domain, such as work or health."`
	Source       string          `json:"source" default:"user"`
	Emotion      string          `json:"emotional_state" doc:"The emotion of the memory."`
	Embedding    field.Vector    `json:"embedding" tool:"-" doc:"Its vector, of the database's dimension; made by the database's embedder when it is left out."`
	Session      string          `json:"session_id" tool:"-" doc:"The session that it joins; the namespace's active one when it is left out."`
	Created      field.Date      `json:"created_at" doc:"When it happened; default: now."`
	Due          field.Date      `json:"due_at" doc:"When it is due."`
	TemporalKind string          `json:"temporal_kind" tool:"-" doc:"The meaning of its date: a word of your own."`
	Tier         string          `json:"tier" tool:"-" doc:"working, episodic or longterm, which fade by different rules; or a word of your own."`
	Pin          bool            `json:"pin" doc:"true: THINK neither merges nor moves nor forgets it."`
	Key          string          `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it stores nothing twice."`

	RID     string `json:"-"` // made by the node when it is blank
	Owner   string `json:"-"`
	Speaker string `json:"-"`

	History *History `json:"-"` // of an imported memory
}

// A Result is a memory that was found. It has exactly these keys, for clients that take it for a record's arguments.
type Result struct {
	_ field.Like[Memory]

	RID        string          `json:"rid"`
	Text       string          `json:"text"`
	Type       string          `json:"memory_type"`
	Score      float64         `json:"score" doc:"Probability that it answers the question, from 0 to 1; 0 in a list."`
	Importance float64         `json:"importance"`
	Created    float64         `json:"created_at"`
	Why        []string        `json:"why_retrieved" doc:"Why it was found."`
	Metadata   json.RawMessage `json:"metadata" empty:"{}"`
	Namespace  string          `json:"namespace"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Certainty  float64         `json:"certainty"`
	Valence    float64         `json:"valence"`
	*Explained
}

// A Record is a memory as lists in the order of ids have it.
type Record struct {
	_ field.Like[Memory]

	RID        string          `json:"rid"`
	Text       string          `json:"text"`
	Type       string          `json:"memory_type"`
	Importance float64         `json:"importance"`
	Metadata   json.RawMessage `json:"metadata" empty:"{}"`
	Namespace  string          `json:"namespace"`
	Created    float64         `json:"created_at" is:"time"`
	CreatedAt  string          `json:"created_at_iso" of:"Created"`
	Certainty  float64         `json:"certainty"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Accesses   uint64          `json:"access_count"`
	Accessed   float64         `json:"last_access" is:"time"`
	Tier       string          `json:"storage_tier" empty:"hot"`
}

// An ExportedMemory is a line of an export: type is memory. Everything that a memory is stands in it, so that an import
// makes the same memory of it; what is empty is left out behind session_id.
type ExportedMemory struct {
	Line         string          `json:"type"` // memory
	RID          string          `json:"rid"`
	Text         string          `json:"text"`
	Type         string          `json:"memory_type"`
	Importance   float64         `json:"importance"`
	Valence      float64         `json:"valence"`
	HalfLife     float64         `json:"half_life" unit:"hours"` // hours
	Created      float64         `json:"created_at"`
	Metadata     json.RawMessage `json:"metadata" empty:"null"`
	Namespace    string          `json:"namespace"`
	Certainty    float64         `json:"certainty"`
	Domain       string          `json:"domain"`
	Source       string          `json:"source"`
	Emotion      *string         `json:"emotional_state"`
	Session      string          `json:"session_id,omitempty"`
	Due          *float64        `json:"due_at,omitempty"`
	TemporalKind string          `json:"temporal_kind,omitempty"`
	Tier         string          `json:"tier,omitempty"`
	Pin          bool            `json:"pin,omitempty"`
	Embedding    field.Vector    `json:"embedding,omitempty"` // only where clients bring the vectors: an embedder makes its own again
	Owner        string          `json:"owner,omitempty"`
	Speaker      string          `json:"speaker,omitempty"`
	History
}

// History holds the changes of a memory since it was first stored. Times are Unix seconds. A line with an extractor
// holds all of it, and an import reads the text of no such line again.
type History struct {
	Extractor *uint8             `json:"extractor"` // version of what read the text; 0: nothing did
	Updated   float64            `json:"updated_at"`
	Accessed  float64            `json:"last_access"`
	Accesses  uint64             `json:"access_count,omitempty"`
	Order     uint64             `json:"session_order,omitempty"`
	Status    string             `json:"consolidation_status,omitempty"` // consolidated, or blank for active
	Into      string             `json:"consolidated_into,omitempty"`
	Merged    uint32             `json:"merged,omitempty"` // number of memories that it was made of
	Reason    string             `json:"tombstone_reason,omitempty"`
	Revision  uint32             `json:"revision,omitempty"`
	Revisions []ExportedRevision `json:"revisions,omitempty"`
	Entities  []ExportedEntity   `json:"entities,omitempty" of:"-"`
	Claims    []ExportedClaim    `json:"claims,omitempty" of:"-"` // those that its text states
}

// A PeerMemory is a memory as peers pull and push it. Those of other makes know the fields up to emotional_state.
type PeerMemory struct {
	RID        string          `json:"rid"`
	Type       string          `json:"type"`
	Text       string          `json:"text"`
	Importance float64         `json:"importance"`
	Valence    float64         `json:"valence"`
	HalfLife   float64         `json:"half_life"` // seconds
	Metadata   json.RawMessage `json:"metadata" empty:"null"`
	Created    float64         `json:"created_at"`
	Updated    float64         `json:"updated_at"`
	Namespace  string          `json:"namespace"`
	Certainty  float64         `json:"certainty"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Emotion    *string         `json:"emotional_state"`

	Session      string   `json:"session_id,omitempty"`
	Due          *float64 `json:"due_at,omitempty"`
	TemporalKind string   `json:"temporal_kind,omitempty"`
	Tier         string   `json:"tier,omitempty"`
	Owner        string   `json:"owner,omitempty"`
	Speaker      string   `json:"speaker,omitempty"`
	Pin          bool     `json:"pin,omitempty"`
}
