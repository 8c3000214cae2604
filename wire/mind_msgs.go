package wire

import "github.com/cairndb/cairn/wire/field"

// SessionStart opens a session.
type SessionStart struct {
	Namespace string `wire:"namespace,defaulted"`
	ClientID  string `wire:"client_id,defaulted"`
	Metadata  JSON   `wire:"metadata,defaulted"`
	SessionID string `wire:"session_id,extension"` // extension: an id chosen by the client
}

func (m *SessionStart) preset() { m.Namespace = "default" }

// SessionEnd closes a session.
type SessionEnd struct {
	SessionID string  `wire:"session_id"`
	Summary   *string `wire:"summary,optional"`
}

// SessionStarted answers SESSION_START, with opcode SESSION_OK.
type SessionStarted struct {
	SessionID string      `wire:"session_id"`
	Index     field.Token `wire:"index,extension"` // extension
}

// SessionEnded answers SESSION_END, with opcode SESSION_OK.
type SessionEnded struct {
	DurationSecs float64     `wire:"duration_secs"`
	MemoryCount  int         `wire:"memory_count"`
	SessionID    string      `wire:"session_id"`
	Topics       []string    `wire:"topics"`
	Index        field.Token `wire:"index,extension"` // extension
}

// Think requests a round of thinking.
type Think struct {
	RunConsolidation   bool `wire:"run_consolidation,defaulted"`
	RunConflictScan    bool `wire:"run_conflict_scan,defaulted"`
	RunPatternMining   bool `wire:"run_pattern_mining,defaulted"`
	RunPersonality     bool `wire:"run_personality,defaulted"`
	ConsolidationLimit int  `wire:"consolidation_limit,defaulted"`
}

func (m *Think) preset() {
	*m = Think{RunConsolidation: true, RunConflictScan: true, ConsolidationLimit: 50}
}

// Trigger is something an agent should act on.
type Trigger struct {
	Reason          string   `wire:"reason"`
	SourceRIDs      []string `wire:"source_rids"`
	SuggestedAction string   `wire:"suggested_action"`
	TriggerType     string   `wire:"trigger_type"`
	Urgency         float64  `wire:"urgency"`
}

// ThinkResult counts the changes of a round of thinking.
type ThinkResult struct {
	ConflictsFound     int       `wire:"conflicts_found"`
	ConsolidationCount int       `wire:"consolidation_count"`
	DurationMS         uint64    `wire:"duration_ms"`
	PatternsNew        int       `wire:"patterns_new"`
	PatternsUpdated    int       `wire:"patterns_updated"`
	PersonalityUpdated bool      `wire:"personality_updated"`
	Triggers           []Trigger `wire:"triggers"`
}

// Subscribe asks for events; UNSUBSCRIBE has the same payload.
type Subscribe struct {
	Events []string    `wire:"events"`
	Cursor field.Token `wire:"cursor,extension"` // extension: resume after this log position
	Filter JSON        `wire:"filter,extension"` // extension: only events of memories that match
	Prefix string      `wire:"prefix,extension"` // extension: only events of memories whose key is this one or below it
}

// Event is pushed on the stream of the SUBSCRIBE.
type Event struct {
	EventType string `wire:"event_type"`
	Data      JSON   `wire:"data,defaulted"`
}

// Conflicts asks for contradictions.
type Conflicts struct {
	Status       *string `wire:"status,optional"`
	ConflictType *string `wire:"conflict_type,optional"`
	Entity       *string `wire:"entity,optional"`
	Limit        int     `wire:"limit,defaulted"`
	Fresh
}

func (m *Conflicts) preset() { m.Limit = 50 }

// Conflict is a row of CONFLICT_RESULT.
type Conflict struct {
	ConflictID      string  `wire:"conflict_id"`
	ConflictType    string  `wire:"conflict_type"`
	DetectedAt      float64 `wire:"detected_at"`
	DetectionReason string  `wire:"detection_reason"`
	Entity          *string `wire:"entity,optional"`
	MemoryA         string  `wire:"memory_a"`
	MemoryB         string  `wire:"memory_b"`
	Priority        string  `wire:"priority"`
	Status          string  `wire:"status"`
}

// ConflictResult lists contradictions.
type ConflictResult struct {
	Conflicts []Conflict `wire:"conflicts"`
}

// Resolve resolves a contradiction.
type Resolve struct {
	ConflictID     string  `wire:"conflict_id"`
	Strategy       string  `wire:"strategy"` // keep_a, keep_b, keep_both, merge
	WinnerRID      *string `wire:"winner_rid,optional"`
	NewText        *string `wire:"new_text,optional"`
	ResolutionNote *string `wire:"resolution_note,optional"`
}

// Resolved answers RESOLVE, with opcode CONFLICT_RESULT.
type Resolved struct {
	ConflictID string `wire:"conflict_id"`
	Strategy   string `wire:"strategy"`
}

// Trait is a trait of a personality.
type Trait struct {
	Name  string  `wire:"name"`
	Score float64 `wire:"score"`
}

// Personality answers PERSONALITY, with opcode INFO_RESULT.
type Personality struct {
	Traits []Trait `wire:"traits"`
}

// Stats answers STATS, with opcode INFO_RESULT.
type Stats struct {
	ActiveMemories       uint64 `wire:"active_memories"`
	ConsolidatedMemories uint64 `wire:"consolidated_memories"`
	Edges                uint64 `wire:"edges"`
	Entities             uint64 `wire:"entities"`
	OpenConflicts        uint64 `wire:"open_conflicts"`
	Operations           uint64 `wire:"operations"`
	PendingTriggers      uint64 `wire:"pending_triggers"`
	TombstonedMemories   uint64 `wire:"tombstoned_memories"`
}
