package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Recall.
var (
	Recall = row[RecallRequest, Recalled](Op{Name: "recall", Bound: Narrowed, Scope: Read, Early: true, Asked: true,
		HTTP: "POST /v1/recall", Wire: wire.OpRecall,
		Does: "Find memories by words, meaning, relation and time. Words match when they or their stems are the same; meaning needs an embedder (embedding_model in the answer of /v1/health names it). With Accept: text/event-stream each row is an event named result, and the event named end has the rest. Only memories that match the question and score at least min_score are returned: " +
			"considered and below_min_score count those examined and those left out.",
		Tool: &Tool{Name: "recall", Title: "Recall", ReadOnly: true, Idempotent: true,
			Text: "Find what is known about something: memories by words, meaning, relation and time, best first, each with a score and why it was found. Only matches are returned; min_score leaves out weak ones. " +
				"Use it at the start of a task, and before you answer anything about the user, the project or earlier work. " + QuotedData}})
	RecallAsOf = row[RecallAsOfRequest, Recalled](Op{Name: "recall_as_of", Bound: Narrowed,
		Does: "Recall the memories as they were at a date.", Scope: Read, HTTP: "POST /v1/temporal/as_of"})
)

// A Question holds the query of a recall and its filters.
type Question struct {
	Text         string       `json:"query" tool:"text,q" is:"string!" doc:"What to look for: a question or a few words. Blank, * or everything lists the newest." example:"What does Ada drink?"`
	K            int          `json:"top_k" tool:"limit,k" is:"integer[0..]" default:"10" doc:"Most memories to return, up to 1,000."`
	Type         string       `json:"memory_type" core:"-" doc:"Only memories of this kind."`
	Namespace    string       `json:"namespace" doc:"Only this namespace; blank for all."`
	Domain       string       `json:"domain" core:"-" doc:"Only memories of this domain."`
	Source       string       `json:"source" core:"-" doc:"Only memories of this source."`
	Session      string       `json:"session_id" names:"-" tool:"-" doc:"Only memories of this session."`
	Consolidated bool         `json:"include_consolidated" core:"-" doc:"Also memories that were merged into others."`
	Superseded   bool         `json:"include_superseded" core:"-" doc:"Also memories whose subject now has another value of the same relation. Others that a newer memory replaces are always returned, ranked after it."`
	Expand       bool         `json:"expand_entities" core:"-" default:"true" doc:"Follow relations of what the question names."`
	Embedding    field.Vector `json:"query_embedding" tool:"-" doc:"The question's vector, of the database's dimension; the database's embedder makes it when it is omitted."`
	Window       field.Window `json:"time_window" doc:"Only memories created between two dates."`
	Quiet        bool         `json:"skip_reinforce" core:"-" doc:"Do not strengthen the memories that are found."`
	Without      []string     `json:"without" tool:"-" doc:"Signals to switch off: passage, around, refers, session, density, speaker, asker, date, when, short, questions, vector, graph, freshness, importance, trust, rerank."`
	Diverse      bool         `json:"diverse" tool:"-" doc:"Leave out memories that nearly repeat a better one."`
	Filter       field.Map    `json:"filter" doc:"Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not." example:"{\"project\":\"atlas\",\"priority\":{\"gte\":2}}"`
	MinScore     float64      `json:"min_score" is:"number[0..]" default:"0.002" doc:"Leave out memories less likely than this to answer the question. 0 returns every match."`

	Types []string `json:"-"` // several types
	Rows
}

// Rows selects the form of an answer's rows for a surface. No client sets it.
type Rows struct {
	Bare  bool `json:"-"` // rows come as Recalled.Pages, for a surface that streams them
	Whole bool `json:"-"` // rows include their memories, for a surface that shows other fields
	Skip  int  `json:"-"` // in a list, the number of newest memories that are left out
}

type RecallRequest struct {
	Question
	Explain bool       `json:"explain" tool:"-" doc:"Return the parts of each score."`
	AsOf    field.Date `json:"as_of" doc:"Recall the memories as they were at this date."`
	Fresh
}

type RecallAsOfRequest struct {
	Question
	Explain bool       `json:"explain" doc:"Return the parts of each score."`
	AsOf    field.Date `json:"as_of" also:"at,timestamp" is:"date!" doc:"The date to answer for." example:"2026-01-31"`
	Fresh
}

// Recalled is the answer to a recall.
type Recalled struct {
	Results    []Result    `json:"results" doc:"The best first."`
	Total      int         `json:"total" tool:"-" doc:"Number of rows in this answer."`
	Fallback   *string     `json:"fallback" tool:"-" doc:"Always null."`
	Confidence float64     `json:"confidence" doc:"Confidence in the answer as a whole, from 0 to 1."`
	Hints      []Hint      `json:"hints" doc:"Hints for a better question, when confidence is low."`
	Index      oplog.Index `json:"index" tool:"-" doc:"Log index that the answer reflects."`
	Lag        *float64    `json:"lag_seconds" tool:"-" doc:"Seconds that this node is behind the leader; null while it hears none."`
	Considered int         `json:"considered" tool:"-" doc:"Number of memories examined."`
	Below      int         `json:"below_min_score" tool:"-" doc:"Number of matches that scored less than min_score."`
	Filtered   []Filtered  `json:"filtered,omitempty" doc:"With explain: how many memories remained after each filter, in this order."`
	Left       int         `json:"left_out,omitempty" doc:"Number of rows left out because the answer reached 16 MiB of memories. Request fewer rows, or an event stream."`
	Bounded

	Pages func(yield func([]Result, error) bool) `json:"-"` // the rows of a bare answer, read while they are sent
}

// Filtered reports how many memories passed a filter, of those that passed the filters before it.
type Filtered struct {
	Filter string `json:"filter" doc:"The filter's name in the request; for a part of filter, its text."`
	Left   int    `json:"left" doc:"Number of memories left."`
}

// Explained adds the parts of the score to each result of a request with explain.
type Explained struct {
	Path    string  `json:"key,omitempty" doc:"Its key in its namespace; absent when it has none."`
	Emotion *string `json:"emotional_state" doc:"The emotion that it was stored with."`
	Session string  `json:"session_id" doc:"The session that it joined; blank for none."`
	Status  string  `json:"status" doc:"Whether it is active, consolidated, tombstoned or quarantined."`
	Shares  Scores  `json:"scores" doc:"Parts of the score by signal; they add up to it."`
	Factors Factors `json:"factors" doc:"The factors that the relevance was multiplied with."`
	Parts   Parts   `json:"parts" doc:"The parts of the relevance."`

	By      string   `json:"superseded_by,omitempty" is:"rid" doc:"The newer memory that replaces it; absent when it is current."`
	Later   string   `json:"perhaps_outdated_by,omitempty" is:"rid" doc:"A newer memory of this answer that says something about the same; absent when there is none, and in event streams."`
	Writer  string   `json:"writer,omitempty" doc:"Who wrote it: the token's label or hash."`
	Dialect string   `json:"dialect,omitempty" doc:"The protocol it came by."`
	Agent   string   `json:"agent,omitempty" doc:"Its agent, as the client named it."`
	Trust   string   `json:"trust" empty:"agent" doc:"Its class of trust: operator, agent, tool or web."`
	Origins []Origin `json:"provenance" doc:"The memory, then those that it was made of, each with its writer and class."`

	Against  []string  `json:"conflicts_with,omitempty" is:"[]rid" doc:"The memories that it contradicts, by open conflicts."`
	Reranked *Reranked `json:"reranked,omitempty" doc:"The reranker's score and the place before it; absent when no reranker ran."`
}

// Reranked holds the reranker's score of a result and its place before reranking.
type Reranked struct {
	Score float64 `json:"score" doc:"The reranker's score, on a scale of its own."`
	Place int     `json:"place" doc:"Its place before, from 1."`
}

// Scores splits a score by signal.
type Scores struct {
	Words   float64 `json:"words" doc:"Words that the question and the memory share."`
	Passage float64 `json:"passage" doc:"The best passage of it."`
	Around  float64 `json:"around" doc:"Memories stored around it."`
	Session float64 `json:"session" doc:"Its session."`
	Vector  float64 `json:"vector" doc:"Similarity of the vectors."`
	Graph   float64 `json:"graph" doc:"Relations of what the question names."`
	Worth   float64 `json:"worth" doc:"Its freshness, importance and trust; less than 0 where it is trusted too little."`
}

// Factors holds the factors by which relevance was multiplied: recency and decay.
type Factors struct {
	Fresh      float64 `json:"fresh" doc:"Freshness factor, from 0 to 1."`
	Importance float64 `json:"importance" doc:"Factor of its importance."`
	Trust      float64 `json:"trust" doc:"Factor of its trust: 1 for an operator and an agent, 0.9 for a tool, 0.81 for the web."`
	Recency    float64 `json:"recency" doc:"Recency factor, from 0 to 1."`
	Decay      float64 `json:"decay" doc:"Decay factor, from 0 (faded) to 1."`
}

// Parts holds the components of the relevance.
type Parts struct {
	Words     float64 `json:"words" doc:"Part of the score from the words."`
	Passage   float64 `json:"passage" doc:"Part of the score from the memories around it, read as one text."`
	Around    float64 `json:"around" doc:"Part of the score from memories stored around it."`
	Session   float64 `json:"session" doc:"Part of the score from its session."`
	Factor    float64 `json:"factor" doc:"Factor on the match of words, from speaker, date, time, kind and length of text."`
	Speaker   bool    `json:"speaker" doc:"Whether the question names who said it."`
	Date      float64 `json:"date" doc:"Part of the score from a date in the question."`
	When      bool    `json:"when" doc:"Whether the question asks for a time and the memory has one."`
	Vector    float64 `json:"vector" doc:"Part of the score from the vector."`
	Lift      float64 `json:"lift" doc:"Added when the match of its vector, or of a neighbour's, is stronger than chance and shared words explain."`
	Graph     float64 `json:"graph" doc:"Part of the score from relations."`
	Relevance float64 `json:"relevance" doc:"All parts together, before the factors."`
	Alike     float64 `json:"alike" doc:"Similarity to a better row of the answer, from 0 to 1."`
}

// A Hint suggests a better question.
type Hint struct {
	Type       string   `json:"hint_type" doc:"Kind of hint."`
	Suggestion string   `json:"suggestion" doc:"The advice."`
	Related    []string `json:"related_entities" doc:"Known names to choose from."`
}
