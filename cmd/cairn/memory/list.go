package memory

import (
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
)

// list holds the verbs with hand-picked names, columns and examples. A group's verbs stand together.
var list = []verb{
	{use: "remember TEXT...", short: "Store a memory; - reads it from standard input", op: api.Remember.Op, args: []string{"text"}, shows: []string{"rid"}, send: remember,
		not: []string{"certainty", "emotional_state", "embedding", "temporal_kind", "tier"}}, // given by programs alone
	{use: "forget RID", short: "Forget a memory", op: api.Forget.Op, args: []string{"rid"}, not: []string{"reason"}, says: "forgotten", send: forget,
		long: `Recall and lists no longer return it, and claims that were read from its text are removed. It is not erased:
it can still be read by its id and by recalls of an earlier date, and its text stays in the files and backups of all nodes.
To erase, purge: POST /v1/admin/purge, with a token of scope owner.`},
	{use: "relate ENTITY RELATION TARGET", short: "Put two entities into a relation", op: api.Relate.Op, args: []string{"entity", "relationship", "target"}, shows: []string{"edge_id"}, send: relate,
		example: "  cairn relate Alice leads payments"},
	{use: "get RID", short: "Show one memory, also when it was merged or forgotten", op: api.Get.Op, args: []string{"rid"},
		shows: []string{"rid", "text", "memory_type", "namespace", "domain", "source", "session_id", "created_at", "updated_at", "due_at", "importance", "certainty", "valence", "half_life",
			"access_count", "last_access", "consolidation_status", "consolidated_into", "consolidation_sources", "tombstone_reason", "revision", "entities", "claims", "metadata"}},
	{use: "list", short: "List memories, the newest first", op: api.Memories.Op, not: walk, rows: "items", shows: memories},
	{use: "records", short: "List memories in the order of their ids, page by page", op: api.Records.Op, rows: "records", shows: memories},
	{use: "current", short: "Show the newest memory of a namespace", op: api.Current.Op, rows: "record", shows: memories},
	{use: "correct RID [TEXT]", op: api.Correct.Op, args: []string{"rid", "new_text"},
		names: map[string]string{"new_importance": "importance", "new_valence": "valence", "metadata_merge": "metadata"}, shows: []string{"rid", "revision"},
		example: `  cairn correct RID "Bob leads payments" --reason "Alice moved on"`},
	{use: "undo RID", short: "Restore a memory to the state before a correction", op: api.Undo.Op, args: []string{"rid"}, shows: []string{"rid", "restored", "text"},
		long: "cairn history lists a memory's revisions with their numbers. A memory that was forgotten cannot be brought back.\n\nA script that does not know whether its undo happened runs it again with the same --key: it is done once. With --expected-revision it is refused if the memory was corrected since it was read.", example: `  cairn undo RID
  cairn undo RID --revision 0
  cairn undo RID --expected-revision 2 --key monday-1`},
	{use: "history RID", short: "Show a memory's earlier texts, one before each correction", op: api.Revisions.Op, args: []string{"rid"}, rows: "revisions", shows: []string{"revision", "until", "reason", "text"}},
	{use: "timeline RID", short: "List the memories stored shortly before and after a memory", op: api.Timeline.Op, args: []string{"rid"}, rows: "memories", shows: memories},
	{use: "chronology", short: "List the memories stored between two dates, the oldest first", op: api.Chronology.Op, rows: "items", shows: memories},
	{use: "stale", short: "List memories that were not accessed for days, the most important first", op: api.Stale.Op, rows: "items", shows: []string{"rid", "last_access", "importance", "namespace", "text"}},
	{use: "upcoming", short: "List memories due within days, the soonest first", op: api.Upcoming.Op, rows: "items", shows: []string{"rid", "due_at", "namespace", "text"}},
	{use: "namespaces", short: "List the namespaces of a database, and how many memories each has", op: api.Namespaces.Op, rows: "namespaces", shows: []string{"name", "active", "merged", "forgotten"}},
	{use: "stats", short: "Count memories, relations, conflicts and more", op: api.Stats.Op},

	{use: "entities", short: "List the names that memories, relations and claims mention", op: api.Entities.Op, rows: "entities", shows: []string{"name", "type", "mentions", "last_seen"}},
	{use: "entity NAME", short: "Show what is known of an entity: mentions, sessions, relations, valence", op: api.Profile.Op, args: []string{"name"}},
	{use: "edges ENTITY", short: "List the relations an entity is in", op: api.Edges.Op, args: []string{"entity"}, rows: "edges", shows: []string{"edge_id", "src", "rel_type", "dst", "weight"}},
	{use: "unrelate EDGE", op: api.Unrelate.Op, args: []string{"id"}, long: "cairn edges lists the relations of an entity with their ids.", shows: []string{"edge_id", "found"}},
	{use: "claim SUBJECT RELATION OBJECT", op: api.Claim.Op, args: []string{"src", "rel_type", "dst"}, shows: []string{"claim_id", "namespace"}},
	{use: "claims ENTITY", short: "List the claims about an entity, the newest first", op: api.Claims.Op, args: []string{"entity"}, rows: "claims",
		shows: []string{"claim_id", "src", "rel_type", "dst", "polarity", "confidence_band", "status_suggestion", "created_at"}},
	{use: "alias NAME CANONICAL", op: api.Alias.Op, args: []string{"alias", "canonical_name"}},

	{group: "sessions", use: "list", short: "List the sessions of a namespace, the newest first", op: api.Sessions.Op, rows: "sessions", shows: []string{"session_id", "namespace", "client_id", "status", "started_at", "ended_at", "memory_count", "summary"}},
	{group: "sessions", use: "show SESSION", short: "Show a session's memories, in order", op: api.SessionHistory.Op, args: []string{"id"}, rows: "memories", shows: memories},
	{group: "sessions", use: "start", op: api.StartSession.Op, shows: []string{"session_id"}},
	{group: "sessions", use: "end SESSION", op: api.EndSession.Op, args: []string{"id"}},
	{group: "sessions", use: "draft SUMMARY", op: api.DraftSummary.Op, args: []string{"summary"}},

	{group: "conflicts", use: "list", short: "List contradictions, the most urgent first", op: api.Conflicts.Op, rows: "conflicts", names: map[string]string{"conflict_type": "type"},
		shows: []string{"conflict_id", "priority", "status", "conflict_type", "entity", "memory_a", "memory_b", "detection_reason"}},
	{group: "conflicts", use: "resolve CONFLICT STRATEGY", op: api.Resolve.Op, args: []string{"id", "strategy"},
		names: map[string]string{"winner_rid": "winner", "resolution_note": "note"}, example: `  cairn conflicts resolve CONFLICT keep_a --note "Bob said so himself"`},

	{group: "triggers", use: "list", short: "List triggers that wait", op: api.Triggers.Op, rows: "triggers", shows: triggers},
	{group: "triggers", use: "history", short: "List triggers of every status", op: api.TriggerHistory.Op, rows: "triggers", shows: triggers},
	{group: "triggers", use: "deliver", op: api.DeliverTriggers.Op, rows: "triggers", shows: triggers},
	{group: "triggers", use: "acknowledge TRIGGER", short: "Say that a trigger was seen", op: api.MoveTrigger.Op, args: []string{"id"}, fixed: map[string]string{"verb": "acknowledge"}},
	{group: "triggers", use: "act TRIGGER", short: "Say that a trigger was acted on", op: api.MoveTrigger.Op, args: []string{"id"}, fixed: map[string]string{"verb": "act"}},
	{group: "triggers", use: "dismiss TRIGGER", short: "Say that a trigger needs nothing", op: api.MoveTrigger.Op, args: []string{"id"}, fixed: map[string]string{"verb": "dismiss"}},

	{use: "think", op: api.Think.Op},
	{use: "personality", short: "Show the agent's traits, computed from its memories", op: api.Personality.Op, rows: "traits", shows: []string{"name", "score"}},
	{use: "patterns", short: "List patterns, the most certain first", op: api.Patterns.Op, rows: "patterns", shows: []string{"pattern_type", "confidence", "occurrence_count", "last_confirmed", "description"}},
	{use: "feedback QUESTION RID", op: api.Feedback.Op, args: []string{"query", "rid"}, shows: []string{"accepted"}},
	{use: "gaps", short: "List questions that were asked often and had poor answers", op: api.Gaps.Op, rows: "gaps", names: map[string]string{"max_avg_top_score": "max-score"}, shows: []string{"query", "count", "avg_top_score", "avg_results", "last_seen"}},
	{use: "digest", short: "Show what an agent should know at the start of its work", op: api.Digest.Op},
	{use: "watch", short: "Show what changes as it happens: ids, never a memory's text", op: api.Events.Op, long: "Runs until it is interrupted. When the connection breaks it connects again and continues after the last event."},
}

// subjects are the headings of the table whose operations are verbs here, and elsewhere those of them that are not,
// with the reason.
var (
	subjects  = []string{"memories", "lists", "time", "sessions", "graph", "mind", "events"}
	elsewhere = map[*api.Op]string{
		api.RememberBatch.Op: "cairn import",
		api.Recall.Op:        "cairn recall, over the wire",
		api.RecallAsOf.Op:    "cairn recall --as-of",
		api.Graph.Op:         "the same as edges",
		api.PackContext.Op:   "always empty",
		api.Message.Op:       "an envelope for clients of MCP",
	}
)

// verbs is list, and behind it a verb for each operation of the subjects that list lacks.
func verbs() []verb {
	all := slices.Clone(list)
	for _, s := range api.Subjects {
		for _, op := range s.Ops {
			has := slices.ContainsFunc(list, func(v verb) bool { return v.op == op })
			if !has && slices.Contains(subjects, s.Name) && op.HTTP != "" && !op.Stream && elsewhere[op] == "" {
				all = append(all, derived(op))
			}
		}
	}
	return all
}

// derived is the verb that an operation has by itself: its name, the fields that a request must have as arguments, the
// whole answer.
func derived(op *api.Op) verb {
	v := verb{use: strings.ReplaceAll(op.Name, "_", "-"), op: op}
	for _, f := range op.Takes() {
		if f.Must || f.In == "path" {
			v.args = append(v.args, f.Name)
			v.use += " " + strings.ToUpper(f.Name)
		}
	}
	return v
}

// Columns of lists of memories and of triggers.
var (
	memories = []string{"rid", "created_at", "memory_type", "namespace", "importance", "text"}
	triggers = []string{"trigger_id", "status", "urgency", "trigger_type", "created_at", "reason", "suggested_action"}
)

// usual are the names of flags that stand for the same field in every verb.
var usual = map[string]string{"memory_type": "type", "session_id": "session", "idempotency_key": "key"}

// walk is the fields that make records of a list: the verb records has them.
var walk = []string{"kind", "drive_id", "since_rid", "order"}

// groups are the verbs that others stand below, and what they are about.
var groups = map[string]string{
	"sessions":  "Sessions, a client's stretches of work: list, show, start, end, draft",
	"conflicts": "Contradictions between memories: list, resolve",
	"triggers":  "Triggers, things an agent should act on: list, history, deliver, acknowledge, act, dismiss",
}
