package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// Rounds of cognition.
var (
	Think = row[ThinkRequest, Thought](Op{Name: "think",
		Does:  "Look for duplicates, contradictions, patterns and things an agent should act on.",
		Scope: Write, Writes: true, Asked: true, Bound: Single, HTTP: "POST /v1/think", Wire: wire.OpThink})

	// Reflect is the same for models. It has fewer parameters, and does not compute the personality unless requested.
	Reflect = row[ReflectRequest, Thought](Op{Name: "reflect",
		Does:  "Look for duplicates, contradictions, patterns and things an agent should act on, when a model asks.",
		Scope: Write, Writes: true, Bound: Single,
		Tool: &Tool{Name: "think", Title: "Think", Destructive: true,
			Text: "Merge duplicates, find contradictions, and list what an agent should act on. Use it at the end of a long piece of work, " +
				"or when memories seem to disagree; then bring the triggers it returns to the user."}})
)

// ThinkParts selects the optional parts of a round. Every round looks for triggers.
type ThinkParts struct {
	Consolidate bool `json:"run_consolidation" core:"-" default:"true" doc:"Merge memories that say the same thing."`
	Conflicts   bool `json:"run_conflict_scan" core:"-" also:"run_conflicts" default:"true" doc:"Look for contradictions."`
	Patterns    bool `json:"run_pattern_mining" core:"-" also:"run_patterns" default:"false" doc:"Look for patterns."`
}

type ThinkRequest struct {
	ThinkParts
	Personality bool    `json:"run_personality" default:"true" doc:"Compute the agent's traits again."`
	Minor       bool    `json:"include_minor" default:"false" doc:"Also report minor contradictions, which may be false positives."`
	Limit       int     `json:"consolidation_limit" is:"integer[0..]" default:"50" doc:"Number of memories to find duplicates of, up to 10,000; 0 for none. The next round continues after them. In a database of more than 10,000 memories the unread ones come in addition."`
	Days        float64 `json:"consolidation_time_window_days" is:"number[0..36500]" default:"7" doc:"Most days between the creation of two duplicates; 0 means 7."`
	MinActive   int     `json:"min_active_memories" is:"integer[0..]" default:"10" doc:"Least number of active memories for merging; 0 means 10."`
	MaxTriggers int     `json:"max_triggers" is:"integer[0..]" default:"10" doc:"Most triggers to return, up to 1,000; 0 means 10."`
	Namespace   string  `json:"namespace" doc:"Look at the memories and claims of this namespace alone; blank for all. Then relations, patterns, traits and what concerns the whole database are left out."`
	MaxMillis   int     `json:"max_ms" is:"integer[0..]" default:"0" doc:"Milliseconds after which the round reads no more, up to 60,000; 0 for 60,000. It decides on what it has read, and the next round continues."`
	Progress    bool    `json:"progress" default:"false" doc:"Also return read and remaining."`
}

type ReflectRequest struct {
	ThinkParts
	Personality bool `json:"run_personality" core:"-" default:"false" doc:"Compute the agent's traits again."`
}

// A Thought is the result of a round of cognition. Strict clients accept exactly the keys that it has without progress.
type Thought struct {
	Merged      uint32      `json:"consolidation_count" doc:"Number of groups of duplicates merged."`
	Conflicts   uint32      `json:"conflicts_found" doc:"Number of new contradictions found."`
	New         uint32      `json:"patterns_new" doc:"Number of new patterns."`
	Updated     uint32      `json:"patterns_updated" doc:"Number of patterns seen again."`
	Personality bool        `json:"personality_updated" doc:"Whether the agent's traits have changed."`
	Millis      int64       `json:"duration_ms" tool:"-" doc:"Duration in milliseconds."`
	Triggers    []Attention `json:"triggers" doc:"New triggers, the most urgent first."`
	Read        *int        `json:"read,omitempty" tool:"-" doc:"With progress: number of memories that the round read."`
	Remaining   *int        `json:"remaining,omitempty" tool:"-" doc:"With progress: number of new or changed memories that no round has read yet. Repeat the request until it is 0."`
	Index       oplog.Index `json:"-"`
}

// An Attention is a trigger in the answer of the round that raised it.
type Attention struct {
	Type    string   `json:"trigger_type" doc:"Kind of trigger."`
	Reason  string   `json:"reason" doc:"Why an agent should act on it."`
	Urgency float64  `json:"urgency" doc:"Urgency, from 0 to 1."`
	Sources []string `json:"source_rids" is:"[]rid" doc:"The memories that it is about."`
	Action  string   `json:"suggested_action" doc:"A suggested action."`
}
