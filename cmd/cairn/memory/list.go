package memory

import (
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire/field"
)

// list holds the verbs with hand-picked names, columns and examples. A group's verbs stand together.
var list = []verb{
	{use: "remember TEXT...", short: "Store a memory; - reads it from standard input", op: api.Remember.Op,
		args: []string{"text"}, shows: []string{"rid"}, again: true,
		not: []string{"certainty", "emotional_state", "embedding", "temporal_kind", "tier"}}, // given by programs alone
	{use: "forget RID", short: "Forget a memory", op: api.Forget.Op, args: []string{"rid"}, not: []string{"reason"},
		says: "forgotten", again: true, wraps: forGood,
		long: `Recall and lists no longer return it, and claims that were read from its text are removed. It is not erased:
it can still be read by its id and by recalls of an earlier date, and its text stays in the files and backups of all nodes.

With --for-good it is erased with all that was made from it, and its text cannot be stored again. The command shows what
would be erased and asks first. Name memories by ids, --prefix, --filter or --entity. Needs a token with scope owner.`,
		example: `  cairn forget RID
  cairn forget --for-good --entity "Ada Lovelace"`},
	{use: "erased RID", short: "Prove that a memory was erased for good", op: api.Erased.Op, args: []string{"rid"}},
	{use: "forget-matching FILTER", short: "Forget the newest memories that pass a filter", op: api.ForgetMatching.Op,
		args: []string{"filter"}, shows: []string{"forgotten", "more"},
		example: `  cairn forget-matching '{"project":"atlas","@created_at":{"lt":"2026-01-01"}}' --reason "the project has ended"`},
	{use: "quarantine", short: "List the memories that wait in quarantine, the oldest first", op: api.Quarantine.Op,
		rows: "memories", shows: []string{"rid", "created_at", "writer", "agent", "trust", "text"},
		long:    "What a token's policy distrusts waits here: see --quarantine of `cairn token create`. Let one in with `cairn release`, reject it with `cairn forget`. Needs a token with scope owner.",
		example: "  cairn quarantine --namespace work"},
	{use: "release RID", short: "Let a memory out of quarantine, so that recall finds it", op: api.Release.Op,
		args: []string{"rid"}, says: "released",
		example: `  cairn release RID --reason "checked with Ada"`},
	{use: "purge", short: "Erase memories created before a time: texts, vectors and revisions", op: api.Purge.Op,
		shows: []string{"purged", "log_index", "still_held_by"},
		asks:  erasure, long: "It cannot be undone. Needs a token with scope owner.",
		example: "  cairn purge --before 365d --namespace logs --yes"},
	{use: "relate ENTITY RELATION TARGET", short: "Relate two entities", op: api.Relate.Op,
		args: []string{"entity", "relationship", "target"}, shows: []string{"edge_id"}, again: true,
		example: "  cairn relate Alice leads payments"},
	{use: "get RID", short: "Show one memory, even if it was merged or forgotten", op: api.Get.Op, args: []string{"rid"},
		shows: []string{"rid", "key", "text", "memory_type", "namespace", "domain", "source", "session_id", "created_at",
			"updated_at", "due_at", "expires_at", "pin", "importance", "certainty", "valence", "half_life",
			"access_count", "last_access", "consolidation_status", "consolidated_into", "consolidation_sources", "writer",
			"dialect", "agent", "trust", "provenance", "tombstone_reason", "revision", "entities", "claims", "metadata", "attributes"}},
	{use: "prompt [QUESTION]",
		short: "Write what is known about something as a block for a prompt, within a budget of tokens", op: api.Prompt.Op,
		args: []string{"query"}, text: "context",
		long: "Prints only the block, or nothing when nothing is known. --json also lists what is in it and what was left out, with the reason.",
		example: `  cairn prompt "how are releases made?" --max-tokens 500
  cairn prompt --namespaces work,home`},

	{use: "put KEY TEXT...", short: "Store a memory under a key, or correct the one there; - reads standard input",
		op: api.Put.Op, args: []string{"key", "text"},
		names: once, not: []string{"certainty", "emotional_state", "embedding", "temporal_kind", "tier"},
		shows: []string{"rid", "key", "created", "changed", "revision"},
		long:  "With --if-absent, --if-revision or --if-sha256 nothing is stored unless the key is as expected: read, change, and put with the revision that was read.",
		example: `  cairn put /prefs/editor/theme "Ada likes the dark theme"
  cairn put /prefs/editor/theme "Ada likes the light theme" --if-revision 0`},
	{use: "read KEY", short: "Show the memory that a key has, or had at a date", op: api.GetKey.Op, args: []string{"key"},
		shows: []string{"rid", "key", "text", "namespace", "revision", "sha256", "created_at", "updated_at", "importance",
			"entities", "metadata"}},
	{use: "rename KEY TO", short: "Give a key's memory another key", op: api.Rename.Op, args: []string{"key", "to"},
		names: once, shows: []string{"rid", "key", "revision"}},
	{use: "delete KEY", short: "Forget a key's memory, which frees the key", op: api.Delete.Op, args: []string{"key"},
		names: once, says: "deleted"},
	{use: "keys [PREFIX]", short: "List the keys below a folder", op: api.ListKeys.Op, args: []string{"prefix"},
		rows: "keys", shows: []string{"key", "rid", "revision", "bytes", "updated_at"},
		example: "  cairn keys /prefs --depth 1"},
	{use: "batch STEPS", short: "Read and write keys in one atomic step, given as JSON", op: api.Batch.Op,
		args: []string{"steps"}, names: once, rows: "results", shows: []string{"key", "found", "changed", "rid", "revision"},
		example: `  cairn batch '[{"op":"get","key":"/a"},{"op":"put","key":"/b","memory":{"text":"Ada likes tea"},"if_absent":true}]'`},

	{use: "list", short: "List memories, the newest first", op: api.Memories.Op, rows: "items|records", shows: memories,
		others: []other{
			{by: around, op: api.Timeline.Op, rows: "memories", as: map[string]string{"around": "rid"}},
			{by: api.Chronology.Takes().Named("entity"), op: api.Chronology.Op, rows: "items",
				as: map[string]string{"after": "from", "before": "to"}},
		},
		long: "With --order, --kind, --drive-id or --since-rid memories come in the order of their ids, page by page: next_cursor in --json is the --since-rid of the next page.",
		example: `  cairn list --limit 1 --namespace work
  cairn list --after 7d --filter '{"project":"atlas"}'
  cairn list --order asc --limit 200 --json
  cairn list --around RID
  cairn list --entity Alice --after 30d`},
	{use: "correct RID [TEXT]", op: api.Correct.Op, args: []string{"rid", "new_text"},
		names: map[string]string{"new_importance": "importance", "new_valence": "valence", "metadata_merge": "metadata",
			"new_attributes": "attributes"}, shows: []string{"rid", "revision", "superseded"}, checks: true,
		long:    "Stated relations stay as they are. Those of names that are in the old text and not in the new one are shown, each with the command that removes it.",
		example: `  cairn correct RID "Bob leads payments" --reason "Alice moved on"`},
	{use: "merge RID...", short: "Merge memories into a new one with a text of yours", op: api.Merge.Op,
		args: []string{"rids"}, shows: []string{"rid", "merged"},
		long:    "The sources stay readable by id and lead to the new memory. cairn undo of any of them takes the merge back.",
		example: `  cairn merge RID RID --text "Ada prefers tea to coffee, green tea most"`},
	{use: "split RID TEXT...", short: "Split a memory into several, each with a text of yours", op: api.Split.Op,
		args: []string{"rid", "texts"}, shows: []string{"rid", "rids"},
		long:    "The source stays readable by id and leads to the new memories. cairn undo of any of them takes the split back.",
		example: `  cairn split RID "Ada prefers tea." "Ada plays chess."`},
	{use: "move [RID]", short: "Move a memory, or those below a key, to another namespace", op: api.Move.Op,
		args: []string{"rid"}, shows: []string{"moved", "namespace"},
		long: "Ids, keys and revisions stay. cairn undo moves a memory back; a move of the same key the other way moves all of it back.",
		example: `  cairn move RID --to work
  cairn move --prefix /people --namespace default --to work`},
	{use: "undo RID", short: "Take back the last change of a memory: a correction, a merge, a split or a move",
		op: api.Undo.Op, args: []string{"rid"}, shows: []string{"rid", "restored", "text", "recalled_again", "forgotten", "embedding_missing"},
		long: "cairn history lists a memory's revisions with their numbers. A memory that was forgotten cannot be brought back.\n\nA script that does not know whether its undo happened runs it again with the same --key: it is done once. With --expected-revision it is refused if the memory was corrected since it was read.",
		example: `  cairn undo RID
  cairn undo RID --revision 0
  cairn undo RID --expected-revision 2 --key monday-1`},
	{use: "history RID", short: "Show a memory's earlier texts, one for each correction", op: api.Revisions.Op,
		args: []string{"rid"}, rows: "revisions", shows: []string{"revision", "until", "reason", "text"}},
	{use: "stale", short: "List memories that were not accessed for days, the most important first", op: api.Stale.Op,
		rows: "items", shows: []string{"rid", "last_access", "importance", "namespace", "text"}},
	{use: "upcoming", short: "List memories due within days, the soonest first", op: api.Upcoming.Op, rows: "items",
		shows: []string{"rid", "due_at", "namespace", "text"}},
	{use: "namespaces", short: "List the namespaces of a database, and how many memories each has", op: api.Namespaces.Op,
		rows: "namespaces", shows: []string{"name", "active", "merged", "forgotten"}},
	{use: "values ATTRIBUTE", short: "List the values of an attribute, and how many memories have each", op: api.Values.Op,
		args: []string{"attribute"}, rows: "values",
		shows: []string{"value", "count", "first_created_at", "last_created_at"}, example: "  cairn values project"},
	{use: "stats", short: "Count memories, relations, conflicts and more", op: api.Stats.Op},

	{use: "entities", short: "List the names that memories, relations and claims mention", op: api.Entities.Op,
		rows: "entities", shows: []string{"name", "type", "mentions", "last_seen"}},
	{use: "entity NAME", short: "Show what is known of an entity: mentions, sessions, relations, valence",
		op: api.Profile.Op, args: []string{"name"}},
	{use: "edges ENTITY", short: "List the relations an entity is in", op: api.Edges.Op, args: []string{"entity"},
		rows: "edges", shows: []string{"edge_id", "src", "rel_type", "dst", "weight"}},
	{use: "unrelate EDGE", op: api.Unrelate.Op, args: []string{"id"},
		long: "cairn edges lists the relations of an entity with their ids.", shows: []string{"edge_id", "found"}},
	{use: "claim SUBJECT RELATION OBJECT", op: api.Claim.Op, args: []string{"src", "rel_type", "dst"},
		shows: []string{"claim_id", "namespace"}},
	{use: "claims ENTITY", short: "List the claims about an entity, the newest first", op: api.Claims.Op,
		args: []string{"entity"}, rows: "claims",
		shows: []string{"claim_id", "src", "rel_type", "dst", "polarity", "confidence_band", "status_suggestion", "created_at"}},
	{use: "alias NAME CANONICAL", op: api.Alias.Op, args: []string{"alias", "canonical_name"}},

	{group: "sessions", use: "list", short: "List sessions, the newest first", op: api.Sessions.Op, rows: "sessions",
		shows: []string{"session_id", "namespace", "client_id", "status", "started_at", "ended_at", "memory_count", "summary"}},
	{group: "sessions", use: "show SESSION", short: "Show a session's memories, in order", op: api.SessionHistory.Op,
		args: []string{"id"}, rows: "memories", shows: memories},
	{group: "sessions", use: "start", op: api.StartSession.Op, shows: []string{"session_id"}},
	{group: "sessions", use: "end SESSION", op: api.EndSession.Op, args: []string{"id"}},
	{group: "sessions", use: "draft SUMMARY", op: api.DraftSummary.Op, args: []string{"summary"}},

	{group: "turns", use: "list", short: "Show the last turns of a namespace's conversation", op: api.RecentTurns.Op,
		rows: "turns", shows: []string{"rid", "created_at", "role", "content"}},
	{group: "turns", use: "add ROLE CONTENT", short: "Add a turn to a namespace's conversation", op: api.RecordTurn.Op,
		args: []string{"role", "content"}, shows: []string{"rid", "dropped"}},
	{group: "turns", use: "clear", op: api.ClearTurns.Op, shows: []string{"cleared", "turns"}},

	{group: "tasks", use: "list", short: "List the tasks of a namespace, the most urgent first", op: api.Tasks.Op,
		rows: "tasks", shows: []string{"id", "priority", "status", "title", "parent_id"}},
	{group: "tasks", use: "add TITLE", op: api.AddTask.Op, args: []string{"title"}, names: once, shows: []string{"id"}},
	{group: "tasks", use: "show TASK", short: "Show one task", op: api.GetTask.Op, args: []string{"id"}},
	{group: "tasks", use: "change TASK", op: api.ChangeTask.Op, args: []string{"id"}, shows: []string{"id", "revision"}},
	{group: "tasks", use: "delete TASK", op: api.DropTask.Op, args: []string{"id"}, says: "deleted"},

	{group: "skills", use: "search QUESTION", op: api.SearchSkills.Op, args: []string{"query"}, rows: "skills",
		shows: []string{"skill_id", "score", "skill_type", "applies_to", "text"}},
	{group: "skills", use: "define SKILL BODY", short: "Store a skill under its id", op: api.DefineSkill.Op,
		args: []string{"skill_id", "body"}, shows: []string{"rid", "skill_id", "stored"}},
	{group: "skills", use: "outcome SKILL", op: api.NoteOutcome.Op, args: []string{"id"}, names: once, shows: []string{"rid"}},

	{group: "conflicts", use: "list", short: "List contradictions, the most urgent first", op: api.Conflicts.Op,
		rows: "conflicts", names: map[string]string{"conflict_type": "type"},
		shows: []string{"conflict_id", "priority", "status", "strategy", "entity", "side_a", "side_b"}},
	{group: "conflicts", use: "resolve CONFLICT STRATEGY", op: api.Resolve.Op, args: []string{"id", "strategy"},
		names:   map[string]string{"winner_rid": "winner", "resolution_note": "note"},
		example: `  cairn conflicts resolve CONFLICT keep_a --note "Bob said so himself"`},

	{group: "triggers", use: "list", short: "List pending triggers", op: api.Triggers.Op, rows: "triggers", shows: triggers},
	{group: "triggers", use: "history", short: "List triggers of every status", op: api.TriggerHistory.Op, rows: "triggers",
		shows: triggers},
	{group: "triggers", use: "deliver", op: api.DeliverTriggers.Op, rows: "triggers", shows: triggers},
	{group: "triggers", use: "prune", short: "Expire pending triggers that are overdue or too many",
		op: api.PruneTriggers.Op, shows: []string{"dry_run", "pending_before", "expired_overdue", "expired_over_cap", "pending_after"}},
	{group: "triggers", use: "acknowledge TRIGGER", short: "Say that a trigger was seen", op: api.MoveTrigger.Op,
		args: []string{"id"}, fixed: map[string]string{"verb": "acknowledge"}},
	{group: "triggers", use: "act TRIGGER", short: "Say that a trigger was acted on", op: api.MoveTrigger.Op,
		args: []string{"id"}, fixed: map[string]string{"verb": "act"}},
	{group: "triggers", use: "dismiss TRIGGER", short: "Say that a trigger needs no action", op: api.MoveTrigger.Op,
		args: []string{"id"}, fixed: map[string]string{"verb": "dismiss"}},

	{use: "categories", short: "List the categories of words of which only one can hold at a time", op: api.Categories.Op,
		rows: "categories", shows: []string{"name", "member_count"}},
	{use: "category CATEGORY", short: "List the words of a category", op: api.CategoryMembers.Op, args: []string{"name"},
		rows: "members", shows: []string{"token_normalized", "source"}},

	{use: "think", op: api.Think.Op, fixed: map[string]string{"progress": "true"},
		long:    "A round reads up to 10,000 memories. Rounds follow each other until every new or changed memory was read; the numbers are their sums. Interrupted, it continues when it is run again.",
		example: "  cairn think\n  cairn think --namespace work"},
	{use: "personality", short: "Show the agent's traits, computed from its memories", op: api.Personality.Op,
		rows: "traits", shows: []string{"name", "score"}},
	{use: "patterns", short: "List patterns, the most certain first", op: api.Patterns.Op, rows: "patterns",
		shows: []string{"pattern_type", "confidence", "occurrence_count", "last_confirmed", "description"}},
	{use: "feedback QUESTION RID", op: api.Feedback.Op, args: []string{"query", "rid"}, says: "recorded"},
	{use: "gaps", short: "List questions that were asked often and had poor answers", op: api.Gaps.Op, rows: "gaps",
		names: map[string]string{"max_avg_top_score": "max-score"},
		shows: []string{"query", "count", "avg_top_score", "avg_results", "last_seen"}},
	{use: "digest", short: "Show what an agent should know of a namespace at the start of its work", op: api.Digest.Op},
	{use: "watch", short: "Show what changes as it happens: ids, never a memory's text", op: api.Events.Op,
		long: "Runs until it is interrupted. When the connection breaks it connects again and continues after the last event."},
}

// erasure is the question before a purge: what it erases.
func erasure(g Given) string {
	what := "all memories created before " + g["before"][0]
	for _, name := range []string{"namespace", "owner", "tier"} {
		if text := strings.Join(g[name], ""); text != "" {
			what += ", of " + name + " " + text
		}
	}
	return "Erase " + what + " for good?"
}

// subjects are the headings of the table whose operations are verbs here, and elsewhere those of them that are not,
// with the reason.
var (
	subjects  = []string{"memories", "keys", "lists", "time", "sessions", "work", "graph", "mind", "events"}
	elsewhere = map[*api.Op]string{
		api.RememberBatch.Op: "cairn import",
		api.Erase.Op:         "cairn forget --for-good",
		api.Recall.Op:        "cairn recall, over the wire",
		api.RecallAsOf.Op:    "cairn recall --as-of",
		api.Graph.Op:         "the same as edges",
		api.OneEdge.Op:       "cairn edges",
		api.PackContext.Op:   "cairn prompt",
		api.IDs.Op:           "every verb that takes an id",
		api.Records.Op:       "cairn list --order",
		api.Timeline.Op:      "cairn list --around",
		api.Chronology.Op:    "cairn list --entity",
		api.Current.Op:       "cairn list --limit 1",
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

// around is the flag of list that names the memory of a timeline.
var around = func() field.Field {
	f := api.Timeline.Takes().Named("rid")
	f.Name, f.In, f.Doc = "around", "", "Only the memories stored shortly before and after the memory with this id, the oldest first."
	return f
}()

// Columns of lists of memories and of triggers.
var (
	memories = []string{"rid", "created_at", "memory_type", "namespace", "importance", "text"}
	triggers = []string{"trigger_id", "status", "urgency", "trigger_type", "created_at", "reason", "suggested_action", "source_rids"}
)

// usual are the names of flags that stand for the same field in every verb.
var usual = map[string]string{"memory_type": "type", "session_id": "session", "idempotency_key": "key"}

// once names the idempotency key where a verb has another key.
var once = map[string]string{"idempotency_key": "idempotency-key"}

// groups are the verbs that others stand below, and what they are about.
var groups = map[string]string{
	"sessions":  "Sessions, a client's stretches of work: list, show, start, end, draft",
	"conflicts": "Contradictions between memories: list, resolve",
	"triggers":  "Triggers, things an agent should act on: list, history, deliver, prune, acknowledge, act, dismiss",
	"turns":     "The last turns of a namespace's conversation: list, add, clear",
	"tasks":     "Tasks, things an agent means to do: list, add, show, change, delete",
	"skills":    "Skills, how things are done: search, define, outcome",
}
