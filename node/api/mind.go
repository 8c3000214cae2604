package api

import (
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Results of cognition (contradictions, triggers, traits and patterns) and clients' feedback on them.
var (
	Conflicts = row[ConflictsRequest, ConflictList](Op{Name: "conflicts", Bound: Narrowed,
		Does: "Contradictions, the most urgent first, then the newest.", Scope: Read, HTTP: "GET /v1/conflicts", Wire: wire.OpConflicts,
		Tool: &Tool{Name: "conflicts", Title: "Contradictions", Full: true, ReadOnly: true, Idempotent: true,
			Text: "Memories that contradict each other, the most urgent first, with the ids for resolve_conflict. " + QuotedData}})
	Resolve = row[ResolveRequest, Resolved](Op{Name: "resolve_conflict", Bound: Narrowed, Does: "Resolve a contradiction.",
		Scope: Write, Writes: true, HTTP: "POST /v1/conflicts/{id}/resolve",
		Missing: "conflict_not_found", Wire: wire.OpResolve,
		Tool: &Tool{Name: "resolve_conflict", Title: "Resolve a contradiction", Full: true, Destructive: true,
			Text: "Resolve a contradiction: keep one side and forget the other, keep both, or merge them. Ask the user when you are not sure."}})

	Triggers = row[TriggersRequest, TriggerList](Op{Name: "triggers", Bound: Narrowed,
		Does: "Triggers: things an agent should act on.", Scope: Read, HTTP: "GET /v1/triggers", Also: []string{"/v1/triggers/pending"}})

	TriggerHistory = row[TriggerHistoryRequest, TriggerList](Op{Name: "triggers_history", Bound: Narrowed,
		Does: "Triggers of every status.", Scope: Read, HTTP: "GET /v1/triggers/history"})
	DeliverTriggers = row[DeliverTriggersRequest, TriggerList](Op{Name: "triggers_deliver", Bound: Narrowed,
		Does: "Take pending triggers and mark them as delivered.", Scope: Write, Reads: true, Writes: true,
		HTTP: "POST /v1/triggers/deliver"})
	MoveTrigger = row[MoveTriggerRequest, MovedTrigger](Op{Name: "trigger_move", Bound: Narrowed,
		Does: "Acknowledge a trigger, act on it or dismiss it.", Scope: Write, Writes: true,
		HTTP: "POST /v1/triggers/{id}/{verb}", Missing: "trigger_not_found"})

	PruneTriggers = row[PruneTriggersRequest, PrunedTriggers](Op{Name: "triggers_prune", Scope: Write, Reads: true,
		Writes: true, HTTP: "POST /v1/triggers/prune",
		Does: "Expire pending triggers that are overdue, then the least urgent ones beyond max_pending. By default it only counts them. One request expires at most 1,000."})

	Categories = row[CategoriesRequest, CategoryList](Op{Name: "categories", Bound: Free,
		Does:  "Lists of words of which only one can hold at a time, such as names of databases. The lists are built in.",
		Scope: Read, HTTP: "GET /v1/categories"})
	CategoryMembers = row[CategoryMembersRequest, CategoryWords](Op{Name: "category_members", Bound: Free,
		Does: "The words of a category.", Scope: Read, HTTP: "GET /v1/categories/{name}/members", Missing: "category_not_found"})

	Personality = row[PersonalityRequest, TraitList](Op{Name: "personality", Bound: Narrowed,
		Does: "The agent's traits, computed from its memories.", Scope: Read, HTTP: "GET /v1/personality", Wire: wire.OpPersonality})
	Patterns = row[PatternsRequest, PatternList](Op{Name: "patterns", Bound: Narrowed,
		Does: "Patterns, the most certain first.", Scope: Read, HTTP: "GET /v1/patterns"})
	Feedback = row[FeedbackRequest, Heeded](Op{Name: "feedback", Bound: Narrowed,
		Does: "Say whether a recalled memory was relevant; ranking learns from it.", Scope: Write, Writes: true,
		HTTP: "POST /v1/feedback", Missing: "memory_not_found"})
)

type ConflictsRequest struct {
	Status    string `json:"status" default:"all" doc:"Status to return: open, resolved, dismissed, or all."`
	Type      string `json:"conflict_type" doc:"Only those of this type; blank means all."`
	Entity    string `json:"entity" doc:"Only those about this entity, in any case; blank means all."`
	Memory    string `json:"memory" is:"rid" doc:"Only those with this memory's id as a side or as the outcome; blank means all."`
	Namespace string `json:"namespace" doc:"Only those of this namespace; blank means all."`
	Priority  string `json:"priority" doc:"Only those of this priority: critical, high, medium or low; blank means all."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"50" doc:"Most rows to return, up to 1,000; 0 means 50."`
	Fresh
}

type ConflictList struct {
	Conflicts []Conflict `json:"conflicts" doc:"The most urgent first, then the newest."`
	Bounded
}

// A Conflict is a pair of memories, relations or claims that contradict each other.
type Conflict struct {
	ID        string   `json:"conflict_id" doc:"The conflict's id."`
	Type      string   `json:"conflict_type" doc:"Kind of contradiction: identity_fact, preference, temporal, consolidation or minor."`
	Priority  string   `json:"priority" is:"string{critical,high,medium,low}" doc:"Urgency."`
	Status    string   `json:"status" is:"string{open,resolved,dismissed}" doc:"Its status."`
	A         string   `json:"memory_a" is:"rid" doc:"One side: a memory's id, or edge: or claim: followed by an id."`
	B         string   `json:"memory_b" is:"rid" doc:"The other side."`
	Entity    *string  `json:"entity" doc:"The entity that the sides are about."`
	Relation  *string  `json:"rel_type" doc:"The relation in which they differ."`
	Namespace string   `json:"namespace" doc:"Its namespace."`
	Reason    string   `json:"detection_reason" doc:"Why the sides seem to contradict each other."`
	Summary   string   `json:"summary" of:"Reason" tool:"-" doc:"The same as detection_reason."`
	Detected  float64  `json:"detected_at" is:"time" doc:"When it was found, in Unix seconds."`
	Resolved  *float64 `json:"resolved_at" is:"time" doc:"When it was resolved, in Unix seconds."`
	Strategy  *string  `json:"strategy" doc:"How the contradiction was resolved."`
	Winner    *string  `json:"winner_rid" is:"rid" doc:"The side that was kept, or the memory merged from both."`
	Note      *string  `json:"resolution_note" doc:"The reason that was given."`
	SideA     *Side    `json:"side_a,omitempty" doc:"The text of memory_a."`
	SideB     *Side    `json:"side_b,omitempty" doc:"The text of memory_b."`
}

// A Side describes one side of a conflict.
type Side struct {
	Kind    string   `json:"kind" is:"string{memory,relation,claim}" doc:"Kind of the side."`
	Text    *string  `json:"text" doc:"Its text; null when it no longer exists."`
	Created *float64 `json:"created_at" is:"time" doc:"When it was stored, in Unix seconds."`
}

type ResolveRequest struct {
	ID       string `json:"id" names:"conflict" in:"path" doc:"The conflict's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e14"`
	Strategy string `json:"strategy" is:"string!" doc:"keep_a, keep_b, keep_both, merge or dismiss." example:"keep_a"`
	Winner   string `json:"winner_rid" names:"-" is:"rid" doc:"The winning side, for clients that name it instead of using keep_a or keep_b."`
	NewText  string `json:"new_text" doc:"The text of the memory that merge makes of both sides."`
	Note     string `json:"resolution_note" doc:"The reason for the resolution, up to 64 KiB."`
}

type Resolved struct {
	ID       string      `json:"conflict_id" doc:"The conflict's id."`
	Strategy string      `json:"strategy" doc:"How the contradiction was resolved."`
	Winner   *string     `json:"winner_rid" is:"rid" doc:"The side that was kept, or the memory merged from both."`
	Lost     bool        `json:"loser_tombstoned" doc:"Whether one side was forgotten."`
	NewRID   *string     `json:"new_memory_rid" is:"rid" doc:"The memory merged from both."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type TriggersRequest struct {
	Status string `json:"status" default:"pending" doc:"Status to return: pending, delivered, acknowledged, acted, dismissed, expired, or all."`
	TriggerFilter
	Fresh
}

type TriggerHistoryRequest struct {
	Status string `json:"status" default:"all" doc:"Status to return: pending, delivered, acknowledged, acted, dismissed, expired, or all."`
	TriggerFilter
	Fresh
}

// A TriggerFilter selects triggers.
type TriggerFilter struct {
	Type      string `json:"type" doc:"Only those of this type; blank means all."`
	Namespace string `json:"namespace" doc:"Only those about memories of this namespace alone; blank means all, including those about the whole database."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"50" doc:"Most rows to return, up to 1,000; 0 means 50."`
}

type TriggerList struct {
	Triggers []Trigger `json:"triggers" doc:"The newest first within a status."`
	Count    int       `json:"count" doc:"Number of rows."`
	Bounded
}

// A Trigger is something an agent should act on.
type Trigger struct {
	ID      string   `json:"trigger_id" doc:"The trigger's id."`
	Type    string   `json:"trigger_type" doc:"Kind of trigger."`
	Urgency float64  `json:"urgency" doc:"Urgency, from 0 to 1."`
	Status  string   `json:"status" is:"string{pending,delivered,acknowledged,acted,dismissed,expired}" doc:"Its status."`
	Reason  string   `json:"reason" doc:"Why an agent should act on it."`
	Action  string   `json:"suggested_action" doc:"A suggested action."`
	Sources []string `json:"source_rids" is:"[]rid" doc:"The memories that it is about."`
	Entity  *string  `json:"entity" doc:"The entity that it is about."`
	Created float64  `json:"created_at" is:"time" doc:"When it was raised, in Unix seconds."`
	Expires *float64 `json:"expires_at" is:"time" doc:"When it expires, in Unix seconds."`
}

type DeliverTriggersRequest struct {
	Namespace string `json:"namespace" doc:"Only those about memories of this namespace alone; blank means all, including those about the whole database."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"10" doc:"Most rows to return, up to 1,000; 0 means 50."`
}

type MoveTriggerRequest struct {
	ID   string `json:"id" names:"trigger" in:"path" doc:"The trigger's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e14"`
	Verb string `json:"verb" in:"path" doc:"acknowledge, act or dismiss." example:"act"`
}

type MovedTrigger struct {
	ID      string      `json:"trigger_id" doc:"The trigger's id."`
	Status  string      `json:"status" is:"string{acknowledged,acted,dismissed}" doc:"Its status."`
	Changed bool        `json:"changed" doc:"Whether this changed something."`
	Index   field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type PruneTriggersRequest struct {
	DryRun     bool `json:"dry_run" default:"true" doc:"Only say what would be done."`
	MaxPending int  `json:"max_pending" is:"integer[0..]" default:"64" doc:"Number of pending triggers to keep; the most urgent stay."`
}

type PrunedTriggers struct {
	DryRun  bool        `json:"dry_run" doc:"Whether nothing was changed."`
	Before  int         `json:"pending_before" doc:"Number of pending triggers before."`
	Overdue int         `json:"expired_overdue" doc:"Number of triggers that expired because their time was over."`
	Excess  int         `json:"expired_over_cap" doc:"Number of triggers that expired because there were too many."`
	After   int         `json:"pending_after" doc:"Number of pending triggers after."`
	Index   field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type CategoriesRequest struct{ Fresh }

type CategoryList struct {
	Categories []Category `json:"categories" doc:"The categories, by name."`
	Count      int        `json:"count" doc:"Number of rows."`
}

// A Category lists words that exclude each other as values of one attribute.
type Category struct {
	Name    string `json:"name" doc:"The category's name."`
	Members int    `json:"member_count" doc:"Number of its words."`
}

type CategoryMembersRequest struct {
	Name string `json:"name" in:"path" doc:"The category's name." example:"databases"`
	Fresh
}

type CategoryWords struct {
	Name    string         `json:"category" doc:"The category's name."`
	Count   int            `json:"count" doc:"Number of rows."`
	Members []CategoryWord `json:"members" doc:"Its words, in the order of the alphabet."`
}

// A CategoryWord is a word of a category.
type CategoryWord struct {
	Word       string  `json:"token_normalized" doc:"The word, in lower case."`
	Confidence float64 `json:"confidence" doc:"1: the word is built in."`
	Source     string  `json:"source" doc:"seed: the word is built in."`
}

type PersonalityRequest struct {
	Namespace string `json:"namespace" doc:"Compute the traits from the newest 1,000 memories of this namespace; blank returns those that the last round of cognition found in the whole database."`
	Fresh
}

type TraitList struct {
	Traits []Trait `json:"traits" doc:"attentiveness, depth, energy and warmth."`
}

// A Trait is one line of a personality.
type Trait struct {
	Name  string  `json:"name" doc:"The trait's name."`
	Score float64 `json:"score" doc:"Strength, from 0 to 1."`
}

type PatternsRequest struct {
	Type      string `json:"type" doc:"Only those of this type; blank means all."`
	Namespace string `json:"namespace" doc:"Only those about memories of this namespace alone; blank means all, including those about the whole database."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"50" doc:"Most rows to return, up to 1,000; 0 means 50."`
	Fresh
}

type PatternList struct {
	Patterns []Pattern `json:"patterns" doc:"The most certain first."`
	Bounded
}

// A Pattern is a regularity that rounds of cognition have seen.
type Pattern struct {
	Type        string   `json:"pattern_type" doc:"Kind of pattern."`
	Description string   `json:"description" doc:"The pattern in a sentence."`
	Confidence  float64  `json:"confidence" doc:"Certainty, from 0 to 1."`
	Sources     []string `json:"source_rids" is:"[]rid" doc:"The memories that show it."`
	Entities    []string `json:"entities" doc:"The entities that it is about."`
	First       float64  `json:"first_seen" is:"time" doc:"When it was seen first, in Unix seconds."`
	Confirmed   float64  `json:"last_confirmed" is:"time" doc:"When it was seen last, in Unix seconds."`
	Seen        uint64   `json:"occurrence_count" doc:"Number of times it was seen."`
}

type FeedbackRequest struct {
	Query    string  `json:"query" is:"string!" doc:"The question, up to 64 KiB." example:"what does Ada drink?"`
	RID      string  `json:"rid" names:"memory" is:"rid!" doc:"The memory that was found." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Relevant bool    `json:"relevant" default:"true" doc:"Whether the memory was relevant."`
	Score    float64 `json:"score" is:"number[0..]" doc:"The score that it was found with."`
	Rank     int     `json:"rank" is:"integer[0..]" doc:"Its place in the answer, from 0."`
}

type Heeded struct {
	Accepted int         `json:"accepted" doc:"Number of judgements recorded: 1."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}
