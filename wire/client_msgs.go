package wire

import "github.com/cairndb/cairn/wire/field"

// Auth opens a client's connection.
type Auth struct{ Token string }

func (m *Auth) fields(c *codec) { c.str("token", &m.Token, required) }

// AuthOK binds the connection to a database.
type AuthOK struct {
	Database   string
	DatabaseID uint32
}

func (m *AuthOK) fields(c *codec) {
	c.str("database", &m.Database, required)
	uintField(c, "database_id", &m.DatabaseID, required)
}

// AuthFail says why not; the connection closes.
type AuthFail struct{ Reason string }

func (m *AuthFail) fields(c *codec) { c.str("reason", &m.Reason, required) }

// Name is the payload of SELECT_DB and CREATE_DB.
type Name struct{ Name string }

func (m *Name) fields(c *codec) { c.str("name", &m.Name, required) }

// DBOK answers SELECT_DB and CREATE_DB.
type DBOK struct {
	ID      uint32
	Message string
	Name    string
}

func (m *DBOK) fields(c *codec) {
	uintField(c, "id", &m.ID, required)
	c.str("message", &m.Message, defaulted)
	c.str("name", &m.Name, required)
}

// Nothing is an empty map.
type Nothing struct{}

func (m *Nothing) fields(*codec) {}

// Database is a row of LIST_DB_RESULT.
type Database struct {
	CreatedAt string // YYYY-MM-DD HH:MM:SS UTC
	ID        uint32
	Name      string
}

func (m *Database) fields(c *codec) {
	c.str("created_at", &m.CreatedAt, defaulted)
	uintField(c, "id", &m.ID, required)
	c.str("name", &m.Name, required)
}

// ListDBResult lists the databases by id.
type ListDBResult struct{ Databases []Database }

func (m *ListDBResult) fields(c *codec) { list(c, "databases", &m.Databases, required) }

// Remember is a memory to store. NewRemember gives the defaults.
type Remember struct {
	Text           string
	MemoryType     string
	Importance     float64
	Valence        float64
	HalfLife       float64 // hours
	Metadata       JSON
	Namespace      string
	Certainty      float64
	Domain         string
	Source         string
	EmotionalState *string
	Embedding      []float32

	// Extensions: absent unless set.
	IdempotencyKey string
	SessionID      string
	DueAt          float64 // unix seconds
	TemporalKind   string
	Tier           string
	CreatedAt      float64 // unix seconds; for imports
	Speaker        string
}

// NewRemember is a memory with the protocol's defaults.
func NewRemember(text string) Remember {
	return Remember{Text: text, MemoryType: "semantic", Importance: 0.5, HalfLife: 168, Certainty: 1, Source: "user"}
}

func (m *Remember) fields(c *codec) {
	if c.mode == decoding {
		*m = NewRemember("")
	}
	c.str("text", &m.Text, required)
	c.str("memory_type", &m.MemoryType, defaulted)
	c.bounded("importance", &m.Importance, defaulted, field.Unit)
	c.bounded("valence", &m.Valence, defaulted, field.Signed)
	c.bounded("half_life", &m.HalfLife, defaulted, field.Hours)
	c.json("metadata", &m.Metadata, defaulted)
	c.str("namespace", &m.Namespace, defaulted)
	c.bounded("certainty", &m.Certainty, defaulted, field.Unit)
	c.str("domain", &m.Domain, defaulted)
	c.str("source", &m.Source, defaulted)
	c.optStr("emotional_state", &m.EmotionalState, optional)
	c.floats("embedding", &m.Embedding, optional)
	c.str("idempotency_key", &m.IdempotencyKey, extension)
	c.str("session_id", &m.SessionID, extension)
	c.date("due_at", &m.DueAt, extension)
	c.str("temporal_kind", &m.TemporalKind, extension)
	c.str("tier", &m.Tier, extension)
	c.date("created_at", &m.CreatedAt, extension)
	c.str("speaker", &m.Speaker, extension)
}

// RememberBatch stores memories, all or none.
type RememberBatch struct {
	Memories       []Remember
	IdempotencyKey string // extension
}

func (m *RememberBatch) fields(c *codec) {
	list(c, "memories", &m.Memories, required)
	c.str("idempotency_key", &m.IdempotencyKey, extension)
}

// RememberOK answers REMEMBER.
type RememberOK struct {
	RID   string
	Index uint64 // extension: place in the log
}

func (m *RememberOK) fields(c *codec) {
	c.str("rid", &m.RID, required)
	uintField(c, "index", &m.Index, extension)
}

// RememberBatchOK answers REMEMBER_BATCH, with the same opcode as RememberOK.
type RememberBatchOK struct {
	RIDs  []string
	Index uint64 // extension
}

func (m *RememberBatchOK) fields(c *codec) {
	c.strs("rids", &m.RIDs, required)
	uintField(c, "index", &m.Index, extension)
}

// Recall is a question: flat, as its map is on the wire. NewRecall gives the defaults.
type Recall struct {
	Query               string
	TopK                int
	MemoryType          *string
	IncludeConsolidated bool
	ExpandEntities      bool
	Namespace           *string
	Domain              *string
	Source              *string
	QueryEmbedding      []float32

	// Extensions: absent unless set.
	Consistency   string // stale, index, linearizable
	MinIndex      uint64
	SkipReinforce bool
	Explain       bool
	Since, Until  float64 // unix seconds
	AsOf          float64 // unix seconds: what was believed then
	Types         []string
	Session       string
	Without       []string // signals that are not to count
	Diverse       bool     // prefer what does not repeat something better
	MinScore      float64  // leave out what scores less; 0 leaves out nothing that matches
}

// NewRecall is a question with the protocol's defaults.
func NewRecall(query string) Recall { return Recall{Query: query, TopK: 10, ExpandEntities: true} }

func (m *Recall) fields(c *codec) {
	if c.mode == decoding {
		*m = NewRecall("")
	}
	c.str("query", &m.Query, required)
	c.integer("top_k", &m.TopK, defaulted)
	c.optStr("memory_type", &m.MemoryType, optional)
	c.boolean("include_consolidated", &m.IncludeConsolidated, defaulted)
	c.boolean("expand_entities", &m.ExpandEntities, defaulted)
	c.optStr("namespace", &m.Namespace, optional)
	c.optStr("domain", &m.Domain, optional)
	c.optStr("source", &m.Source, optional)
	c.floats("query_embedding", &m.QueryEmbedding, optional)
	c.str("consistency", &m.Consistency, extension)
	uintField(c, "min_index", &m.MinIndex, extension)
	c.boolean("skip_reinforce", &m.SkipReinforce, extension)
	c.boolean("explain", &m.Explain, extension)
	c.date("since", &m.Since, extension)
	c.date("until", &m.Until, extension)
	c.date("as_of", &m.AsOf, extension)
	c.strs("types", &m.Types, extension)
	c.str("session", &m.Session, extension)
	c.strs("without", &m.Without, extension)
	c.boolean("diverse", &m.Diverse, extension)
	c.f64("min_score", &m.MinScore, extension)
}

// RecallResult is one memory found; keys in alphabetical order, as peers of old send them.
type RecallResult struct {
	Certainty    float64
	CreatedAt    float64
	Domain       string
	Importance   float64
	MemoryType   string
	Metadata     JSON
	Namespace    string
	RID          string
	Score        float64
	Source       string
	Text         string
	Valence      float64
	WhyRetrieved []string
}

func (m *RecallResult) fields(c *codec) {
	c.f64("certainty", &m.Certainty, defaulted)
	c.f64("created_at", &m.CreatedAt, required)
	c.str("domain", &m.Domain, defaulted)
	c.f64("importance", &m.Importance, required)
	c.str("memory_type", &m.MemoryType, required)
	c.json("metadata", &m.Metadata, defaulted)
	c.str("namespace", &m.Namespace, defaulted)
	c.str("rid", &m.RID, required)
	c.f64("score", &m.Score, required)
	c.str("source", &m.Source, defaulted)
	c.str("text", &m.Text, required)
	c.f64("valence", &m.Valence, defaulted)
	c.strs("why_retrieved", &m.WhyRetrieved, required)
}

// RecallEnd ends the results of a RECALL.
type RecallEnd struct {
	Total      int
	Confidence float64
	Index      uint64   // extension: the answer reflects the log up to here
	LagSeconds *float64 // extension; nil when the node heard no leader

	// Extensions: why there is no more.
	Considered    uint64 // memories that were looked at
	BelowMinScore uint64 // of them, those that match and score less than min_score
}

func (m *RecallEnd) fields(c *codec) {
	c.integer("total", &m.Total, required)
	c.f64("confidence", &m.Confidence, defaulted)
	uintField(c, "index", &m.Index, extension)
	c.optF64("lag_seconds", &m.LagSeconds, extension)
	uintField(c, "considered", &m.Considered, extension)
	uintField(c, "below_min_score", &m.BelowMinScore, extension)
}

// Forget names the memory to forget.
type Forget struct{ RID string }

func (m *Forget) fields(c *codec) { c.str("rid", &m.RID, required) }

// ForgetOK says whether there was one.
type ForgetOK struct {
	Found bool
	RID   string
	Index uint64 // extension
}

func (m *ForgetOK) fields(c *codec) {
	c.boolean("found", &m.Found, required)
	c.str("rid", &m.RID, required)
	uintField(c, "index", &m.Index, extension)
}

// Operation asks for an operation of the HTTP reference by name.
type Operation struct {
	Name    string
	Request JSON // an object of the fields that the reference lists; empty for none
}

func (m *Operation) fields(c *codec) {
	c.str("operation", &m.Name, required)
	c.json("request", &m.Request, defaulted)
}

// OperationResult is an operation's answer.
type OperationResult struct{ Answer JSON }

func (m *OperationResult) fields(c *codec) { c.json("answer", &m.Answer, required) }
