package node

import (
	"errors"
	"net/http"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

var sessionRoutes = []route{
	{name: "session_start", method: "POST", path: "/v1/sessions", scope: Write, write: true, handle: httpStartSession, summary: "Open a session; its namespace's memories join it",
		body: "namespace:string client_id:string metadata:object session_id:string", result: "session_id:string!"},
	{name: "session_end", method: "DELETE", path: "/v1/sessions/{id}", scope: Write, write: true, handle: httpEndSession, summary: "Close a session", body: "summary:string",
		result: "session_id:string! duration_secs:number! memory_count:integer! topics:array!"},
	{name: "session", method: "GET", path: "/v1/sessions/{id}", scope: Read, handle: httpSession, summary: "A session and its memories, in order", query: "limit:integer",
		result: "session_id:string! namespace:string! client_id:string! started_at:number! ended_at:number? summary:string! memory_count:integer! memories:array!"},
	{name: "session_draft", method: "POST", path: "/v1/session/end", scope: Write, write: true, handle: httpDraftSummary, summary: "Store a session's summary, a memory a statement",
		body: "summary:string! namespace:string domain:string", result: "drafted:array! count:integer!"},
}

func httpStartSession(g *gateway, q *request) (any, error) {
	op := oplog.SessionStart{ID: q.body.str("session_id", ""), Namespace: blank(q.body.str("namespace", "")), Client: q.body.str("client_id", ""), Metadata: q.body.object("metadata", "{}")}
	id, _, err := g.s.StartSession(q.r.Context(), q.c, op)
	var e *oplog.Error
	if errors.As(err, &e) && e.Kind == oplog.Conflict {
		return nil, &statusError{http.StatusConflict, "conflict", &oplog.Error{Kind: oplog.Conflict, Text: strings.TrimSpace(e.Text)}}
	}
	if err != nil {
		return nil, err
	}
	return map[string]any{"session_id": id}, nil
}

func httpEndSession(g *gateway, q *request) (any, error) {
	s, _, err := g.s.EndSession(q.r.Context(), q.c, q.r.PathValue("id"), q.body.str("summary", ""))
	if err != nil {
		return nil, named(err, "session_not_found")
	}
	topics := s.Topics
	if topics == nil {
		topics = []string{}
	}
	return map[string]any{"session_id": s.ID, "duration_secs": (s.Ended - s.Started).Seconds(), "memory_count": s.Memories, "topics": topics}, nil
}

func httpSession(g *gateway, q *request) (any, error) {
	id, limit := q.r.PathValue("id"), min(max(q.count("limit", 100), 1), 1000)
	var row map[string]any
	err := g.s.read(q.r.Context(), q.c, Stale, func(v *oplog.View) error {
		s, ok := v.Session(q.c.DB, id)
		if !ok {
			return oplog.Errorf(oplog.NotFound, "session %s not found", id)
		}
		memories := []any{}
		v.SessionMemories(q.c.DB, id, func(m *oplog.Memory) bool {
			if m.Status == oplog.Active {
				memories = append(memories, memoryRow(m))
			}
			return len(memories) < limit
		})
		row = map[string]any{"session_id": s.ID, "namespace": s.Namespace, "client_id": s.Client, "started_at": s.Started.Seconds(),
			"ended_at": nil, "summary": s.Summary, "memory_count": s.Memories, "memories": memories}
		if s.Ended != 0 {
			row["ended_at"] = s.Ended.Seconds()
		}
		return nil
	})
	return row, named(err, "session_not_found")
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
