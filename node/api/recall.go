package api

import (
	"encoding/json"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
	"github.com/cairndb/cairn/wire/field"
)

// Recall.
var (
	Recall = row[RecallRequest, Recalled](Op{Name: "recall", Scope: Read, HTTP: "POST /v1/recall", Wire: wire.OpRecall,
		Does: "Find memories by words, meaning, relation and time; as an event stream when the client accepts one. Only what matches the question is returned, and nothing that scores less than min_score: " +
			"considered and below_min_score say how many were looked at and left out.",
		Tool: &Tool{Name: "recall", Title: "Recall", ReadOnly: true, Idempotent: true,
			Text: "Find what is known about something: memories by words, meaning, relation and time, best first, each with a score and why it was found. Nothing that does not match is returned; min_score leaves out weak matches too. " +
				"Use it at the start of a task, and before you answer anything about the user, the project or earlier work."}})
	RecallAsOf = row[RecallAsOfRequest, Recalled](Op{Name: "recall_as_of", Does: "Find what was believed at a date.", Scope: Read, HTTP: "POST /v1/temporal/as_of"})
)

// A Question is what a recall asks.
type Question struct {
	Text         string       `json:"query" tool:"text,q" is:"string!" doc:"What to look for: a question or a few words. Blank lists the newest." example:"What does Ada drink?"`
	K            int          `json:"top_k" tool:"limit,k" is:"integer[0..]" default:"10" doc:"At most so many memories, up to 1,000."`
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
	Quiet        bool         `json:"skip_reinforce" doc:"Do not count what is found as used."`
	Without      []string     `json:"without" tool:"-" doc:"Signals that are not to count, such as vector or graph."`
	Diverse      bool         `json:"diverse" tool:"-" doc:"Leave out what nearly repeats something better."`
	MinScore     float64      `json:"min_score" is:"number[0..]" doc:"Leave out what scores less."`

	Types []string `json:"-"` // more kinds than one
	Bare  bool     `json:"-"` // rows come as Recalled.Pages, for a surface that sends them one by one
}

type RecallRequest struct {
	Question
	Explain bool       `json:"explain" tool:"-" doc:"Say how each score came about."`
	AsOf    field.Date `json:"as_of" doc:"What was believed at this date."`
	Fresh
}

type RecallAsOfRequest struct {
	Question
	Explain bool       `json:"explain" doc:"Say how each score came about."`
	AsOf    field.Date `json:"as_of" also:"at,timestamp" is:"date!" doc:"The date whose beliefs are wanted."`
	Fresh
}

// Recalled is what a recall found.
type Recalled struct {
	Results    []Result    `json:"results" doc:"The best first."`
	Total      int         `json:"total" doc:"How many are returned."`
	Fallback   *string     `json:"fallback" doc:"Always null."`
	Confidence float64     `json:"confidence" doc:"How much the answer is to be trusted, from 0 to 1."`
	Hints      []Hint      `json:"hints" doc:"How to ask better, when it is not."`
	Index      oplog.Index `json:"index" doc:"The answer reflects the log up to here."`
	Lag        *float64    `json:"lag_seconds" doc:"How many seconds this node is behind the leader; null while it hears of none."`
	Considered int         `json:"considered" doc:"How many memories were looked at."`
	Below      int         `json:"below_min_score" doc:"How many matched and scored less than min_score."`

	Pages func(yield func([]Result, error) bool) `json:"-"` // of a bare answer: its rows, read while they are sent
}

// A Result is a memory that was found. It has exactly these keys, for clients that take it for a record's arguments.
type Result struct {
	RID        string          `json:"rid" doc:"The memory's id."`
	Text       string          `json:"text" doc:"What it says."`
	Type       string          `json:"memory_type" doc:"What kind of memory it is."`
	Score      float64         `json:"score" doc:"How well it answers the question; 0 where nothing is asked."`
	Importance float64         `json:"importance" doc:"How much it matters, from 0 to 1."`
	Created    float64         `json:"created_at" doc:"When what it says was so, in Unix seconds."`
	Why        []string        `json:"why_retrieved" doc:"Why it was found."`
	Metadata   json.RawMessage `json:"metadata" doc:"What its client keeps beside it."`
	Namespace  string          `json:"namespace" doc:"Where in the database it is."`
	Domain     string          `json:"domain" doc:"What it is about."`
	Source     string          `json:"source" doc:"Where it comes from."`
	Certainty  float64         `json:"certainty" doc:"How sure it is, from 0 to 1."`
	Valence    float64         `json:"valence" doc:"How good or bad it is, from -1 to 1."`
	*Explained
}

// Explained is what those get beside a result who ask how its score came about.
type Explained struct {
	Emotion *string `json:"emotional_state" doc:"The feeling that it was stored with."`
	Session string  `json:"session_id" doc:"The session that it joined; blank for none."`
	Status  string  `json:"status" doc:"Whether it is active, consolidated or tombstoned."`
	Shares  Scores  `json:"scores" doc:"What each signal brought: they add up to the score."`
	Factors Factors `json:"factors" doc:"What relevance was multiplied by."`
	Parts   Parts   `json:"parts" doc:"What relevance was computed from."`
}

// Scores are how much of a score each signal brought.
type Scores struct {
	Words   float64 `json:"words" doc:"Words that stand in question and memory."`
	Passage float64 `json:"passage" doc:"The best passage of it."`
	Around  float64 `json:"around" doc:"Memories stored around it."`
	Session float64 `json:"session" doc:"Its session."`
	Vector  float64 `json:"vector" doc:"Nearness of vectors."`
	Graph   float64 `json:"graph" doc:"Relations of what the question names."`
}

// Factors are what relevance was multiplied by, and how far the memory had faded.
type Factors struct {
	Fresh      float64 `json:"fresh" doc:"How new it is."`
	Importance float64 `json:"importance" doc:"How much it matters."`
	Valence    float64 `json:"valence" doc:"How good or bad it is."`
	Recency    float64 `json:"recency" doc:"How lately it was used."`
	Decay      float64 `json:"decay" doc:"How far it has faded."`
}

// Parts are what relevance was computed from.
type Parts struct {
	Words     float64 `json:"words" doc:"The words' part."`
	Passage   float64 `json:"passage" doc:"The best passage's part."`
	Around    float64 `json:"around" doc:"The part of memories stored around it."`
	Session   float64 `json:"session" doc:"Its session's part."`
	Factor    float64 `json:"factor" doc:"What the words were multiplied by."`
	Speaker   bool    `json:"speaker" doc:"Whether the question names who said it."`
	Date      float64 `json:"date" doc:"The part of a date in the question."`
	Vector    float64 `json:"vector" doc:"The vector's part."`
	WordsZ    float64 `json:"words_z" doc:"How far the words stand out of all candidates'."`
	VectorZ   float64 `json:"vector_z" doc:"How far the vector stands out of all candidates'."`
	Graph     float64 `json:"graph" doc:"The relations' part."`
	Relevance float64 `json:"relevance" doc:"All of it."`
	Alike     float64 `json:"alike" doc:"How much it repeats something better."`
}

// A Hint says how to ask better.
type Hint struct {
	Type       string   `json:"hint_type" doc:"What kind of advice it is."`
	Suggestion string   `json:"suggestion" doc:"The advice."`
	Related    []string `json:"related_entities" doc:"Names that the memories know."`
}
