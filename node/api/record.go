package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// The fields of a memory. A new field is declared here, in Memory and, if clients set it, in Draft. It is stored in
// oplog.Content or oplog.Past. The structs below have some of the fields: their names, types, bounds and descriptions
// come from Memory unless a tag overrides them ([field.Like]), and [Carry] copies values between them and the state by
// the names of the fields.

// A Memory has all fields of a memory, in the order of its JSON.
type Memory struct {
	RID       string  `json:"rid" is:"rid" doc:"The memory's id."`
	Path      string  `json:"key,omitempty" doc:"Its key in its namespace; absent when it has none."`
	Same      string  `json:"type" of:"Type" doc:"The same as memory_type."`
	Type      string  `json:"memory_type" doc:"What kind of memory it is: semantic, episodic, procedural, or a name the client chooses."`
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

	Into    *string  `json:"consolidated_into" is:"rid" doc:"The memory that it was merged into."`
	Split   []string `json:"split_into,omitempty" is:"[]rid" doc:"The memories that it was split into; absent when it was not."`
	Status  string   `json:"consolidation_status" is:"string{active,consolidated,tombstoned,quarantined}" doc:"Its status; active memories are recalled."`
	Sources []string `json:"consolidation_sources" is:"[]rid" doc:"The memories that it was merged from."`
	Tier    string   `json:"storage_tier" empty:"hot" doc:"hot, or the tier that the client gave."`

	MetadataText string          `json:"metadata_json" of:"Metadata" empty:"{}" doc:"The metadata as a text."`
	Metadata     json.RawMessage `json:"metadata" empty:"{}" doc:"The client's own data."`
	Attributes   json.RawMessage `json:"attributes,omitempty" doc:"Its attributes, for filters; absent when it has none."`
	Namespace    string          `json:"namespace" doc:"Its namespace."`
	Domain       string          `json:"domain" doc:"Its domain, as the client named it."`
	Source       string          `json:"source" doc:"Its source."`
	Emotion      *string         `json:"emotional_state" doc:"The emotion that it was stored with."`
	Session      *string         `json:"session_id" doc:"The session that it joined."`
	Due          *float64        `json:"due_at" is:"time" doc:"When it is due, in Unix seconds."`
	TemporalKind *string         `json:"temporal_kind" doc:"The meaning of its date, as the client named it."`
	Reason       *string         `json:"tombstone_reason" doc:"Why it was forgotten."`
	By           *string         `json:"superseded_by,omitempty" is:"rid" doc:"The newer memory that replaces it; absent when it is current."`
	Pin          bool            `json:"pin,omitempty" doc:"true: it is pinned: think does not merge, move or forget it, and it does not expire."`
	Expires      *float64        `json:"expires_at,omitempty" is:"time" doc:"When it expires, in Unix seconds; absent for never."`
	Refresh      float64         `json:"refresh_on_read,omitempty" doc:"Expires this many seconds after its last read; absent: reads do not change when it expires."`
	Searchable   *bool           `json:"searchable,omitempty" of:"!Unsearchable" doc:"false: it can be read by id and in lists, but recall does not find it."`
	Revision     uint32          `json:"revision" doc:"Number of corrections."`
	Model        *string         `json:"embedding_model" doc:"The embedder that made its vector."`
	VectorBytes  *int            `json:"embedding_bytes" doc:"Size of its vector in bytes."`
	Entities     []string        `json:"entities" doc:"The entities that its text names."`
	Claims       []string        `json:"claims" doc:"The claims that were read from its text."`
	Writer       string          `json:"writer,omitempty" doc:"Who wrote it: the token's label or hash; master, local or node without one."`
	Dialect      string          `json:"dialect,omitempty" doc:"The protocol it came by, such as http or mcp; think if it was merged."`
	Agent        string          `json:"agent,omitempty" doc:"Its agent, as the client named it."`
	Trust        string          `json:"trust" is:"string{operator,agent,tool,web}" empty:"agent" doc:"Its class of trust: operator, agent, tool (output of a program) or web (a stranger's text)."`
	Origins      []Origin        `json:"provenance,omitempty" doc:"With sources: this memory, then those it was made of."`
}

// A Draft has the fields that a client sets, in the order of the reference.
type Draft struct {
	_ field.Like[Memory]

	Text         string          `json:"text" tool:"content,memory" is:"string!" doc:"What to remember: a sentence that stands by itself." example:"Ada prefers tea to coffee."`
	Type         string          `json:"memory_type" tool:"type" default:"semantic" doc:"What kind of memory it is: semantic, episodic, procedural or a name of your own."`
	Importance   float64         `json:"importance" is:"unit" default:"0.5"`
	Valence      float64         `json:"valence" core:"-" is:"signed"`
	HalfLife     float64         `json:"half_life" core:"-" unit:"hours" is:"hours" default:"168"`
	Metadata     json.RawMessage `json:"metadata" core:"-" default:"{}" doc:"Your own JSON object, stored with the memory."`
	Attributes   field.Map       `json:"attributes" doc:"Attributes to filter by: a flat object of strings, numbers, true, false, dates (RFC 3339) and lists of strings."`
	Namespace    string          `json:"namespace" doc:"Its namespace; blank for default."`
	Certainty    float64         `json:"certainty" core:"-" is:"unit" default:"1"`
	Domain       string          `json:"domain" core:"-" doc:"Its domain, such as work or health."`
	Source       string          `json:"source" core:"-" default:"user"`
	Emotion      string          `json:"emotional_state" core:"-" doc:"The emotion of the memory."`
	Embedding    field.Vector    `json:"embedding" tool:"-" doc:"Its vector, of the database's dimension; the database's embedder makes it when it is omitted."`
	Session      string          `json:"session_id" names:"session" tool:"-" doc:"The session that it joins. Default: the namespace's active session."`
	Created      field.Date      `json:"created_at" doc:"When it happened; default: now."`
	Due          field.Date      `json:"due_at" core:"-" doc:"When it is due."`
	TemporalKind string          `json:"temporal_kind" tool:"-" doc:"The meaning of its date: a word of your own."`
	Tier         string          `json:"tier" tool:"-" doc:"working, episodic or longterm, which fade by different rules; or a word of your own."`
	Pin          bool            `json:"pin" doc:"true: think does not merge, move or forget it, and it does not expire."`
	Expires      field.Date      `json:"expires_at" doc:"When it expires: from then on no answer returns it."`
	TTL          *float64        `json:"ttl" core:"-" is:"seconds" doc:"Seconds until it expires, instead of expires_at; 0 for never. Default: the database's default_ttl_secs."`
	Refresh      float64         `json:"refresh_on_read" core:"-" is:"number[0..]" doc:"Expires this many seconds after its last read; 0: reads do not change when it expires."`
	Searchable   *bool           `json:"searchable" core:"-" of:"!Unsearchable" doc:"false: store it without indexing it. It can be read by id and in lists, but recall does not find it."`
	Key          string          `json:"idempotency_key" core:"-" is:"key" doc:"Idempotency key: repeating the request with it stores nothing twice."`

	Agent string `json:"agent" core:"-" doc:"The agent that writes it, in words of your own."`
	Trust string `json:"trust" core:"-" is:"string{operator,agent,tool,web}" doc:"A lower class of trust than the token's: tool for the output of a program, web for a stranger's text. Default: the token's."`

	RID     string `json:"-"` // if empty, the node makes one
	Path    string `json:"-"` // the memory's key; Put sets it
	Owner   string `json:"-"`
	Speaker string `json:"-"`

	Writer  string `json:"-"` // set for imported memories and those of peers, like Dialect; otherwise the door sets both
	Dialect string `json:"-"`

	History *History `json:"-"` // set for imported memories
}

// DefaultHalfLife is the default half-life of a memory, in hours.
const DefaultHalfLife = 168

// Inherit sets the fields of a merged memory on which its sources agree.
func (d *Draft) Inherit(from []*oplog.Memory) {
	for i, m := range from {
		if i == 0 {
			d.Importance, d.HalfLife = m.Importance, m.HalfLife/3600
			d.Namespace, d.Domain, d.Source, d.Tier, d.Owner = m.Namespace, m.Domain, m.Source, m.Tier, m.Owner
			continue
		}
		d.Importance = max(d.Importance, m.Importance)
		d.HalfLife = max(d.HalfLife, m.HalfLife/3600)
		for _, f := range []struct {
			of        *string
			is, mixed string
		}{{&d.Domain, m.Domain, "general"}, {&d.Source, m.Source, "user"}, {&d.Tier, m.Tier, ""}, {&d.Owner, m.Owner, ""}} {
			if *f.of != f.is {
				*f.of = f.mixed
			}
		}
	}
}

// A Result is a memory that a recall found. It has exactly these keys, because some clients pass them as arguments of a
// record.
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
	Attributes json.RawMessage `json:"attributes,omitempty"`
	*Explained

	Whole *Memory `json:"-"` // if Rows.Whole is set
}

// A Record is a row of a list in the order of ids.
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
	Attributes json.RawMessage `json:"attributes,omitempty"`
}

// An ExportedMemory is a line of an export with type memory. It has everything that a memory has, so that an import
// makes the same memory. The fields after session_id are left out if they are empty.
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
	Expires      *float64        `json:"expires_at,omitempty"`
	Refresh      float64         `json:"refresh_on_read,omitempty"`
	Searchable   *bool           `json:"searchable,omitempty" of:"!Unsearchable"`
	Path         string          `json:"key,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	Embedding    field.Vector    `json:"embedding,omitempty"` // only if clients send the vectors; an embedder makes them again
	Owner        string          `json:"owner,omitempty"`
	Speaker      string          `json:"speaker,omitempty"`
	Stamp
	History
}

// A Stamp says who wrote a memory, in exports and for peers.
type Stamp struct {
	Writer  string `json:"writer,omitempty"`
	Dialect string `json:"dialect,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Trust   string `json:"trust,omitempty"`
}

// An Origin is a source of a memory, or the memory itself, with its writer.
type Origin struct {
	_ field.Like[Memory]

	RID     string `json:"rid"`
	Writer  string `json:"writer,omitempty"`
	Dialect string `json:"dialect,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Trust   string `json:"trust" empty:"agent"`
	Status  string `json:"status" is:"string{active,consolidated,tombstoned,quarantined}" doc:"Its status now."`
	Made    string `json:"made_into,omitempty" is:"rid" doc:"The memory of this list that was made of it; absent for the first."`
}

// History holds the changes of a memory since it was first stored. Times are Unix seconds. A line with an extractor has
// all names and claims of its text, so that an import does not extract them again.
type History struct {
	Extractor *uint8             `json:"extractor"` // version of the extractor of names and claims; 0: none
	Updated   float64            `json:"updated_at"`
	Accessed  float64            `json:"last_access"`
	Accesses  uint64             `json:"access_count,omitempty"`
	Order     uint64             `json:"session_order,omitempty"`
	Status    string             `json:"consolidation_status,omitempty"` // consolidated, quarantined, or empty for active
	Into      string             `json:"consolidated_into,omitempty"`
	Split     []string           `json:"split_into,omitempty"`
	Merged    uint32             `json:"merged,omitempty"` // number of its sources
	Reason    string             `json:"tombstone_reason,omitempty"`
	By        string             `json:"superseded_by,omitempty"`
	Surely    bool               `json:"superseded_surely,omitempty"` // both state the same relation of one subject
	Revision  uint32             `json:"revision,omitempty"`
	Revisions []ExportedRevision `json:"revisions,omitempty"`
	Entities  []ExportedEntity   `json:"entities,omitempty" of:"-"`
	Claims    []ExportedClaim    `json:"claims,omitempty" of:"-"` // claims that its text states
}

// A PeerMemory is a memory that peers pull and push. Peers of other implementations know the fields up to
// emotional_state.
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

	Session      string          `json:"session_id,omitempty"`
	Due          *float64        `json:"due_at,omitempty"`
	TemporalKind string          `json:"temporal_kind,omitempty"`
	Tier         string          `json:"tier,omitempty"`
	Owner        string          `json:"owner,omitempty"`
	Speaker      string          `json:"speaker,omitempty"`
	Pin          bool            `json:"pin,omitempty"`
	Expires      *float64        `json:"expires_at,omitempty"`
	Refresh      float64         `json:"refresh_on_read,omitempty"`
	Searchable   *bool           `json:"searchable,omitempty" of:"!Unsearchable"`
	Path         string          `json:"key,omitempty"`
	Attributes   json.RawMessage `json:"attributes,omitempty"`
	Stamp
}
