package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/wire/field"
)

// Turns, tasks, outcomes and skills of agents. All are memories under keys, in lists and exports like any others. Only
// skills are found by recalls.
var (
	RecordTurn = row[RecordTurnRequest, RecordedTurn](Op{Name: "turn_record", Bound: Single, Scope: Write, Writes: true,
		HTTP: "POST /v1/conversation/turns",
		Does: "Add a turn to the end of a namespace's conversation, and forget the oldest ones beyond max_turns."})
	RecentTurns = row[RecentTurnsRequest, TurnList](Op{Name: "turns", Bound: Single,
		Does: "The last turns of a namespace's conversation, word for word, the oldest first.", Scope: Read,
		HTTP: "GET /v1/conversation/recent"})
	ClearTurns = row[ClearTurnsRequest, ClearedTurns](Op{Name: "turns_clear", Bound: Single,
		Does: "Forget all turns of a namespace's conversation.", Scope: Write, Writes: true, HTTP: "POST /v1/conversation/clear"})

	AddTask = row[AddTaskRequest, AddedTask](Op{Name: "task_add", Bound: Single, Does: "Add a task to a namespace's list.",
		Scope: Write, Writes: true, HTTP: "POST /v1/tasks", Adds: one, Missing: "task_not_found"})
	Tasks = row[TasksRequest, TaskList](Op{Name: "tasks", Bound: Single, Scope: Read, HTTP: "GET /v1/tasks",
		Does: "The tasks of a namespace, the most urgent first, then the oldest. In a namespace with more than 20,000 tasks, only the first 20,000 added are listed, and incomplete says so."})
	GetTask = row[GetTaskRequest, Task](Op{Name: "task", Bound: Narrowed, Does: "One task.", Scope: Read,
		HTTP: "GET /v1/tasks/{id}", Missing: "task_not_found"})
	ChangeTask = row[ChangeTaskRequest, ChangedTask](Op{Name: "task_change", Bound: Narrowed,
		Does: "Change a task's status, priority or title.", Scope: Write, Writes: true, HTTP: "PATCH /v1/tasks/{id}",
		Missing: "task_not_found"})
	DropTask = row[DropTaskRequest, DroppedTask](Op{Name: "task_delete", Bound: Narrowed,
		Does: "Forget a task. Its subtasks stay.", Scope: Write, Writes: true, HTTP: "DELETE /v1/tasks/{id}", Confirm: "id",
		Missing: "task_not_found"})

	SearchSkills = row[SearchSkillsRequest, SkillList](Op{Name: "skills_search",
		Does: "Find skills by what they are for, the best first.", Scope: Read, HTTP: "POST /v1/skills/search"})
	DefineSkill = row[DefineSkillRequest, DefinedSkill](Op{Name: "skill_define",
		Does:  "Store a skill under its id. If a skill has the id already, on_conflict says whether to replace it.",
		Scope: Write, Writes: true, HTTP: "POST /v1/skills/define"})
	NoteOutcome = row[NoteOutcomeRequest, NotedOutcome](Op{Name: "skill_outcome",
		Does: "Record whether a skill succeeded when it was used.", Scope: Write, Writes: true,
		HTTP: "POST /v1/skills/{id}/outcome", Adds: one, Missing: "skill_not_found"})
)

// one is the Adds of a row that stores one memory.
func one(any) int { return 1 }

type RecordTurnRequest struct {
	Role      string `json:"role" is:"string!" doc:"Who spoke, such as user or assistant; up to 64 bytes." example:"user"`
	Content   string `json:"content" is:"string!" doc:"What was said." example:"Which database do we use?"`
	MaxTurns  int    `json:"max_turns" is:"integer[1..1000]" default:"10" doc:"The number of turns to keep, this one included."`
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
}

type RecordedTurn struct {
	Recorded bool        `json:"recorded" doc:"true."`
	Role     string      `json:"role" doc:"Who spoke."`
	RID      string      `json:"rid" doc:"The turn's id."`
	Dropped  int         `json:"dropped" doc:"Number of older turns that were forgotten."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type RecentTurnsRequest struct {
	Limit     int    `json:"limit" is:"integer[0..]" default:"10" doc:"Most turns to return, up to 1,000."`
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Fresh
}

type TurnList struct {
	Turns []Turn `json:"turns" doc:"The oldest first."`
	Count int    `json:"count" doc:"Number of rows."`
	Left  bool   `json:"left_out,omitempty" doc:"true: older turns were left out, because the answer reached 16 MiB of them. keys with the prefix /.turns lists all."`
}

// A Turn is one message of a conversation.
type Turn struct {
	RID     string  `json:"rid" doc:"The turn's id."`
	Role    string  `json:"role" doc:"Who spoke."`
	Content string  `json:"content" doc:"What was said."`
	Created float64 `json:"created_at" is:"time" doc:"When it was recorded, in Unix seconds."`
}

type ClearTurnsRequest struct {
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
}

type ClearedTurns struct {
	Cleared bool        `json:"cleared" doc:"true."`
	Turns   int         `json:"turns" doc:"Number of turns that were forgotten."`
	Index   field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type AddTaskRequest struct {
	Title     string `json:"title" is:"string!" doc:"What is to be done, up to 4,096 bytes." example:"Find out who is on call at night"`
	Priority  string `json:"priority" is:"string{low,medium,high,critical}" default:"medium" doc:"How urgent it is."`
	Status    string `json:"status" default:"open" doc:"Its status: open, in_progress, done or a word of your own, up to 64 bytes."`
	Parent    string `json:"parent_id" names:"memory" doc:"The task that this one is a part of."`
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Key       string `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it adds nothing twice."`
}

// Keys returns the idempotency key of the request.
func (q *AddTaskRequest) Keys() []string { return []string{q.Key} }

type AddedTask struct {
	ID       string      `json:"id" doc:"The task's id."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type TasksRequest struct {
	Namespace string `json:"namespace" doc:"The namespace; blank for default."`
	Status    string `json:"status" default:"all" doc:"Only tasks of this status; all is every status."`
	Parent    string `json:"parent_id" names:"memory" doc:"Only parts of this task; blank means all."`
	Limit     int    `json:"limit" is:"integer[0..]" default:"1000" doc:"Most rows to return, up to 1,000."`
	Fresh
}

type TaskList struct {
	Tasks []Task `json:"tasks" doc:"The most urgent first, then the oldest."`
	Count int    `json:"count" doc:"Number of rows."`
	More  bool   `json:"more" doc:"Whether more tasks pass; to see them, request one status, or the parts of one task."`
	Bounded
}

// A Task is something that an agent intends to do.
type Task struct {
	ID        string  `json:"id" doc:"The task's id, the same as its memory's id."`
	Namespace string  `json:"namespace" doc:"Its namespace."`
	Title     string  `json:"title" doc:"What is to be done."`
	Status    string  `json:"status" doc:"Its status."`
	Priority  string  `json:"priority" is:"string{low,medium,high,critical}" doc:"How urgent it is."`
	Parent    *string `json:"parent_id" doc:"The task that this one is a part of."`
	Created   float64 `json:"created_at" is:"time" doc:"When it was added, in Unix seconds."`
	Updated   float64 `json:"updated_at" is:"time" doc:"When it was changed last, in Unix seconds."`
	Revision  uint32  `json:"revision" doc:"Number of changes."`
}

type GetTaskRequest struct {
	ID string `json:"id" names:"memory" in:"path" doc:"The task's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Fresh
}

type ChangeTaskRequest struct {
	ID       string  `json:"id" names:"memory" in:"path" doc:"The task's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
	Status   *string `json:"status" doc:"The new status, up to 64 bytes." example:"done"`
	Priority *string `json:"priority" is:"string{low,medium,high,critical}" doc:"The new priority."`
	Title    *string `json:"title" doc:"The new title, up to 4,096 bytes."`
	Expected *uint32 `json:"expected_revision" is:"integer[0..]" doc:"Change it only if it is at this revision."`
}

type ChangedTask struct {
	ID       string      `json:"id" doc:"The task's id."`
	Updated  bool        `json:"updated" doc:"true."`
	Revision uint64      `json:"revision" doc:"Number of changes, this one included."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type DropTaskRequest struct {
	ID string `json:"id" names:"memory" in:"path" doc:"The task's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e12"`
}

type DroppedTask struct {
	ID      string      `json:"id" doc:"The task's id."`
	Deleted bool        `json:"deleted" doc:"true."`
	Index   field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
}

type SearchSkillsRequest struct {
	Query string `json:"query" is:"string!" doc:"What you need a skill for. Blank lists the newest." example:"how to ship a release"`
	K     int    `json:"top_k" is:"integer[0..]" default:"10" doc:"Most skills to return, up to 1,000."`
	For   string `json:"applies_to" doc:"Only skills that apply to this." example:"release"`
	Kind  string `json:"skill_type" doc:"Only skills of this type."`
	Fresh
}

type SkillList struct {
	Skills []Skill `json:"skills" doc:"The best first."`
	Total  int     `json:"total" doc:"Number of rows."`
	Left   int     `json:"left_out,omitempty" doc:"Number of rows left out because the answer reached 16 MiB of skills. Request fewer rows."`
}

// A Skill describes how to do something.
type Skill struct {
	RID      string          `json:"rid" doc:"The id of its memory."`
	ID       string          `json:"skill_id" doc:"The skill's id."`
	Text     string          `json:"text" doc:"How it is done."`
	Body     string          `json:"body" doc:"The same as text."`
	Score    float64         `json:"score" doc:"Probability that it answers the query, from 0 to 1; 0 in a list."`
	Kind     string          `json:"skill_type" doc:"Its type."`
	For      []string        `json:"applies_to" doc:"What it applies to."`
	Metadata json.RawMessage `json:"metadata" doc:"All its fields, with the names of the request that defined it."`
	Created  float64         `json:"created_at" is:"time" doc:"When it was defined, in Unix seconds."`
	Revision uint32          `json:"revision" doc:"How often it was replaced."`
}

type DefineSkillRequest struct {
	ID         string    `json:"skill_id" is:"string!" doc:"The skill's id: 4 to 200 lower-case letters, digits and underscores, in two or more parts with dots between them." example:"release.notes.write"`
	Body       string    `json:"body" is:"string!" doc:"How it is done, in 50 to 5,000 characters." example:"Collect the merged changes since the last tag, group them by what users see, and write one line for each."`
	Kind       string    `json:"skill_type" is:"string!" doc:"What it is: procedure, reference, lesson, pattern or rule." example:"procedure"`
	For        []string  `json:"applies_to" is:"!" doc:"What it applies to: 1 to 10 words of lower-case letters, digits and underscores." example:"[\"release\"]"`
	Triggers   []string  `json:"triggers" doc:"Phrases that call for it, up to 50."`
	Version    string    `json:"version" doc:"Its version, as you count them."`
	Supersedes string    `json:"supersedes_skill_id" doc:"The skill that it replaces."`
	Metadata   field.Map `json:"metadata" doc:"More about it."`
	Conflict   string    `json:"on_conflict" is:"string{reject,replace,update,ignore}" default:"reject" doc:"When the id is taken: reject the request, replace the skill (update means the same), or ignore this one."`
}

type DefinedSkill struct {
	RID      string      `json:"rid" doc:"The id of its memory."`
	ID       string      `json:"skill_id" doc:"The skill's id."`
	Stored   bool        `json:"stored" doc:"Whether this request changed anything."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

type NoteOutcomeRequest struct {
	ID        string `json:"id" in:"path" doc:"The skill's id." example:"release.notes.write"`
	Succeeded bool   `json:"succeeded" is:"boolean!" doc:"Whether it succeeded." example:"true"`
	Note      string `json:"note" doc:"What happened, up to 4,096 bytes."`
	Key       string `json:"idempotency_key" is:"key" doc:"Idempotency key: repeating the request with it records nothing twice."`
}

// Keys returns the idempotency key of the request.
func (q *NoteOutcomeRequest) Keys() []string { return []string{q.Key} }

type NotedOutcome struct {
	RID      string      `json:"rid" doc:"The outcome's id."`
	ID       string      `json:"skill_id" doc:"The skill's id."`
	Recorded bool        `json:"recorded" doc:"true."`
	Index    field.Token `json:"log_index" doc:"Position of the write in the log; min_index on another node waits for it."`
	Redacted []string    `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}
