package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Recall.
var (
	Recall = row[RecallRequest, Recalled](Op{Name: "recall", Scope: Read, Early: true, Asked: true, HTTP: "POST /v1/recall", Wire: wire.OpRecall,
		Does: "Find memories by words, meaning, relation and time; as an event stream when the client accepts one. Only what matches the question is returned, and nothing that scores less than min_score: " +
			"considered and below_min_score say how many were looked at and left out.",
		Tool: &Tool{Name: "recall", Title: "Recall", ReadOnly: true, Idempotent: true,
			Text: "Find what is known about something: memories by words, meaning, relation and time, best first, each with a score and why it was found. Nothing that does not match is returned; min_score leaves out weak matches too. " +
				"Use it at the start of a task, and before you answer anything about the user, the project or earlier work. " + QuotedData}})
	RecallAsOf = row[RecallAsOfRequest, Recalled](Op{Name: "recall_as_of", Does: "Recall the memories as they were at a date.", Scope: Read, HTTP: "POST /v1/temporal/as_of"})
)

// A Question is the query of a recall.
type Question struct {
	Text         string       `json:"query" tool:"text,q" is:"string!" doc:"What to look for: a question or a few words. Blank lists the newest." example:"What does Ada drink?"`
	K            int          `json:"top_k" tool:"limit,k" is:"integer[0..]" default:"10" doc:"Most memories to return, up to 1,000."`
	Type         string       `json:"memory_type" doc:"Only memories of this kind."`
	Namespace    string       `json:"namespace" doc:"Only memories of this namespace; blank for all."`
	Domain       string       `json:"domain" doc:"Only memories of this domain."`
	Source       string       `json:"source" doc:"Only memories of this source."`
	Session      string       `json:"session_id" tool:"-" doc:"Only memories of this session."`
	Consolidated bool         `json:"include_consolidated" doc:"Also memories that were merged into others."`
	_            bool         `idle:"include_superseded" tool:"-"`
	Expand       bool         `json:"expand_entities" default:"true" doc:"Follow relations of what the question names."`
	Embedding    field.Vector `json:"query_embedding" tool:"-" doc:"The question's vector, of the database's dimension; made by the database's embedder when it is left out."`
	Window       field.Window `json:"time_window" doc:"Only memories created between two dates."`
	Quiet        bool         `json:"skip_reinforce" doc:"Do not strengthen the memories that are found."`
	Without      []string     `json:"without" tool:"-" doc:"Signals to switch off, such as vector, graph or rerank."`
	Diverse      bool         `json:"diverse" tool:"-" doc:"Leave out memories that nearly repeat a better one."`
	MinScore     float64      `json:"min_score" is:"number[0..]" default:"0.003" doc:"Leave out memories that are less likely to answer. 0 leaves out none that match."`

	Types []string `json:"-"` // more kinds than one
	Bare  bool     `json:"-"` // rows come as Recalled.Pages, for a surface that sends them one by one
}

type RecallRequest struct {
	Question
	Explain bool       `json:"explain" tool:"-" doc:"Return the parts of each score."`
	AsOf    field.Date `json:"as_of" doc:"Answer with the memories as they were at this date."`
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
	Total      int         `json:"total" doc:"Number of rows in this answer."`
	Fallback   *string     `json:"fallback" doc:"Always null."`
	Confidence float64     `json:"confidence" doc:"Confidence in the answer as a whole, from 0 to 1."`
	Hints      []Hint      `json:"hints" doc:"Hints for a better question, when confidence is low."`
	Index      oplog.Index `json:"index" doc:"Log index that the answer reflects."`
	Lag        *float64    `json:"lag_seconds" doc:"Seconds that this node is behind the leader; null while it hears none."`
	Considered int         `json:"considered" doc:"Number of memories examined."`
	Below      int         `json:"below_min_score" doc:"Number of matches that scored less than min_score."`
	Left       int         `json:"left_out,omitempty" doc:"Number of further rows that were left out because the answer has 16 MiB of memories already. Ask for fewer rows, or for an event stream."`

	Pages func(yield func([]Result, error) bool) `json:"-"` // of a bare answer: its rows, read while they are sent
}

// Explained adds the parts of the score to each result of a request with explain.
type Explained struct {
	Emotion *string `json:"emotional_state" doc:"The emotion that it was stored with."`
	Session string  `json:"session_id" doc:"The session that it joined; blank for none."`
	Status  string  `json:"status" doc:"Whether it is active, consolidated or tombstoned."`
	Shares  Scores  `json:"scores" doc:"Parts of the score by signal; they add up to it."`
	Factors Factors `json:"factors" doc:"The factors that the relevance was multiplied with."`
	Parts   Parts   `json:"parts" doc:"The parts of the relevance."`

	Against  []string  `json:"conflicts_with,omitempty" doc:"The memories that it contradicts, by open conflicts."`
	Reranked *Reranked `json:"reranked,omitempty" doc:"The reranker's score and the place before it; absent when no reranker ran."`
}

// Reranked holds the reranker's score of a result and its place before.
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
	Vector  float64 `json:"vector" doc:"Nearness of vectors."`
	Graph   float64 `json:"graph" doc:"Relations of what the question names."`
	Worth   float64 `json:"worth" doc:"Its freshness and importance."`
}

// Factors are the factors that relevance was multiplied with, recency and decay.
type Factors struct {
	Fresh      float64 `json:"fresh" doc:"Freshness factor, from 0 to 1."`
	Importance float64 `json:"importance" doc:"Factor of its importance."`
	Recency    float64 `json:"recency" doc:"Recency factor, from 0 to 1."`
	Decay      float64 `json:"decay" doc:"Decay factor, from 0 (faded) to 1."`
}

// Parts holds the parts of the relevance.
type Parts struct {
	Words     float64 `json:"words" doc:"Part of the score from the words."`
	Passage   float64 `json:"passage" doc:"Part of the score from the memories around it, read as one text."`
	Around    float64 `json:"around" doc:"Part of the score from memories stored around it."`
	Session   float64 `json:"session" doc:"Part of the score from its session."`
	Factor    float64 `json:"factor" doc:"Factor of the words' match: speaker, date, time, kind and length of text."`
	Speaker   bool    `json:"speaker" doc:"Whether the question names who said it."`
	Date      float64 `json:"date" doc:"Part of the score from a date in the question."`
	When      bool    `json:"when" doc:"Whether the question asks for a time and the memory holds one."`
	Vector    float64 `json:"vector" doc:"Part of the score from the vector."`
	Lift      float64 `json:"lift" doc:"Added when the match of its vector, or of a neighbour's, is stronger than chance and shared words explain."`
	Graph     float64 `json:"graph" doc:"Part of the score from relations."`
	Relevance float64 `json:"relevance" doc:"All parts together, before the factors."`
	Alike     float64 `json:"alike" doc:"Likeness to a better row of the answer, from 0 to 1."`
}

// A Hint says how to ask better.
type Hint struct {
	Type       string   `json:"hint_type" doc:"Kind of hint."`
	Suggestion string   `json:"suggestion" doc:"The advice."`
	Related    []string `json:"related_entities" doc:"Known names to choose from."`
}
