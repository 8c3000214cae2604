package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// Rounds of cognition.
var (
	Think = row[ThinkRequest, Thought](Op{Name: "think", Does: "Look for duplicates, contradictions, patterns and what deserves attention.",
		Scope: Write, Writes: true, HTTP: "POST /v1/think", Wire: wire.OpThink})

	// Reflect is the same for models, which say less of it, and whose rounds leave the personality alone unless they ask for it.
	Reflect = row[ReflectRequest, Thought](Op{Name: "reflect", Does: "Look for duplicates, contradictions, patterns and what deserves attention, asked by a model.", Scope: Write, Writes: true,
		Tool: &Tool{Name: "think", Title: "Think", Destructive: true,
			Text: "Let the memory look over itself: merge duplicates, find contradictions, and say what deserves attention. Use it at the end of a long piece of work, " +
				"or when memories seem to disagree; then bring the triggers it returns to the user."}})
)

// ThinkParts are the parts of a round that may be left out. What deserves attention is always looked for.
type ThinkParts struct {
	Consolidate bool `json:"run_consolidation" default:"true" doc:"Merge memories that say the same."`
	Conflicts   bool `json:"run_conflict_scan" also:"run_conflicts" default:"true" doc:"Look for contradictions."`
	Patterns    bool `json:"run_pattern_mining" also:"run_patterns" default:"false" doc:"Look for regularities."`
}

type ThinkRequest struct {
	ThinkParts
	Personality bool    `json:"run_personality" default:"true" doc:"Form the agent's traits anew."`
	Minor       bool    `json:"include_minor" default:"false" doc:"Report contradictions that may well be none, too."`
	Limit       int     `json:"consolidation_limit" is:"integer[0..]" default:"50" doc:"For so many memories duplicates are looked for, up to 100,000, 0 for none; the next round goes on behind them."`
	Days        float64 `json:"consolidation_time_window_days" is:"number[0..36500]" default:"7" doc:"How many days apart duplicates may lie; 0 means 7."`
	MinActive   int     `json:"min_active_memories" is:"integer[0..]" default:"10" doc:"Nothing is merged where fewer memories are active; 0 means 10."`
	MaxTriggers int     `json:"max_triggers" is:"integer[0..]" default:"10" doc:"At most so many triggers, up to 1,000; 0 means 10."`
	_           string  `idle:"namespace"`
}

type ReflectRequest struct {
	ThinkParts
	Personality bool `json:"run_personality" default:"false" doc:"Form the agent's traits anew."`
}

// A Thought is what became of a round. Strict clients take exactly the keys it has.
type Thought struct {
	Merged      uint32      `json:"consolidation_count" doc:"How many groups of duplicates were merged."`
	Conflicts   uint32      `json:"conflicts_found" doc:"How many new contradictions were found."`
	New         uint32      `json:"patterns_new" doc:"How many patterns were seen for the first time."`
	Updated     uint32      `json:"patterns_updated" doc:"How many patterns were seen again."`
	Personality bool        `json:"personality_updated" doc:"Whether the agent's traits have changed."`
	Millis      int64       `json:"duration_ms" doc:"How long it took, in milliseconds."`
	Triggers    []Attention `json:"triggers" doc:"What deserves attention that did not before, the most urgent first."`
	Index       oplog.Index `json:"-"`
}

// An Attention is a trigger as the round tells it that raised it.
type Attention struct {
	Type    string   `json:"trigger_type" doc:"What kind of matter it is."`
	Reason  string   `json:"reason" doc:"Why it deserves attention."`
	Urgency float64  `json:"urgency" doc:"How urgent it is, from 0 to 1."`
	Sources []string `json:"source_rids" doc:"The memories that it is about."`
	Action  string   `json:"suggested_action" doc:"What might be done."`
}
