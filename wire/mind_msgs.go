package wire

// SessionStart opens a session.
type SessionStart struct {
	Namespace string
	ClientID  string
	Metadata  JSON
	SessionID string // extension: a name of the client's own
}

func (m *SessionStart) fields(c *codec) {
	if c.mode == decoding {
		m.Namespace = "default"
	}
	c.str("namespace", &m.Namespace, defaulted)
	c.str("client_id", &m.ClientID, defaulted)
	c.json("metadata", &m.Metadata, defaulted)
	c.str("session_id", &m.SessionID, extension)
}

// SessionEnd closes a session.
type SessionEnd struct {
	SessionID string
	Summary   *string
}

func (m *SessionEnd) fields(c *codec) {
	c.str("session_id", &m.SessionID, required)
	c.optStr("summary", &m.Summary, optional)
}

// SessionStarted answers SESSION_START, with opcode SESSION_OK.
type SessionStarted struct {
	SessionID string
	Index     uint64 // extension
}

func (m *SessionStarted) fields(c *codec) {
	c.str("session_id", &m.SessionID, required)
	uintField(c, "index", &m.Index, extension)
}

// SessionEnded answers SESSION_END, with opcode SESSION_OK.
type SessionEnded struct {
	DurationSecs float64
	MemoryCount  int
	SessionID    string
	Topics       []string
	Index        uint64 // extension
}

func (m *SessionEnded) fields(c *codec) {
	c.f64("duration_secs", &m.DurationSecs, required)
	c.integer("memory_count", &m.MemoryCount, required)
	c.str("session_id", &m.SessionID, required)
	c.strs("topics", &m.Topics, required)
	uintField(c, "index", &m.Index, extension)
}

// Think asks for a round of cognition.
type Think struct {
	RunConsolidation   bool
	RunConflictScan    bool
	RunPatternMining   bool
	RunPersonality     bool
	ConsolidationLimit int
}

func (m *Think) fields(c *codec) {
	if c.mode == decoding {
		*m = Think{RunConsolidation: true, RunConflictScan: true, ConsolidationLimit: 50}
	}
	c.boolean("run_consolidation", &m.RunConsolidation, defaulted)
	c.boolean("run_conflict_scan", &m.RunConflictScan, defaulted)
	c.boolean("run_pattern_mining", &m.RunPatternMining, defaulted)
	c.boolean("run_personality", &m.RunPersonality, defaulted)
	c.integer("consolidation_limit", &m.ConsolidationLimit, defaulted)
}

// Trigger is something that deserves attention.
type Trigger struct {
	Reason          string
	SourceRIDs      []string
	SuggestedAction string
	TriggerType     string
	Urgency         float64
}

func (m *Trigger) fields(c *codec) {
	c.str("reason", &m.Reason, required)
	c.strs("source_rids", &m.SourceRIDs, required)
	c.str("suggested_action", &m.SuggestedAction, required)
	c.str("trigger_type", &m.TriggerType, required)
	c.f64("urgency", &m.Urgency, required)
}

// ThinkResult says what a round of cognition changed.
type ThinkResult struct {
	ConflictsFound     int
	ConsolidationCount int
	DurationMS         uint64
	PatternsNew        int
	PatternsUpdated    int
	PersonalityUpdated bool
	Triggers           []Trigger
}

func (m *ThinkResult) fields(c *codec) {
	c.integer("conflicts_found", &m.ConflictsFound, required)
	c.integer("consolidation_count", &m.ConsolidationCount, required)
	uintField(c, "duration_ms", &m.DurationMS, required)
	c.integer("patterns_new", &m.PatternsNew, required)
	c.integer("patterns_updated", &m.PatternsUpdated, required)
	c.boolean("personality_updated", &m.PersonalityUpdated, required)
	list(c, "triggers", &m.Triggers, required)
}

// Subscribe asks for events; UNSUBSCRIBE takes the same payload.
type Subscribe struct {
	Events []string
	Cursor uint64 // extension: resume behind this place in the log
}

func (m *Subscribe) fields(c *codec) {
	c.strs("events", &m.Events, required)
	uintField(c, "cursor", &m.Cursor, extension)
}

// Event is pushed on the stream of the SUBSCRIBE.
type Event struct {
	EventType string
	Data      JSON
}

func (m *Event) fields(c *codec) {
	c.str("event_type", &m.EventType, required)
	c.json("data", &m.Data, defaulted)
}

// Conflicts asks for contradictions.
type Conflicts struct {
	Status       *string
	ConflictType *string
	Entity       *string
	Limit        int
}

func (m *Conflicts) fields(c *codec) {
	if c.mode == decoding {
		m.Limit = 50
	}
	c.optStr("status", &m.Status, optional)
	c.optStr("conflict_type", &m.ConflictType, optional)
	c.optStr("entity", &m.Entity, optional)
	c.integer("limit", &m.Limit, defaulted)
}

// Conflict is a row of CONFLICT_RESULT.
type Conflict struct {
	ConflictID      string
	ConflictType    string
	DetectedAt      float64
	DetectionReason string
	Entity          *string
	MemoryA         string
	MemoryB         string
	Priority        string
	Status          string
}

func (m *Conflict) fields(c *codec) {
	c.str("conflict_id", &m.ConflictID, required)
	c.str("conflict_type", &m.ConflictType, required)
	c.f64("detected_at", &m.DetectedAt, required)
	c.str("detection_reason", &m.DetectionReason, required)
	c.optStr("entity", &m.Entity, optional)
	c.str("memory_a", &m.MemoryA, required)
	c.str("memory_b", &m.MemoryB, required)
	c.str("priority", &m.Priority, required)
	c.str("status", &m.Status, required)
}

// ConflictResult lists contradictions.
type ConflictResult struct{ Conflicts []Conflict }

func (m *ConflictResult) fields(c *codec) { list(c, "conflicts", &m.Conflicts, required) }

// Resolve settles a contradiction.
type Resolve struct {
	ConflictID     string
	Strategy       string // keep_a, keep_b, keep_both, merge
	WinnerRID      *string
	NewText        *string
	ResolutionNote *string
}

func (m *Resolve) fields(c *codec) {
	c.str("conflict_id", &m.ConflictID, required)
	c.str("strategy", &m.Strategy, required)
	c.optStr("winner_rid", &m.WinnerRID, optional)
	c.optStr("new_text", &m.NewText, optional)
	c.optStr("resolution_note", &m.ResolutionNote, optional)
}

// Resolved answers RESOLVE, with opcode CONFLICT_RESULT.
type Resolved struct {
	ConflictID string
	Strategy   string
}

func (m *Resolved) fields(c *codec) {
	c.str("conflict_id", &m.ConflictID, required)
	c.str("strategy", &m.Strategy, required)
}

// Trait is one line of a personality.
type Trait struct {
	Name  string
	Score float64
}

func (m *Trait) fields(c *codec) {
	c.str("name", &m.Name, required)
	c.f64("score", &m.Score, required)
}

// Personality answers PERSONALITY, with opcode INFO_RESULT.
type Personality struct{ Traits []Trait }

func (m *Personality) fields(c *codec) { list(c, "traits", &m.Traits, required) }

// Stats answers STATS, with opcode INFO_RESULT.
type Stats struct {
	ActiveMemories       uint64
	ConsolidatedMemories uint64
	Edges                uint64
	Entities             uint64
	OpenConflicts        uint64
	Operations           uint64
	PendingTriggers      uint64
	TombstonedMemories   uint64
}

func (m *Stats) fields(c *codec) {
	uintField(c, "active_memories", &m.ActiveMemories, required)
	uintField(c, "consolidated_memories", &m.ConsolidatedMemories, required)
	uintField(c, "edges", &m.Edges, required)
	uintField(c, "entities", &m.Entities, required)
	uintField(c, "open_conflicts", &m.OpenConflicts, required)
	uintField(c, "operations", &m.Operations, required)
	uintField(c, "pending_triggers", &m.PendingTriggers, required)
	uintField(c, "tombstoned_memories", &m.TombstonedMemories, required)
}
