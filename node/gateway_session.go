package node

import (
	"errors"
	"net/http"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

var sessionRoutes = []route{
	{method: "POST", path: "/v1/sessions", scope: Write, write: true, handle: httpStartSession, summary: "Open a session", body: "namespace:string client_id:string metadata:object session_id:string"},
	{method: "DELETE", path: "/v1/sessions/{id}", scope: Write, write: true, handle: httpEndSession, summary: "Close a session", body: "summary:string"},
	{method: "GET", path: "/v1/sessions/{id}", scope: Read, handle: httpSession, summary: "A session and its memories, in order", query: "limit:integer"},
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
