package api

// Questions that were answered badly, and summaries for an agent that begins its work.
var (
	Gaps = row[GapsRequest, GapList](Op{Name: "gaps", Bound: Narrowed, Scope: Read, Asked: true,
		HTTP: "GET /v1/insights/gaps", Also: []string{"/v1/knowledge_gaps"},
		Does: "Questions that were asked often and had poor answers, on all nodes since they started."})
	Digest = row[DigestRequest, DigestAnswer](Op{Name: "digest", Bound: Single,
		Does: "What an agent should know of a namespace at the start of its work.", Scope: Read, HTTP: "GET /v1/session/digest"})
)

type GapsRequest struct {
	Namespace string  `json:"namespace" doc:"Only questions about this namespace; blank for all. A question that names no namespace counts for default."`
	MinCount  uint64  `json:"min_count" default:"2" doc:"Only questions asked at least this many times."`
	MaxTop    float64 `json:"max_avg_top_score" is:"number[-1..]" default:"0.5" doc:"Only questions whose best memory scored at most this on average; below 0 returns no rows."`
	Limit     int     `json:"limit" is:"integer[0..]" default:"10" doc:"Most rows to return, up to 1,000."`
	Here      bool    `json:"node" doc:"Report only the node that receives the request, not the others."`
}

type GapList struct {
	Count int   `json:"count" doc:"Number of rows in this answer."`
	Gaps  []Gap `json:"gaps" doc:"The most often asked first."`
}

// A Gap is a question that was asked more than once and answered badly.
type Gap struct {
	Query   string  `json:"query" doc:"The question, as it was asked last."`
	Count   uint64  `json:"count" doc:"Number of times it was asked."`
	Top     float64 `json:"avg_top_score" doc:"The score of the best memory, on average."`
	Results float64 `json:"avg_results" doc:"Average number of memories found."`
	Last    float64 `json:"last_seen" is:"time" doc:"When it was last asked, in Unix seconds."`
	LastISO string  `json:"last_seen_iso" doc:"The same time in RFC 3339."`
}

type DigestRequest struct {
	Namespace    string `json:"namespace" doc:"The namespace to summarise; blank for default."`
	MaxDecisions int    `json:"max_decisions" is:"integer[0..]" default:"8" doc:"Most memories to return."`
	MaxConflicts int    `json:"max_conflicts" is:"integer[0..]" default:"5" doc:"Most contradictions to return, 1 to 1,000; 0 means 1."`
	MaxTriggers  int    `json:"max_triggers" is:"integer[0..]" default:"5" doc:"Most triggers to return, up to 1,000; 0 means 1."`
	SnippetChars int    `json:"snippet_chars" is:"integer[0..]" default:"240" doc:"Most characters of a text to return."`
	IncludeGaps  bool   `json:"include_gaps" doc:"Also return questions with poor answers."`
	MaxGaps      int    `json:"max_gaps" is:"integer[0..]" default:"5" doc:"Most of these to return."`
	_            string `idle:"scope"`
	_            bool   `idle:"include_superseded"`
	Fresh
}

type DigestAnswer struct {
	Head         *string    `json:"narrative_head" doc:"Summary of the newest session that has one."`
	Decisions    []Decision `json:"top_decisions" doc:"The most important of the newest 500 memories."`
	Conflicts    []Conflict `json:"open_conflicts" doc:"Open contradictions, the most urgent first."`
	AllConflicts uint64     `json:"open_conflict_count" doc:"Number of open contradictions of the namespace, up to 20,000."`
	Triggers     []Trigger  `json:"pending_triggers" doc:"Triggers about the namespace's memories, the newest first."`
	AllTriggers  uint64     `json:"pending_trigger_count" doc:"Number of pending triggers about the namespace's memories, up to 20,000."`
	Thought      *float64   `json:"last_maintenance" is:"time" doc:"When maintenance last ran on the database, in Unix seconds; null for never."`
	Gaps         []Gap      `json:"knowledge_gaps,omitzero" doc:"Questions with poor answers; only with include_gaps."`
}

// A Decision is the beginning of a memory that matters.
type Decision struct {
	RID        string  `json:"rid" is:"rid" doc:"The memory's id."`
	Snippet    string  `json:"snippet" doc:"The beginning of its text."`
	Type       string  `json:"memory_type" doc:"What kind of memory it is."`
	Importance float64 `json:"importance" doc:"Importance, from 0 to 1."`
	Created    float64 `json:"created_at" is:"time" doc:"When it happened, in Unix seconds."`
}
