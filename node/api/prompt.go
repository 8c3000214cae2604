package api

import (
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

// Memories as a block for a prompt.
var (
	Prompt = row[PromptRequest, PromptAnswer](Op{Name: "context", Bound: Narrowed, Scope: Read, HTTP: "POST /v1/context",
		Cost: func(request any) int { return max(1, len(request.(*PromptRequest).Namespaces)) },
		Does: "What is known about something, as one block of text for a prompt, within a budget of tokens: one memory per line, the best first. Long memories are cut to their best passage, repetitions are left out, and " +
			"the answer names what was left out, with the reason. The block quotes its memories, so that nothing in them reads as an instruction.",
		Tool: &Tool{Name: "context", Title: "Context for a prompt", ReadOnly: true, Idempotent: true,
			Text: "What is known about something, as one text within a budget of tokens. Use it instead of recall when you want many texts and no scores. " + QuotedData}})
	PackContext = row[PackContextRequest, PackContextAnswer](Op{Name: "pack_context", Bound: Narrowed,
		Does:  "The same block, about the newest memories when there is no question, in the form that SDKs of YantrikDB expect.",
		Scope: Read, HTTP: "GET /v1/pack-context"})
)

type PromptRequest struct {
	Text       string    `json:"query" tool:"text,q" doc:"What the prompt is about: a question or a few words. Blank: the newest memories." example:"How are releases made?"`
	Budget     int       `json:"max_tokens" is:"integer[1..]" default:"1000" doc:"Most tokens of the block, including the lines around the memories, up to 100,000. The best memory is always included, with up to 64 tokens."`
	Namespaces []string  `json:"namespaces" doc:"Only memories of these namespaces, 16 at most. Default: the whole database."`
	Filter     field.Map `json:"filter" doc:"Only memories that pass it: attributes with their values, or with operators (eq ne in nin gt gte lt lte exists contains icontains prefix); and, or, not." example:"{\"project\":\"atlas\",\"priority\":{\"gte\":2}}"`
	Letters    float64   `json:"chars_per_token" core:"-" is:"number[0..]" doc:"Letters per token of your model, on average, from 0.1 to 100. 0: estimated from the writing system, within a tenth of cl100k."`
	MinScore   float64   `json:"min_score" core:"-" is:"number[0..]" default:"0.01" doc:"Leave out memories less likely than this to answer the question."`
	Quiet      bool      `json:"skip_reinforce" core:"-" doc:"Do not strengthen the memories that are found."`
	Superseded bool      `json:"include_superseded" core:"-" doc:"Also memories whose subject now has another value of the same relation."`
	Fresh
}

type PromptAnswer struct {
	Text     string         `json:"context" doc:"The block; blank when nothing is known."`
	Tokens   int            `json:"tokens" doc:"Estimated number of its tokens."`
	Memories []PromptMemory `json:"memories" doc:"The memories in it, in its order."`
	Left     []PromptLeft   `json:"left_out" doc:"Matches that are not in it, best first."`
	Index    oplog.Index    `json:"index" doc:"Log index that the answer reflects."`
	Lag      *float64       `json:"lag_seconds" doc:"Seconds that this node is behind the leader; null while it hears none."`
}

// A PromptMemory is a memory in a block.
type PromptMemory struct {
	RID       string  `json:"rid" is:"rid" doc:"The memory's id."`
	Short     string  `json:"id" doc:"Its id in the block."`
	Namespace string  `json:"namespace" doc:"Its namespace."`
	Score     float64 `json:"score" doc:"Probability that it answers the question, from 0 to 1; 0 without a question."`
	Tokens    int     `json:"tokens" doc:"Tokens of its line."`
	Cut       bool    `json:"cut" doc:"Whether only its best passage is in the block."`
}

// A PromptLeft is a match that is not in the block.
type PromptLeft struct {
	RID    string `json:"rid" is:"rid" doc:"The memory's id."`
	Reason string `json:"reason" doc:"budget, or the id in the block of the memory that it repeats or resembles."`
}

type PackContextRequest struct {
	Text   string `json:"query" doc:"What the prompt is about; blank: the newest memories."`
	Budget int    `json:"max_tokens" is:"integer[1..]" default:"1000" doc:"Most tokens of the block, up to 100,000."`
	Fresh
}

type PackContextAnswer struct {
	Context  *string  `json:"pack_context" doc:"The block; null when nothing is known."`
	Pending  []string `json:"packs_pending" doc:"Always empty: there are no packs here."`
	Poisoned []string `json:"packs_poisoned" doc:"Always empty."`
}

// The bounds of a block.
const (
	PromptScore         = .01 // default of min_score
	MaxPromptTokens     = 100_000
	MaxPromptNamespaces = 16
)
