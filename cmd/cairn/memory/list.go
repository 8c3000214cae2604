package memory

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// list holds the verbs with hand-picked names, columns and examples. The verbs of a group are adjacent.
var list = []verb{
	{use: "remember TEXT...", short: "Store a memory; - reads it from standard input", op: api.Remember.Op,
		args: []string{"text"}, columns: []string{"rid"}, idempotent: true,
		omit: []string{"certainty", "emotional_state", "embedding", "temporal_kind", "tier"}}, // only for programs
	{use: "forget RID", short: "Forget a memory", op: api.Forget.Op, args: []string{"rid"}, omit: []string{"reason"},
		message: "forgotten", idempotent: true, extend: addForGood,
		long: `Recall and lists no longer return it, and claims that were read from its text are removed. It is not erased:
it can still be read by its id and by recalls of an earlier date, and its text stays in the files and backups of all nodes.

With --for-good it is erased with all that was made from it, and its text cannot be stored again. The command shows what
would be erased and asks first. Name memories by ids, --prefix, --filter or --entity. Needs a token with scope owner.`,
		example: `  cairn forget RID
  cairn forget --for-good --entity "Ada Lovelace"`},
	{use: "erased RID", short: "Prove that a memory was erased for good", op: api.Erased.Op, args: []string{"rid"}},
	{use: "forget-matching FILTER", short: "Forget the newest memories that pass a filter", op: api.ForgetMatching.Op,
		args: []string{"filter"}, columns: []string{"forgotten", "more"},
		example: `  cairn forget-matching '{"project":"atlas","@created_at":{"lt":"2026-01-01"}}' --reason "the project has ended"`},
	{use: "quarantine", short: "List the memories that wait in quarantine, the oldest first", op: api.Quarantine.Op,
		rowsField: "memories", columns: []string{"rid", "created_at", "writer", "agent", "trust", "text"},
		long:    "What a token's policy distrusts waits here: see --quarantine of `cairn token create`. Let one in with `cairn release`, reject it with `cairn forget`. Needs a token with scope owner.",
		example: "  cairn quarantine --namespace work"},
	{use: "release RID", short: "Let a memory out of quarantine, so that recall finds it", op: api.Release.Op,
		args: []string{"rid"}, message: "released",
		example: `  cairn release RID --reason "checked with Ada"`},
	{use: "purge", short: "Erase memories created before a time: texts, vectors and revisions", op: api.Purge.Op,
		columns:  []string{"purged", "log_index", "still_held_by"},
		question: purgeQuestion, long: "It cannot be undone. Needs a token with scope owner.",
		example: "  cairn purge --before 365d --namespace logs --yes"},
	{use: "relate ENTITY RELATION TARGET", short: "Relate two entities", op: api.Relate.Op,
		args: []string{"entity", "relationship", "target"}, columns: []string{"edge_id"}, idempotent: true,
		example: "  cairn relate Alice leads payments"},
	{use: "get RID", short: "Show one memory, even if it was merged or forgotten", op: api.Get.Op, args: []string{"rid"},
		columns: []string{"rid", "key", "text", "memory_type", "namespace", "domain", "source", "session_id", "created_at",
			"updated_at", "due_at", "expires_at", "pin", "importance", "certainty", "valence", "half_life",
			"access_count", "last_access", "consolidation_status", "consolidated_into", "consolidation_sources", "writer",
			"dialect", "agent", "trust", "provenance", "tombstone_reason", "revision", "entities", "claims", "metadata", "attributes"}},
	{use: "prompt [QUESTION]",
		short: "Write what is known about something as a block for a prompt, within a budget of tokens", op: api.Prompt.Op,
		args: []string{"query"}, textField: "context",
		long: "Prints only the block, or nothing when nothing is known. --json also lists what is in it and what was left out, with the reason.",
		example: `  cairn prompt "how are releases made?" --max-tokens 500
  cairn prompt --namespaces work,home`},

	{use: "put KEY TEXT...", short: "Store a memory under a key, or correct the one there; - reads standard input",
		op: api.Put.Op, args: []string{"key", "text"},
		flagNames: idempotencyFlag, omit: []string{"certainty", "emotional_state", "embedding", "temporal_kind", "tier"},
		columns: []string{"rid", "key", "created", "changed", "revision"},
		long:    "With --if-absent, --if-revision or --if-sha256 nothing is stored unless the key is as expected: read, change, and put with the revision that was read.",
		example: `  cairn put /prefs/editor/theme "Ada likes the dark theme"
  cairn put /prefs/editor/theme "Ada likes the light theme" --if-revision 0`},
	{use: "read KEY", short: "Show the memory that a key has, or had at a date", op: api.GetKey.Op, args: []string{"key"},
		columns: []string{"rid", "key", "text", "namespace", "revision", "sha256", "created_at", "updated_at", "importance",
			"entities", "metadata"}},
	{use: "rename KEY TO", short: "Give a key's memory another key", op: api.Rename.Op, args: []string{"key", "to"},
		flagNames: idempotencyFlag, columns: []string{"rid", "key", "revision"}},
	{use: "delete KEY", short: "Forget a key's memory, which frees the key", op: api.Delete.Op, args: []string{"key"},
		flagNames: idempotencyFlag, message: "deleted"},
	{use: "keys [PREFIX]", short: "List the keys below a folder", op: api.ListKeys.Op, args: []string{"prefix"},
		rowsField: "keys", columns: []string{"key", "rid", "revision", "bytes", "updated_at"},
		rowOptions: rowOptions{fullColumns: []string{"memory"}}, example: "  cairn keys /prefs --depth 1"},
	{use: "batch STEPS", short: "Read and write keys in one atomic step, given as JSON", op: api.Batch.Op,
		args: []string{"steps"}, flagNames: idempotencyFlag, rowsField: "results", columns: []string{"key", "found", "changed", "rid", "revision"},
		example: `  cairn batch '[{"op":"get","key":"/a"},{"op":"put","key":"/b","memory":{"text":"Ada likes tea"},"if_absent":true}]'`},

	{use: "list", short: "List memories, the newest first", op: api.Memories.Op, rowsField: "items|records", columns: memoryColumns,
		alternatives: []alternative{
			{flag: aroundFlag, op: api.Timeline.Op, rows: "memories", renames: map[string]string{"around": "rid"}},
			{flag: api.Chronology.Takes().Named("entity"), op: api.Chronology.Op, rows: "items",
				renames: map[string]string{"after": "from", "before": "to"}},
		},
		long: "With --order, --kind, --drive-id or --since-rid memories come in the order of their ids, page by page: next_cursor in --json is the --since-rid of the next page.",
		example: `  cairn list --limit 1 --namespace work
  cairn list --after 7d --filter '{"project":"atlas"}'
  cairn list --order asc --limit 200 --json
  cairn list --around RID
  cairn list --entity Alice --after 30d`},
	{use: "correct RID [TEXT]", op: api.Correct.Op, args: []string{"rid", "new_text"},
		flagNames: map[string]string{"new_importance": "importance", "new_valence": "valence", "metadata_merge": "metadata",
			"new_attributes": "attributes"}, columns: []string{"rid", "revision", "superseded"}, listsToCheck: true,
		long:    "Stated relations stay as they are. Those of names that are in the old text and not in the new one are shown, each with the command that removes it.",
		example: `  cairn correct RID "Bob leads payments" --reason "Alice moved on"`},
	{use: "merge RID...", short: "Merge memories into a new one with a text of yours", op: api.Merge.Op,
		args: []string{"rids"}, columns: []string{"rid", "merged"},
		long:    "The sources stay readable by id and lead to the new memory. cairn undo of any of them takes the merge back.",
		example: `  cairn merge RID RID --text "Ada prefers tea to coffee, green tea most"`},
	{use: "split RID TEXT...", short: "Split a memory into several, each with a text of yours", op: api.Split.Op,
		args: []string{"rid", "texts"}, columns: []string{"rid", "rids"},
		long:    "The source stays readable by id and leads to the new memories. cairn undo of any of them takes the split back.",
		example: `  cairn split RID "Ada prefers tea." "Ada plays chess."`},
	{use: "move [RID]", short: "Move a memory, or those below a key, to another namespace", op: api.Move.Op,
		args: []string{"rid"}, columns: []string{"moved", "namespace"},
		long: "Ids, keys and revisions stay. cairn undo moves a memory back; a move of the same key the other way moves all of it back.",
		example: `  cairn move RID --to work
  cairn move --prefix /people --namespace default --to work`},
	{use: "undo RID", short: "Take back the last change of a memory: a correction, a merge, a split or a move",
		op: api.Undo.Op, args: []string{"rid"}, columns: []string{"rid", "restored", "text", "recalled_again", "forgotten", "embedding_missing"},
		long: "cairn history lists a memory's revisions with their numbers. A memory that was forgotten cannot be brought back.\n\nA script that does not know whether its undo happened runs it again with the same --key: it is done once. With --expected-revision it is refused if the memory was corrected since it was read.",
		example: `  cairn undo RID
  cairn undo RID --revision 0
  cairn undo RID --expected-revision 2 --key monday-1`},
	{use: "history RID", short: "Show a memory's earlier texts, one for each correction", op: api.Revisions.Op,
		args: []string{"rid"}, rowsField: "revisions", columns: []string{"revision", "until", "reason", "text"}},
	{use: "stale", short: "List memories that were not accessed for days, the most important first", op: api.Stale.Op,
		rowsField: "items", columns: []string{"rid", "last_access", "importance", "namespace", "text"}},
	{use: "upcoming", short: "List memories due within days, the soonest first", op: api.Upcoming.Op, rowsField: "items",
		columns: []string{"rid", "due_at", "namespace", "text"}},
	{use: "namespaces", short: "List the namespaces of a database, and how many memories each has", op: api.Namespaces.Op,
		rowsField: "namespaces", columns: []string{"name", "active", "merged", "forgotten"}},
	{use: "values ATTRIBUTE", short: "List the values of an attribute, and how many memories have each", op: api.Values.Op,
		args: []string{"attribute"}, rowsField: "values",
		columns: []string{"value", "count", "first_created_at", "last_created_at"}, example: "  cairn values project"},
	{use: "stats", short: "Count memories, relations, conflicts and more", op: api.Stats.Op},

	{use: "entities", short: "List the names that memories, relations and claims mention", op: api.Entities.Op,
		rowsField: "entities", columns: []string{"name", "type", "mentions", "last_seen"}},
	{use: "entity NAME", short: "Show what is known of an entity: mentions, sessions, relations, valence",
		op: api.Profile.Op, args: []string{"name"}},
	{use: "edges ENTITY", short: "List the relations an entity is in", op: api.Edges.Op, args: []string{"entity"},
		rowsField: "edges", columns: []string{"edge_id", "src", "rel_type", "dst", "weight"}},
	{use: "unrelate EDGE", op: api.Unrelate.Op, args: []string{"id"},
		long: "cairn edges lists the relations of an entity with their ids.", columns: []string{"edge_id", "found"}},
	{use: "claim SUBJECT RELATION OBJECT", op: api.Claim.Op, args: []string{"src", "rel_type", "dst"},
		columns: []string{"claim_id", "namespace"}},
	{use: "claims ENTITY", short: "List the claims about an entity, the newest first", op: api.Claims.Op,
		args: []string{"entity"}, rowsField: "claims",
		columns: []string{"claim_id", "src", "rel_type", "dst", "polarity", "confidence_band", "status_suggestion", "created_at"}},
	{use: "alias NAME CANONICAL", op: api.Alias.Op, args: []string{"alias", "canonical_name"}},

	{group: "sessions", use: "list", short: "List sessions, the newest first", op: api.Sessions.Op, rowsField: "sessions",
		columns: []string{"session_id", "namespace", "client_id", "status", "started_at", "ended_at", "memory_count", "summary"}},
	{group: "sessions", use: "show SESSION", short: "Show a session's memories, in order", op: api.SessionHistory.Op,
		args: []string{"id"}, rowsField: "memories", columns: memoryColumns},
	{group: "sessions", use: "start", op: api.StartSession.Op, columns: []string{"session_id"}, extend: adviseActive},
	{group: "sessions", use: "end SESSION", op: api.EndSession.Op, args: []string{"id"}},
	{group: "sessions", use: "draft SUMMARY", op: api.DraftSummary.Op, args: []string{"summary"}},

	{group: "turns", use: "list", short: "Show the last turns of a namespace's conversation", op: api.RecentTurns.Op,
		rowsField: "turns", columns: []string{"rid", "created_at", "role", "content"}},
	{group: "turns", use: "add ROLE CONTENT", short: "Add a turn to a namespace's conversation", op: api.RecordTurn.Op,
		args: []string{"role", "content"}, columns: []string{"rid", "dropped"}},
	{group: "turns", use: "clear", op: api.ClearTurns.Op, columns: []string{"cleared", "turns"}},

	{group: "tasks", use: "list", short: "List the tasks of a namespace, the most urgent first", op: api.Tasks.Op,
		rowsField: "tasks", columns: []string{"id", "priority", "status", "title", "parent_id"}},
	{group: "tasks", use: "add TITLE", op: api.AddTask.Op, args: []string{"title"}, flagNames: idempotencyFlag, columns: []string{"id"}},
	{group: "tasks", use: "show TASK", short: "Show one task", op: api.GetTask.Op, args: []string{"id"}},
	{group: "tasks", use: "change TASK", op: api.ChangeTask.Op, args: []string{"id"}, columns: []string{"id", "revision"}},
	{group: "tasks", use: "delete TASK", op: api.DropTask.Op, args: []string{"id"}, message: "deleted"},

	{group: "skills", use: "search QUESTION", op: api.SearchSkills.Op, args: []string{"query"}, rowsField: "skills",
		columns: []string{"skill_id", "score", "skill_type", "applies_to", "text"}},
	{group: "skills", use: "define SKILL BODY", short: "Store a skill under its id", op: api.DefineSkill.Op,
		args: []string{"skill_id", "body"}, columns: []string{"rid", "skill_id", "stored"}},
	{group: "skills", use: "outcome SKILL", op: api.NoteOutcome.Op, args: []string{"id"}, flagNames: idempotencyFlag, columns: []string{"rid"}},

	{group: "conflicts", use: "list", short: "List contradictions, the most urgent first", op: api.Conflicts.Op,
		rowsField: "conflicts", flagNames: map[string]string{"conflict_type": "type"},
		columns: []string{"conflict_id", "priority", "status", "strategy", "entity", "side_a", "side_b"}},
	{group: "conflicts", use: "resolve CONFLICT STRATEGY", op: api.Resolve.Op, args: []string{"id", "strategy"},
		flagNames: map[string]string{"winner_rid": "winner", "resolution_note": "note"}, extend: checkStrategy,
		example: `  cairn conflicts resolve CONFLICT keep_a --note "Bob said so himself"`},

	{group: "triggers", use: "list", short: "List pending triggers", op: api.Triggers.Op, rowsField: "triggers", columns: triggerColumns},
	{group: "triggers", use: "history", short: "List triggers of every status", op: api.TriggerHistory.Op, rowsField: "triggers",
		columns: triggerColumns},
	{group: "triggers", use: "deliver", op: api.DeliverTriggers.Op, rowsField: "triggers", columns: triggerColumns},
	{group: "triggers", use: "prune", short: "Expire pending triggers that are overdue or too many",
		op: api.PruneTriggers.Op, columns: []string{"dry_run", "pending_before", "expired_overdue", "expired_over_cap", "pending_after"}},
	{group: "triggers", use: "acknowledge TRIGGER", short: "Say that a trigger was seen", op: api.MoveTrigger.Op,
		args: []string{"id"}, fixed: map[string]string{"verb": "acknowledge"}},
	{group: "triggers", use: "act TRIGGER", short: "Say that a trigger was acted on", op: api.MoveTrigger.Op,
		args: []string{"id"}, fixed: map[string]string{"verb": "act"}},
	{group: "triggers", use: "dismiss TRIGGER", short: "Say that a trigger needs no action", op: api.MoveTrigger.Op,
		args: []string{"id"}, fixed: map[string]string{"verb": "dismiss"}},

	{use: "categories", short: "List the categories of words of which only one can hold at a time", op: api.Categories.Op,
		rowsField: "categories", columns: []string{"name", "member_count"}},
	{use: "category CATEGORY", short: "List the words of a category", op: api.CategoryMembers.Op, args: []string{"name"},
		rowsField: "members", columns: []string{"token_normalized", "source"}},

	{use: "think", op: api.Think.Op, fixed: map[string]string{"progress": "true"},
		long:    "A round reads up to 10,000 memories. Rounds follow each other until every new or changed memory was read; the numbers are their sums. Interrupted, it continues when it is run again.",
		example: "  cairn think\n  cairn think --namespace work"},
	{use: "personality", short: "Show the agent's traits, computed from its memories", op: api.Personality.Op,
		rowsField: "traits", columns: []string{"name", "score"}},
	{use: "patterns", short: "List patterns, the most certain first", op: api.Patterns.Op, rowsField: "patterns",
		columns: []string{"pattern_type", "confidence", "occurrence_count", "last_confirmed", "description"}},
	{use: "feedback QUESTION RID", op: api.Feedback.Op, args: []string{"query", "rid"}, message: "recorded"},
	{use: "gaps", short: "List questions that were asked often and had poor answers", op: api.Gaps.Op, rowsField: "gaps",
		flagNames: map[string]string{"max_avg_top_score": "max-score"},
		columns:   []string{"query", "count", "avg_top_score", "avg_results", "last_seen"}},
	{use: "digest", short: "Show what an agent should know of a namespace at the start of its work", op: api.Digest.Op},
	{use: "watch", short: "Show what changes as it happens: ids, never a memory's text", op: api.Events.Op,
		long: "Runs until it is interrupted. When the connection breaks it connects again and continues after the last event."},
}

// checkStrategy makes an unknown strategy of conflicts resolve a usage error, and completes the known ones.
func checkStrategy(_ *cli.Streams, c *cobra.Command, _ *cli.Target) {
	resolve := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(oplog.Strategies, args[1]) {
			return cli.Usagef("STRATEGY: want one of %s, got %q", strings.Join(oplog.Strategies, ", "), args[1])
		}
		return resolve(c, args)
	}
	c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 1 {
			return oplog.Strategies, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

// adviseActive adds a hint when the client has an active session already. With --session, the id may be what is taken.
func adviseActive(_ *cli.Streams, c *cobra.Command, _ *cli.Target) {
	start := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		err := start(c, args)
		if e, ok := errors.AsType[*cli.HTTPError](err); ok && e.Status == http.StatusConflict && !c.Flags().Changed("session") {
			return cli.Hint(err, "`cairn sessions list --active` shows it: end it with `cairn sessions end`, or name another client with --client-id")
		}
		return err
	}
}

// purgeQuestion returns the question before a purge. It says what the purge erases.
func purgeQuestion(g Given) string {
	before := g["before"][0]
	if at, err := field.ParseDate(before); err == nil {
		before = at.Local().Format("2006-01-02 15:04:05 MST")
	}
	what := "all memories created before " + before
	for _, name := range []string{"namespace", "owner", "tier"} {
		if text := strings.Join(g[name], ""); text != "" {
			what += ", of " + name + " " + text
		}
	}
	return "Erase " + what + " for good?"
}

// verbSubjects are the subjects of the operation table whose operations become verbs. coveredElsewhere lists their
// operations that do not, each with the command that covers it.
var (
	verbSubjects     = []string{"memories", "keys", "lists", "time", "sessions", "work", "graph", "mind", "events"}
	coveredElsewhere = map[*api.Op]string{
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

// verbs returns list, followed by a default verb for each other operation of verbSubjects.
func verbs() []verb {
	all := slices.Clone(list)
	for _, s := range api.Subjects {
		for _, op := range s.Ops {
			has := slices.ContainsFunc(list, func(v verb) bool { return v.op == op })
			if !has && slices.Contains(verbSubjects, s.Name) && op.HTTP != "" && !op.Stream && coveredElsewhere[op] == "" {
				all = append(all, defaultVerb(op))
			}
		}
	}
	return all
}

// defaultVerb returns the verb for an operation without an entry in list. Required fields are arguments, and the
// whole answer is printed.
func defaultVerb(op *api.Op) verb {
	v := verb{use: strings.ReplaceAll(op.Name, "_", "-"), op: op}
	for _, f := range op.Takes() {
		if f.Must || f.In == "path" {
			v.args = append(v.args, f.Name)
			v.use += " " + strings.ToUpper(f.Name)
		}
	}
	return v
}

// aroundFlag is the field of the flag --around of list, which selects a timeline.
var aroundFlag = func() field.Field {
	f := api.Timeline.Takes().Named("rid")
	f.Name, f.In, f.Doc = "around", "", "Only the memories stored shortly before and after the memory with this id, the oldest first."
	return f
}()

// The columns for lists of memories and of triggers.
var (
	memoryColumns  = []string{"rid", "created_at", "memory_type", "namespace", "importance", "text"}
	triggerColumns = []string{"trigger_id", "status", "urgency", "trigger_type", "created_at", "reason", "suggested_action", "source_rids"}
)

// usualFlagNames maps fields to the flag names that they have in every verb.
var usualFlagNames = map[string]string{"memory_type": "type", "session_id": "session", "idempotency_key": "key"}

// idempotencyFlag names the flag of the idempotency key in verbs where --key would mean a memory's key.
var idempotencyFlag = map[string]string{"idempotency_key": "idempotency-key"}

// groupHelp maps the parent commands to their short help.
var groupHelp = map[string]string{
	"sessions":  "Sessions, a client's stretches of work: list, show, start, end, draft",
	"conflicts": "Contradictions between memories: list, resolve",
	"triggers":  "Triggers, things an agent should act on: list, history, deliver, prune, acknowledge, act, dismiss",
	"turns":     "The last turns of a namespace's conversation: list, add, clear",
	"tasks":     "Tasks, things an agent means to do: list, add, show, change, delete",
	"skills":    "Skills, how things are done: search, define, outcome",
}
