package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

const draftFields = "text:string! memory_type:string importance:number valence:number half_life:number metadata:object namespace:string " +
	"certainty:number domain:string source:string emotional_state:string embedding:array session_id:string"

var memoryRoutes = []route{
	{method: "POST", path: "/v1/remember", scope: Write, write: true, handle: httpRemember, summary: "Store a memory; half_life is in hours",
		body: draftFields + " idempotency_key:string"},
	{method: "POST", path: "/v1/remember/batch", scope: Write, write: true, handle: httpRememberBatch, summary: "Store memories, all or none",
		body: "memories:array! idempotency_key:string"},
	{method: "POST", path: "/v1/recall", scope: Read, handle: httpRecall, summary: "Find memories by words, meaning, relation and time; as an event stream when the client accepts one",
		body: "query:string! top_k:integer memory_type:string namespace:string domain:string source:string include_consolidated:boolean " +
			"expand_entities:boolean query_embedding:array time_window:array min_score:number explain:boolean min_index:integer consistency:string"},
	{method: "POST", path: "/v1/forget", scope: Write, write: true, handle: httpForget, summary: "Make a memory invisible", body: "rid:string!"},
	{method: "POST", path: "/v1/correct", scope: Write, write: true, handle: httpCorrect, summary: "Change a memory in place; what it was is kept",
		body: "rid:string! reason:string! new_text:string new_importance:number new_valence:number metadata_merge:object embedding:array"},
	{method: "GET", path: "/v1/memory/{rid}", scope: Read, handle: httpMemory, summary: "One memory, whatever its status", query: "min_seq:integer"},
	{method: "GET", path: "/v1/memory/{rid}/revisions", scope: Read, handle: httpRevisions, summary: "What a memory was before each correction"},
	{method: "GET", path: "/v1/memories", scope: Read, handle: httpMemories, summary: "Memories, newest first",
		query: "namespace:string domain:string memory_type:string limit:integer offset:integer"},
}

const defaultHalfLife = 168 // hours

// asUnavailable says whether an error is one of waiting in vain.
func asUnavailable(err error, e **oplog.Error) bool {
	return errors.As(err, e) && (*e).Kind == oplog.Unavailable
}

func httpDraft(f fields) (Draft, error) {
	text, err := f.must("text")
	if err != nil {
		return Draft{}, err
	}
	return Draft{Text: text, Type: f.str("memory_type", "semantic"), Importance: f.num("importance", 0.5), Valence: f.num("valence", 0),
		HalfLife: hours(f.num("half_life", defaultHalfLife)), Metadata: f.object("metadata", "{}"), Namespace: strings.TrimSpace(f.str("namespace", "")),
		Certainty: f.num("certainty", 1), Domain: f.str("domain", ""), Source: f.str("source", "user"), Emotion: f.str("emotional_state", ""),
		Session: f.str("session_id", ""), Created: seconds(f.num("created_at", 0)), Due: seconds(f.num("due_at", 0)),
		TemporalKind: f.str("temporal_kind", ""), Vector: f.vector("embedding")}, nil
}

// idempotency is a request's key, checked.
func idempotency(f fields) (string, error) {
	if f.raw("idempotency_key") == nil {
		return "", nil
	}
	key := f.str("idempotency_key", "")
	if strings.TrimSpace(key) == "" || len(key) > maxKey {
		return "", oplog.Errorf(oplog.Invalid, "idempotency_key: 1 to %d bytes, not blank", maxKey)
	}
	return key, nil
}

func httpRemember(g *gateway, q *request) (any, error) {
	d, err := httpDraft(q.body)
	if err != nil {
		return nil, err
	}
	key, err := idempotency(q.body)
	if err != nil {
		return nil, err
	}
	r, err := g.s.Remember(q.r.Context(), q.c, key, d)
	if errors.Is(err, oplog.ErrKeyReused) {
		return map[string]any{"stored": false, "idempotency_conflict": true, "rid": g.s.keyed(q.c.DB, key)}, nil
	}
	if err != nil {
		return nil, quota(err)
	}
	return map[string]any{"rid": r.RIDs[0], "log_index": r.Index}, nil
}

// quota tells a database that is full from a request that is too large.
func quota(err error) error {
	var e *oplog.Error
	if errors.As(err, &e) && e.Kind == oplog.TooLarge && strings.Contains(e.Text, "quota") {
		return &statusError{http.StatusTooManyRequests, "rate_limited", e}
	}
	return err
}

// keyed is the first memory that was stored under a key.
func (s *Service) keyed(db oplog.DB, key string) (rid string) {
	_ = s.state.Read(func(v *oplog.View) error { // a closing state knows none
		if r := v.KeyResults(db, key); len(r) > 0 {
			rid = r[0].ID
		}
		return nil
	})
	return rid
}

func httpRememberBatch(g *gateway, q *request) (any, error) {
	items, ok := decoded[[]fields](q.body, "memories")
	if !ok {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'memories' array")
	}
	if len(items) > MaxBatch {
		return nil, oplog.Errorf(oplog.Invalid, "batch size exceeds %d", MaxBatch)
	}
	key, err := idempotency(q.body)
	if err != nil {
		return nil, err
	}
	drafts := make([]Draft, len(items))
	for i, f := range items {
		if drafts[i], err = httpDraft(f); err != nil {
			return nil, oplog.Errorf(oplog.Invalid, "memories[%d]: %s", i, err)
		}
	}
	r, err := g.s.Remember(q.r.Context(), q.c, key, drafts...)
	if err != nil {
		return nil, quota(err)
	}
	if r.RIDs == nil {
		r.RIDs = []string{}
	}
	return map[string]any{"rids": r.RIDs, "count": len(r.RIDs), "log_index": r.Index}, nil
}

// recallRow is one result: exactly these keys, for clients that take the row for a record's arguments.
type recallRow struct {
	RID        string          `json:"rid"`
	Text       string          `json:"text"`
	Type       string          `json:"memory_type"`
	Score      float64         `json:"score"`
	Importance float64         `json:"importance"`
	Created    float64         `json:"created_at"`
	Why        []string        `json:"why_retrieved"`
	Metadata   json.RawMessage `json:"metadata"`
	Namespace  string          `json:"namespace"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Certainty  float64         `json:"certainty"`
	Valence    float64         `json:"valence"`
}

// explained is a row with what only those get who ask for it.
type explained struct {
	recallRow
	Emotion *string `json:"emotional_state"`
	Session string  `json:"session_id"`
	Status  string  `json:"status"`
}

func metadata(m *oplog.Memory) json.RawMessage {
	if len(m.Metadata) == 0 {
		return json.RawMessage("{}")
	}
	return m.Metadata
}

func httpRow(h index.Hit, explain bool) any {
	m := h.Memory
	row := recallRow{RID: m.RID, Text: m.Text, Type: m.Type, Score: h.Score, Importance: m.Importance, Created: m.Created.Seconds(), Why: h.Why,
		Metadata: metadata(m), Namespace: m.Namespace, Domain: m.Domain, Source: m.Source, Certainty: m.Certainty, Valence: m.Valence}
	if !explain {
		return row
	}
	return explained{recallRow: row, Emotion: orNil(m.Emotion), Session: m.Session, Status: m.Status.String()}
}

func httpQuery(f fields) (index.Query, error) {
	text, err := f.must("query")
	if err != nil {
		return index.Query{}, err
	}
	q := index.Query{Text: text, K: int(min(f.whole("top_k", 10), math.MaxInt32)), Namespace: strings.TrimSpace(f.str("namespace", "")), Domain: f.str("domain", ""),
		Source: f.str("source", ""), Consolidated: f.flag("include_consolidated", false), Expand: f.flag("expand_entities", true), Vector: f.vector("query_embedding")}
	if q.K > index.MaxK {
		return q, oplog.Errorf(oplog.Invalid, "top_k is %d: at most %d", q.K, index.MaxK)
	}
	if t := f.str("memory_type", ""); t != "" {
		q.Types = []string{t}
	}
	if w, ok := decoded[[2]float64](f, "time_window"); ok {
		if t := seconds(w[0]); !t.IsZero() {
			q.Since = oplog.At(t)
		}
		if t := seconds(w[1]); !t.IsZero() {
			q.Until = oplog.At(t)
		}
	}
	return q, nil
}

func httpRecall(g *gateway, q *request) (any, error) {
	query, err := httpQuery(q.body)
	if err != nil {
		return nil, err
	}
	fr, err := q.newEnough()
	if err != nil {
		return nil, err
	}
	a, err := g.s.Recall(q.r.Context(), q.c, query, fr)
	if err != nil {
		return nil, replicaBehind(fr, err)
	}
	explain, floor := q.body.flag("explain", false), q.body.num("min_score", math.Inf(-1))
	rows := make([]any, 0, len(a.Hits))
	for _, h := range a.Hits {
		if h.Score >= floor {
			rows = append(rows, httpRow(h, explain))
		}
	}
	end := map[string]any{"total": len(rows), "fallback": nil, "confidence": a.Info.Confidence, "index": a.Index, "lag_seconds": a.Lag.Seconds()}
	if strings.Contains(q.r.Header.Get("Accept"), "text/event-stream") {
		return streamed{}, streamRows(q.w, rows, end)
	}
	end["results"] = rows
	return end, nil
}

func streamRows(w http.ResponseWriter, rows []any, end any) error {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	for _, row := range rows {
		if err := sseEvent(w, "", "result", row); err != nil {
			return nil // the client left
		}
	}
	_ = sseEvent(w, "", "end", end)
	return nil
}

func sseEvent(w http.ResponseWriter, id, name string, data any) error {
	b, err := json.Marshal(data)
	if err != nil {
		return err
	}
	if id != "" {
		id = "id: " + id + "\n"
	}
	if _, err := fmt.Fprintf(w, "%sevent: %s\ndata: %s\n\n", id, name, b); err != nil {
		return err
	}
	return http.NewResponseController(w).Flush()
}

func httpForget(g *gateway, q *request) (any, error) {
	rid, err := q.body.must("rid")
	if err != nil {
		return nil, err
	}
	found, w, err := g.s.Forget(q.r.Context(), q.c, rid)
	if err != nil {
		return nil, err
	}
	return map[string]any{"rid": rid, "found": found, "log_index": w.Index}, nil
}

func httpCorrect(g *gateway, q *request) (any, error) {
	rid, err := q.body.must("rid")
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(q.body.str("reason", "")) == "" {
		return nil, oplog.Errorf(oplog.Invalid, "missing 'reason'")
	}
	c := Correction{Reason: q.body.str("reason", ""), Importance: q.body.optional("new_importance"), Valence: q.body.optional("new_valence"), Vector: q.body.vector("embedding")}
	if text, ok := decoded[string](q.body, "new_text"); ok {
		c.Text = &text
	}
	if q.body.raw("metadata_merge") != nil {
		c.Merge = q.body.object("metadata_merge", "{}")
	}
	revision, w, err := g.s.Correct(q.r.Context(), q.c, rid, c)
	if err != nil {
		return nil, named(err, "memory_not_found")
	}
	return map[string]any{"rid": rid, "corrected_rid": rid, "original_rid": rid, "revision": revision, "log_index": w.Index}, nil
}

// named gives what was not found a code of its own.
func named(err error, code string) error {
	if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
		return &statusError{http.StatusNotFound, code, err}
	}
	return err
}

// memoryRow is a whole memory.
func memoryRow(m *oplog.Memory) map[string]any {
	iso := func(t oplog.Time) string { return t.Time().UTC().Format(time.RFC3339Nano) }
	tier := m.Tier
	if tier == "" {
		tier = "hot"
	}
	row := map[string]any{"rid": m.RID, "type": m.Type, "memory_type": m.Type, "text": m.Text, "created_at": m.Created.Seconds(), "created_at_iso": iso(m.Created),
		"updated_at": m.Updated.Seconds(), "updated_at_iso": iso(m.Updated), "importance": m.Importance, "half_life": m.HalfLife / 3600,
		"last_access": m.Accessed.Seconds(), "access_count": m.Accesses, "valence": m.Valence, "consolidated_into": orNil(m.Into),
		"consolidation_status": m.Status.String(), "storage_tier": tier, "metadata_json": string(metadata(m)), "metadata": metadata(m), "namespace": m.Namespace,
		"certainty": m.Certainty, "domain": m.Domain, "source": m.Source, "emotional_state": orNil(m.Emotion), "session_id": orNil(m.Session),
		"due_at": nil, "temporal_kind": orNil(m.TemporalKind), "tombstone_reason": nil, "revision": m.Revision,
		"consolidation_sources": []string{}, "entities": m.Entities, "claims": []string{}}
	if m.Entities == nil {
		row["entities"] = []string{}
	}
	if m.Due != 0 {
		row["due_at"] = m.Due.Seconds()
	}
	return row
}

func httpMemory(g *gateway, q *request) (any, error) {
	fr, err := q.newEnough()
	if err != nil {
		return nil, err
	}
	m, err := g.s.Memory(q.r.Context(), q.c, q.r.PathValue("rid"), fr)
	if err != nil {
		return nil, named(replicaBehind(fr, err), "memory_not_found")
	}
	return memoryRow(m), nil
}

func httpRevisions(g *gateway, q *request) (any, error) {
	revisions, err := g.s.Revisions(q.r.Context(), q.c, q.r.PathValue("rid"), Stale)
	if err != nil {
		return nil, named(err, "memory_not_found")
	}
	rows := make([]map[string]any, len(revisions))
	for i, r := range revisions {
		rows[i] = map[string]any{"revision": r.Number, "text": r.Text, "importance": r.Importance, "valence": r.Valence, "certainty": r.Certainty,
			"reason": r.Reason, "until": r.Until.Seconds()}
	}
	return map[string]any{"rid": q.r.PathValue("rid"), "revisions": rows}, nil
}

func httpMemories(g *gateway, q *request) (any, error) {
	f := Listing{Namespace: q.param("namespace"), Domain: q.param("domain"), Type: q.param("memory_type"),
		Limit: min(max(q.count("limit", 50), 1), 200), Offset: q.count("offset", 0)}
	list, err := g.s.List(q.r.Context(), q.c, f)
	if err != nil {
		return nil, err
	}
	rows := make([]any, len(list))
	for i, m := range list {
		rows[i] = memoryRow(m)
	}
	st, err := g.s.Stats(q.r.Context(), q.c, Stale)
	if err != nil {
		return nil, err
	}
	return map[string]any{"total": st.Active, "limit": f.Limit, "offset": f.Offset, "items": rows}, nil
}

// events is the feed of a database as an event stream.
func (g *gateway) events(w http.ResponseWriter, r *http.Request, c Caller) error {
	g.busy.Add(-1) // it waits, and works on nothing
	defer g.busy.Add(1)
	cursor, err := cursorOf(r)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	sub := g.s.machine.feed.subscribe()
	defer sub.close()
	rc := http.NewResponseController(w)
	p := pusher{s: g.s, db: c.DB, only: r.URL.Query()["type"], emit: func(name string, at oplog.Index, data []byte) error {
		if err := rc.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
			return err
		}
		id := ""
		if at > 0 {
			id = fmt.Sprint(at)
		}
		return sseEvent(w, id, name, json.RawMessage(data))
	}}
	p.beat = func() error {
		if _, err := io.WriteString(w, ":\n\n"); err != nil {
			return err
		}
		return rc.Flush()
	}
	if err := p.emit("subscribed", 0, g.s.position()); err != nil {
		return nil
	}
	_ = p.run(ctx, sub, cursor) // an error is the client's going away
	return nil
}
