package api

// What is asked often and known badly, and what an agent should know when it begins.
var (
	Gaps = row[GapsRequest, GapList](Op{Name: "gaps", Scope: Read, HTTP: "GET /v1/insights/gaps", Also: []string{"/v1/knowledge_gaps"},
		Does: "Questions that were asked often and answered badly, on all nodes since they started."})
	Digest = row[DigestRequest, DigestAnswer](Op{Name: "digest", Does: "What an agent should know when it begins.", Scope: Read, HTTP: "GET /v1/session/digest"})
)

type GapsRequest struct {
	Namespace string  `json:"namespace" doc:"Only questions about this namespace; blank for all."`
	MinCount  uint64  `json:"min_count" default:"2" doc:"Only questions that were asked so often or more."`
	MaxTop    float64 `json:"max_avg_top_score" default:"0.5" doc:"Only questions whose best memories had this score on average, or a lower one."`
	Limit     int     `json:"limit" is:"integer[0..]" default:"10" doc:"At most so many, up to 1,000."`
	Here      bool    `json:"node" doc:"Ask the node that answers alone, and not the others."`
}

type GapList struct {
	Count int   `json:"count" doc:"How many are listed."`
	Gaps  []Gap `json:"gaps" doc:"The most often asked first."`
}

// A Gap is a question that was asked more than once and answered badly.
type Gap struct {
	Query   string  `json:"query" doc:"The question, as it was asked last."`
	Count   uint64  `json:"count" doc:"How often it was asked."`
	Top     float64 `json:"avg_top_score" doc:"The score of the best memory, on average."`
	Results float64 `json:"avg_results" doc:"How many memories were found, on average."`
	Last    float64 `json:"last_seen" doc:"When it was asked last, in Unix seconds."`
	LastISO string  `json:"last_seen_iso" doc:"The same as RFC 3339."`
}

type DigestRequest struct {
	Namespace    string `json:"namespace" doc:"Whose memories, sessions and gaps; blank for default, and for the gaps of all namespaces."`
	MaxDecisions int    `json:"max_decisions" is:"integer[0..]" default:"8" doc:"At most so many memories."`
	MaxConflicts int    `json:"max_conflicts" is:"integer[0..]" default:"5" doc:"At most so many contradictions, up to 1,000; 0 means 1."`
	MaxTriggers  int    `json:"max_triggers" is:"integer[0..]" default:"5" doc:"At most so many triggers, up to 1,000; 0 means 1."`
	SnippetChars int    `json:"snippet_chars" is:"integer[0..]" default:"240" doc:"At most so many characters of a text."`
	IncludeGaps  bool   `json:"include_gaps" doc:"Tell of questions that were answered badly, too."`
	MaxGaps      int    `json:"max_gaps" is:"integer[0..]" default:"5" doc:"At most so many of these."`
	_            string `idle:"scope"`
	_            bool   `idle:"include_superseded"`
}

type DigestAnswer struct {
	Head         *string    `json:"narrative_head" doc:"What the newest session that has a summary was about."`
	Decisions    []Decision `json:"top_decisions" doc:"The most important of the newest 500 memories."`
	Conflicts    []Conflict `json:"open_conflicts" doc:"Contradictions that are not settled, the most urgent first."`
	AllConflicts uint64     `json:"open_conflict_count" doc:"How many these are in all."`
	Triggers     []Trigger  `json:"pending_triggers" doc:"What deserves attention, the newest first."`
	AllTriggers  uint64     `json:"pending_trigger_count" doc:"How many these are in all."`
	Thought      *float64   `json:"last_maintenance" doc:"When the database was last looked over, in Unix seconds; null for never."`
	Gaps         []Gap      `json:"knowledge_gaps,omitzero" doc:"Questions that were answered badly; only with include_gaps."`
}

// A Decision is the beginning of a memory that matters.
type Decision struct {
	RID        string  `json:"rid" doc:"The memory's id."`
	Snippet    string  `json:"snippet" doc:"How its text begins."`
	Type       string  `json:"memory_type" doc:"What kind of memory it is."`
	Importance float64 `json:"importance" doc:"How much it matters, from 0 to 1."`
	Created    float64 `json:"created_at" doc:"When what it says was so, in Unix seconds."`
}
