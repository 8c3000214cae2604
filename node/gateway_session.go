package node

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

var sessionRoutes = []route{
	{name: "session_start", method: "POST", path: "/v1/sessions", scope: Write, write: true, handle: httpStartSession, summary: "Open a session; its namespace's memories join it",
		body: "namespace:string client_id:string metadata:any session_id:string", result: "session_id:string!"},
	{name: "session_end", method: "DELETE", path: "/v1/sessions/{id}", scope: Write, write: true, handle: httpEndSession, summary: "Close a session", body: "summary:string",
		result: "session_id:string! duration_secs:number! memory_count:integer! topics:[]string!"},
	{name: "session", method: "GET", path: "/v1/sessions/{id}", scope: Read, handle: httpSession, summary: "A session and its memories, in order", query: "limit:integer[0..] offset:integer[0..]",
		result: "session_id:string! namespace:string! client_id:string! started_at:number! ended_at:number? status:string! summary:string! memory_count:integer! topics:[]string! memories:[]Memory!"},
	{name: "sessions", method: "GET", path: "/v1/sessions", scope: Read, handle: httpSessions, summary: "The sessions of a namespace, newest first",
		query: "namespace:string client_id:string active:boolean limit:integer[0..]", result: "sessions:[]Session! count:integer!"},
	{name: "session_draft", method: "POST", path: "/v1/session/end", scope: Write, write: true, handle: httpDraftSummary, summary: "Store a session's summary, a memory a statement",
		body: "summary:string! namespace:string domain:string", result: "drafted:[]string! count:integer!"},
}

func httpStartSession(g *gateway, q *request) (any, error) {
	op := oplog.SessionStart{ID: q.body.str("session_id", ""), Namespace: blank(q.body.str("namespace", "")), Client: q.body.str("client_id", ""), Metadata: q.body.object("metadata", "{}")}
	id, _, err := g.s.StartSession(q.r.Context(), q.c, op)
	if errors.Is(err, &oplog.Error{Kind: oplog.Conflict}) {
		return nil, &statusError{status: http.StatusConflict, code: "conflict", err: err, more: map[string]any{"session_id": g.s.activeSession(q.r.Context(), q.c, op)}}
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"session_id": id}, nil
}

// activeSession is the one in the way of another; nil when it has ended in the meantime.
func (s *Service) activeSession(ctx context.Context, c Caller, op oplog.SessionStart) any {
	rows, err := s.Sessions(ctx, c, SessionQuery{Namespace: op.Namespace, Client: &op.Client, Active: true, Limit: 1}, Stale)
	if err != nil || len(rows) == 0 {
		return nil
	}
	return rows[0].ID
}

func httpSessions(g *gateway, q *request) (any, error) {
	sq := SessionQuery{Namespace: blank(q.param("namespace")), Active: q.param("active") == "true" || q.param("active") == "1", Limit: q.count("limit", defaultList)}
	if q.r.URL.Query().Has("client_id") {
		client := q.param("client_id")
		sq.Client = &client
	}
	list, err := g.s.Sessions(q.r.Context(), q.c, sq, Stale)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]any, len(list))
	for i := range list {
		rows[i] = sessionRow(&list[i])
	}
	return map[string]any{"sessions": rows, "count": len(rows)}, nil
}

var sessionStatuses = map[oplog.SessionStatus]string{oplog.SessionActive: "active", oplog.SessionEnded: "ended", oplog.SessionAbandoned: "abandoned", oplog.SessionImplicit: "implicit"}

func sessionRow(s *oplog.Session) map[string]any {
	return map[string]any{"session_id": s.ID, "namespace": s.Namespace, "client_id": s.Client, "started_at": s.Started.Seconds(), "ended_at": when(s.Ended),
		"status": sessionStatuses[s.Status], "summary": s.Summary, "memory_count": s.Memories, "topics": orEmpty(s.Topics)}
}

func httpEndSession(g *gateway, q *request) (any, error) {
	s, _, err := g.s.EndSession(q.r.Context(), q.c, q.r.PathValue("id"), q.body.str("summary", ""))
	if err != nil {
		return nil, named(err, "session_not_found")
	}
	return map[string]any{"session_id": s.ID, "duration_secs": (s.Ended - s.Started).Seconds(), "memory_count": s.Memories, "topics": orEmpty(s.Topics)}, nil
}

func httpSession(g *gateway, q *request) (any, error) {
	x, list, err := g.s.SessionHistory(q.r.Context(), q.c, q.r.PathValue("id"), q.count("offset", 0), max(q.count("limit", 100), 1), Stale)
	if err != nil {
		return nil, named(err, "session_not_found")
	}
	row := sessionRow(&x)
	row["memories"] = rows(list)
	return row, nil
}

// maxDrafted bounds the memories one summary becomes.
const maxDrafted = 200

// httpDraftSummary keeps each line of a summary, and each sentence of a line, as a memory of its own.
func httpDraftSummary(g *gateway, q *request) (any, error) {
	summary, err := q.body.must("summary")
	if err != nil {
		return nil, err
	}
	var drafts []Draft
	for _, text := range statements(summary) {
		drafts = append(drafts, Draft{Text: text, Type: "episodic", Importance: 0.5, HalfLife: hours(defaultHalfLife), Certainty: 1,
			Namespace: blank(q.body.str("namespace", "")), Domain: q.body.str("domain", ""), Source: "session_summary", Metadata: []byte("{}")})
		if len(drafts) == maxDrafted {
			break
		}
	}
	r, err := g.s.Remember(q.r.Context(), q.c, "", drafts...)
	if err != nil {
		return nil, quota(err)
	}
	if r.RIDs == nil {
		r.RIDs = []string{}
	}
	return map[string]any{"drafted": r.RIDs, "count": len(r.RIDs)}, nil
}

// statements splits prose into sentences and lists into their items.
func statements(text string) (list []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimLeft(strings.TrimSpace(line), "-*• \t")
		for line != "" {
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
