package wire

import "github.com/cairndb/cairn/wire/field"

// Auth opens a client's connection.
type Auth struct {
	Token string `wire:"token"`
}

// AuthOK binds the connection to a database.
type AuthOK struct {
	Database   string `wire:"database"`
	DatabaseID uint32 `wire:"database_id"`
}

// AuthFail is the rejection of a token. The server then closes the connection.
type AuthFail struct {
	Reason string `wire:"reason"`
	Retry  bool   `wire:"retry,extension"` // the node cannot decide yet: retry, or ask another node
}

// Name is the payload of SELECT_DB and CREATE_DB.
type Name struct {
	Name string `wire:"name"`
}

// DBOK answers SELECT_DB and CREATE_DB.
type DBOK struct {
	ID      uint32 `wire:"id"`
	Message string `wire:"message,defaulted"`
	Name    string `wire:"name"`
}

// Nothing is an empty message.
type Nothing struct{}

// Database is a row of LIST_DB_RESULT.
type Database struct {
	CreatedAt string `wire:"created_at,defaulted"` // YYYY-MM-DD HH:MM:SS UTC
	ID        uint32 `wire:"id"`
	Name      string `wire:"name"`
}

// ListDBResult lists the databases by id.
type ListDBResult struct {
	Databases []Database `wire:"databases"`
}

// Remember is a memory to store. NewRemember sets the defaults.
type Remember struct {
	Text           string    `wire:"text"`
	MemoryType     string    `wire:"memory_type,defaulted"`
	Importance     float64   `wire:"importance,defaulted,unit"`
	Valence        float64   `wire:"valence,defaulted,signed"`
	HalfLife       float64   `wire:"half_life,defaulted,hours"` // hours
	Metadata       JSON      `wire:"metadata,defaulted"`
	Namespace      string    `wire:"namespace,defaulted"`
	Certainty      float64   `wire:"certainty,defaulted,unit"`
	Domain         string    `wire:"domain,defaulted"`
	Source         string    `wire:"source,defaulted"`
	EmotionalState *string   `wire:"emotional_state,optional"`
	Embedding      []float32 `wire:"embedding,optional"`

	// Extensions: absent unless set.
	IdempotencyKey string  `wire:"idempotency_key,extension"`
	SessionID      string  `wire:"session_id,extension"`
	DueAt          float64 `wire:"due_at,extension,date"` // unix seconds
	TemporalKind   string  `wire:"temporal_kind,extension"`
	Tier           string  `wire:"tier,extension"`
	CreatedAt      float64 `wire:"created_at,extension,date"` // unix seconds; for imports
	Speaker        string  `wire:"speaker,extension"`
	Pin            bool    `wire:"pin,extension"`

	ExpiresAt     float64  `wire:"expires_at,extension,date"` // unix seconds
	TTL           *float64 `wire:"ttl,extension"`             // seconds; 0 for never
	RefreshOnRead float64  `wire:"refresh_on_read,extension"` // seconds
	Searchable    *bool    `wire:"searchable,extension"`
	Attributes    JSON     `wire:"attributes,extension"`
	Agent         string   `wire:"agent,extension"`
	Trust         string   `wire:"trust,extension"`
}

// NewRemember returns a memory with the protocol's defaults.
func NewRemember(text string) Remember {
	return Remember{Text: text, MemoryType: "semantic", Importance: 0.5, HalfLife: 168, Certainty: 1, Source: "user"}
}

func (m *Remember) preset() { *m = NewRemember("") }

func (Remember) most() uint32 { return field.MaxObjects }

// RememberBatch stores memories atomically.
type RememberBatch struct {
	Memories       []Remember `wire:"memories"`
	IdempotencyKey string     `wire:"idempotency_key,extension"` // extension
}

// RememberOK answers REMEMBER.
type RememberOK struct {
	RID      string      `wire:"rid"`
	Index    field.Token `wire:"index,extension"`    // extension: place in the log
	Redacted []string    `wire:"redacted,extension"` // extension: kinds of the secrets that were redacted
}

// RememberBatchOK answers REMEMBER_BATCH, with the same opcode as RememberOK.
type RememberBatchOK struct {
	RIDs     []string    `wire:"rids"`
	Index    field.Token `wire:"index,extension"`    // extension
	Redacted []string    `wire:"redacted,extension"` // extension
}

// Recall is a question. NewRecall sets the defaults.
type Recall struct {
	Query               string    `wire:"query"`
	TopK                int       `wire:"top_k,defaulted"`
	MemoryType          *string   `wire:"memory_type,optional"`
	IncludeConsolidated bool      `wire:"include_consolidated,defaulted"`
	ExpandEntities      bool      `wire:"expand_entities,defaulted"`
	Namespace           *string   `wire:"namespace,optional"`
	Domain              *string   `wire:"domain,optional"`
	Source              *string   `wire:"source,optional"`
	QueryEmbedding      []float32 `wire:"query_embedding,optional"`

	// Extensions: absent unless set.
	Consistency   string      `wire:"consistency,extension"` // stale, index, linearizable
	MinIndex      field.Token `wire:"min_index,extension"`
	SkipReinforce bool        `wire:"skip_reinforce,extension"`
	Explain       bool        `wire:"explain,extension"`
	Since         float64     `wire:"since,extension,date"` // unix seconds
	Until         float64     `wire:"until,extension,date"` // unix seconds
	AsOf          float64     `wire:"as_of,extension,date"` // unix seconds: answer from the state at that time
	Types         []string    `wire:"types,extension"`
	Session       string      `wire:"session,extension"`
	Without       []string    `wire:"without,extension"`   // signals to ignore
	Diverse       bool        `wire:"diverse,extension"`   // prefer results that do not repeat a better one
	Filter        JSON        `wire:"filter,extension"`    // condition on attributes and fields; see package oplog/filter
	MinScore      *float64    `wire:"min_score,extension"` // omit memories that score less; 0: return all matches; nil: the node's default
}

// NewRecall returns a question with the protocol's defaults.
func NewRecall(query string) Recall { return Recall{Query: query, TopK: 10, ExpandEntities: true} }

func (m *Recall) preset() { *m = NewRecall("") }

// Fresh sets the consistency of an answer. Extensions: absent unless set.
type Fresh struct {
	MinIndex    field.Token `wire:"min_index,extension"`
	Consistency string      `wire:"consistency,extension"` // stale, index, linearizable
}

// RecallResult is a recalled memory. Keys are in alphabetical order, as in older versions.
type RecallResult struct {
	Certainty    float64  `wire:"certainty,defaulted"`
	CreatedAt    float64  `wire:"created_at"`
	Domain       string   `wire:"domain,defaulted"`
	Importance   float64  `wire:"importance"`
	MemoryType   string   `wire:"memory_type"`
	Metadata     JSON     `wire:"metadata,defaulted"`
	Namespace    string   `wire:"namespace,defaulted"`
	RID          string   `wire:"rid"`
	Score        float64  `wire:"score"`
	Source       string   `wire:"source,defaulted"`
	Text         string   `wire:"text"`
	Valence      float64  `wire:"valence,defaulted"`
	WhyRetrieved []string `wire:"why_retrieved"`
	Attributes   JSON     `wire:"attributes,extension"`
}

// RecallEnd ends the results of a RECALL.
type RecallEnd struct {
	Total      int         `wire:"total"`
	Confidence float64     `wire:"confidence,defaulted"`
	Index      field.Token `wire:"index,extension"`       // extension: the answer reflects the log up to here
	LagSeconds *float64    `wire:"lag_seconds,extension"` // extension; nil if the node knows no leader

	// Extensions: why there are no more results.
	Considered    uint64 `wire:"considered,extension"`      // number of examined memories
	BelowMinScore uint64 `wire:"below_min_score,extension"` // of them, matches that score less than min_score
}

// Forget names the memory to forget.
type Forget struct {
	RID string `wire:"rid"`
}

// ForgetOK reports whether the memory existed.
type ForgetOK struct {
	Found bool        `wire:"found"`
	RID   string      `wire:"rid"`
	Index field.Token `wire:"index,extension"` // extension
}

// Operation executes an operation of the HTTP reference by name.
type Operation struct {
	Name    string `wire:"operation"`
	Request JSON   `wire:"request,defaulted"` // object with the fields in the reference; blank for none
}

// OperationResult is the answer of an operation.
type OperationResult struct {
	Answer JSON `wire:"answer"`
}
