package api

import (
	"encoding/json"
	"strings"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// Sessions, and memories that were stored at about the same time.
var (
	StartSession = row[StartSessionRequest, StartedSession](Op{Name: "session_start", Bound: Single,
		Does:  "Open a session; its namespace's memories join it.",
		Scope: Write, Writes: true, HTTP: "POST /v1/sessions", Wire: wire.OpSessionStart})
	EndSession = row[EndSessionRequest, EndedSession](Op{Name: "session_end", Bound: Narrowed, Does: "Close a session.",
		Scope: Write, Writes: true, HTTP: "DELETE /v1/sessions/{id}", Missing: "session_not_found", Wire: wire.OpSessionEnd})
	SessionHistory = row[SessionHistoryRequest, SessionAndMemories](Op{Name: "session", Bound: Narrowed,
		Does:  "A session and its memories, in order.",
		Scope: Read, HTTP: "GET /v1/sessions/{id}", Missing: "session_not_found"})
	Sessions = row[SessionsRequest, SessionList](Op{Name: "sessions", Bound: Narrowed, Does: "Sessions, newest first.",
		Scope: Read, HTTP: "GET /v1/sessions"})
	DraftSummary = row[DraftSummaryRequest, Drafted](Op{Name: "session_draft", Bound: Single,
		Does:  "Store a session's summary, as one memory for each statement.",
		Scope: Write, Writes: true, HTTP: "POST /v1/session/end",
		Adds: func(request any) int { return len(request.(*DraftSummaryRequest).Statements()) }})
)

type StartSessionRequest struct {
	Namespace string          `json:"namespace" doc:"Memories of this namespace join the session; blank for default."`
	Client    string          `json:"client_id" doc:"The client that opens the session. A client has one active session in a namespace."`
	Metadata  json.RawMessage `json:"metadata" doc:"The client's own data for the session." default:"{}"`
	ID        string          `json:"session_id" names:"-" doc:"The session's id; generated when it is omitted."`
}

type StartedSession struct {
	ID    string      `json:"session_id" doc:"The session's id."`
	Index oplog.Index `json:"-"`
}

type EndSessionRequest struct {
	ID      string `json:"id" names:"session" in:"path" doc:"The session's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e15"`
	Summary string `json:"summary" doc:"A summary of the session, for later readers."`
}

type EndedSession struct {
	ID       string   `json:"session_id" doc:"The session's id."`
	Duration float64  `json:"duration_secs" doc:"Duration in seconds."`
	Memories uint64   `json:"memory_count" doc:"Number of memories in the session."`
	Topics   []string `json:"topics" doc:"The entities that its memories name most."`

	Index oplog.Index `json:"-"`
}

type SessionHistoryRequest struct {
	ID     string `json:"id" names:"session" in:"path" doc:"The session's id." example:"0190a3c2-7d5e-7c1a-9b1e-2f4d6a8c0e15"`
	Limit  int    `json:"limit" is:"integer[0..]" doc:"Most memories to return." default:"100"`
	Offset int    `json:"offset" is:"integer[0..]" doc:"Number of memories to skip."`
	Fresh
}

type SessionAndMemories struct {
	Session
	List []Memory `json:"memories" doc:"Its memories, the oldest first."`
	Next *int     `json:"next_offset,omitempty" doc:"Pass it as offset to get the next page; absent at the end."`
}

type SessionsRequest struct {
	Namespace string  `json:"namespace" doc:"Only sessions of this namespace; blank for all."`
	Client    *string `json:"client_id" doc:"Only the sessions of this client."`
	Active    bool    `json:"active" doc:"Only sessions that have not ended."`
	Limit     int     `json:"limit" is:"integer[0..]" doc:"Most sessions to return." default:"50"`
	Fresh
}

type SessionList struct {
	Sessions []Session `json:"sessions" doc:"The newest first."`
	Count    int       `json:"count" doc:"Number of rows in this answer."`
	Bounded
}

type DraftSummaryRequest struct {
	Summary   string `json:"summary" is:"string!" doc:"A text of what happened: each line, and each sentence of a line, becomes a memory." example:"Alice leads payments. The deploy moved to Monday."`
	Namespace string `json:"namespace" doc:"Namespace of the memories; blank for default."`
	Domain    string `json:"domain" doc:"The domain that the memories get."`
}

// maxDrafted bounds the memories that are made of one summary.
const maxDrafted = 200

// Statements returns the sentences of each line of the summary.
func (q *DraftSummaryRequest) Statements() (list []string) {
	for line := range strings.Lines(q.Summary) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-*• \t")
		for line != "" && len(list) < maxDrafted {
			end := len(line)
			if i := strings.Index(line, ". "); i > 0 {
				end = i + 1
			}
			if s := strings.TrimSpace(line[:end]); s != "" {
				list = append(list, s)
			}
			line = strings.TrimSpace(line[end:])
		}
	}
	return list
}

type Drafted struct {
	RIDs     []string `json:"drafted" doc:"The ids of the memories."`
	Count    int      `json:"count" doc:"Number of memories stored."`
	Redacted []string `json:"redacted,omitempty" doc:"Kinds of secrets removed before storing, such as github or email; absent when there were none."`
}

// A Session is a period of a client's work.
type Session struct {
	ID        string   `json:"session_id" doc:"The session's id."`
	Namespace string   `json:"namespace" doc:"The namespace whose memories join the session."`
	Client    string   `json:"client_id" doc:"The client that opened the session."`
	Started   float64  `json:"started_at" is:"time" doc:"When it began, in Unix seconds."`
	Ended     *float64 `json:"ended_at" is:"time" doc:"When it ended, in Unix seconds; null while it is active."`
	Status    string   `json:"status" is:"string{active,ended,abandoned,implicit}" doc:"Its status."`
	Summary   string   `json:"summary" doc:"The summary that its client gave at the end."`
	Memories  uint64   `json:"memory_count" doc:"Number of memories in the session."`
	Topics    []string `json:"topics" doc:"The entities that its memories name most."`
}
