package node

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/oplog"
)

const (
	draftFields = "text:string! memory_type:string importance:number valence:number half_life:number metadata:object namespace:string " +
		"certainty:number domain:string source:string emotional_state:string embedding:array session_id:string created_at:number due_at:number temporal_kind:string"
	freshFields = "min_index:integer consistency:string"
	memoryKeys  = "rid:string! type:string! memory_type:string! text:string! created_at:number! created_at_iso:string! updated_at:number! updated_at_iso:string! " +
		"importance:number! half_life:number! last_access:number! access_count:integer! valence:number! consolidated_into:string? consolidation_status:string! " +
		"storage_tier:string! metadata_json:string! metadata:any! namespace:string! certainty:number! domain:string! source:string! emotional_state:string? " +
		"session_id:string? due_at:number? temporal_kind:string? tombstone_reason:string? revision:integer! embedding_model:string? embedding_bytes:integer? " +
		"consolidation_sources:array! entities:array! claims:array!"
)

var memoryRoutes = []route{
	{name: "remember", method: "POST", path: "/v1/remember", scope: Write, write: true, handle: httpRemember, summary: "Store a memory; half_life is in hours",
		body: draftFields + " idempotency_key:string", result: "rid:string! log_index:integer stored:boolean idempotency_conflict:boolean"},
	{name: "remember_batch", method: "POST", path: "/v1/remember/batch", scope: Write, write: true, large: true, handle: httpRememberBatch, summary: "Store memories, all or none",
		body: "memories:array! idempotency_key:string", result: "rids:array! count:integer! log_index:integer!"},
	{name: "recall", method: "POST", path: "/v1/recall", scope: Read, handle: httpRecall, summary: "Find memories by words, meaning, relation and time; as an event stream when the client accepts one",
		body: "query:string! top_k:integer memory_type:string namespace:string domain:string source:string session_id:string include_consolidated:boolean " +
			"expand_entities:boolean query_embedding:array time_window:array min_score:number explain:boolean " + freshFields,
		result: "results:array! total:integer! fallback:string? confidence:number! index:integer! lag_seconds:number!"},
	{name: "forget", method: "POST", path: "/v1/forget", scope: Write, write: true, handle: httpForget, summary: "Make a memory invisible", body: "rid:string! namespace:string reason:string",
		result: "rid:string! found:boolean! log_index:integer!"},
	{name: "correct", method: "POST", path: "/v1/correct", scope: Write, write: true, handle: httpCorrect, summary: "Change a memory in place; what it was is kept",
		body:   "rid:string! reason:string! new_text:string new_importance:number new_valence:number metadata_merge:object embedding:array",
		result: "rid:string! corrected_rid:string! original_rid:string! revision:integer! log_index:integer!"},
	{name: "memory", method: "GET", path: "/v1/memory/{rid}", scope: Read, handle: httpMemory, summary: "One memory, whatever its status", query: "min_seq:integer consistency:string", result: memoryKeys},
	{name: "revisions", method: "GET", path: "/v1/memory/{rid}/revisions", scope: Read, handle: httpRevisions, summary: "What a memory was before each correction", result: "rid:string! revisions:array!"},
	{name: "memories", method: "GET", path: "/v1/memories", scope: Read, handle: httpMemories, summary: "Memories, newest first; before pages on from a creation time",
		query: "namespace:string domain:string memory_type:string limit:integer offset:integer before:number", result: "total:integer! limit:integer! offset:integer! items:array!"},
	{name: "current", method: "GET", path: "/v1/current", scope: Read, handle: httpCurrent, summary: "The newest memory of a namespace that is kept as a chain",
		query: "namespace:string", result: "found:boolean! namespace:string! record:object!"},
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
	if err := g.s.room(q.c, 1); err != nil {
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
		return &statusError{status: http.StatusTooManyRequests, code: "rate_limited", err: e}
	}
	return err
}

// room refuses what would not fit a database, in the words clients know. Two that race for the last place are told
// apart when they are applied.
func (s *Service) room(c Caller, adding int) error {
	return s.state.Read(func(v *oplog.View) error {
		d, _ := v.Database(c.DB)
		if current := v.Stats(c.DB).Active; d.MaxMemories > 0 && current+uint64(adding) > d.MaxMemories {
			return &statusError{status: http.StatusTooManyRequests, code: "rate_limited",
				err: oplog.Errorf(oplog.TooLarge, "would exceed memory quota: current=%d, adding=%d, max=%d", current, adding, d.MaxMemories)}
		}
		return nil
	})
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
	if err := g.s.room(q.c, len(items)); err != nil {
		return nil, err
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
	Shares  shares  `json:"scores"`
	Factors factors `json:"factors"`
}

// shares is how much of a score each signal brought: they add up to it.
type shares struct {
	Words   float64 `json:"words"`
	Passage float64 `json:"passage"`
	Around  float64 `json:"around"`
	Session float64 `json:"session"`
	Vector  float64 `json:"vector"`
	Graph   float64 `json:"graph"`
}

// factors is what relevance was multiplied by, and how far the memory had faded.
type factors struct {
	Fresh      float64 `json:"fresh"`
	Importance float64 `json:"importance"`
	Valence    float64 `json:"valence"`
	Recency    float64 `json:"recency"`
	Decay      float64 `json:"decay"`
}

func sharesOf(h index.Hit) shares {
	p := h.Parts
	sum := p.Words + p.Passage + p.Around + p.Session + p.Vector + p.Graph
	if sum <= 0 {
		return shares{}
	}
	part := func(v float64) float64 { return v / sum * h.Score }
	return shares{part(p.Words), part(p.Passage), part(p.Around), part(p.Session), part(p.Vector), part(p.Graph)}
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
	return explained{recallRow: row, Emotion: orNil(m.Emotion), Session: m.Session, Status: m.Status.String(), Shares: sharesOf(h),
		Factors: factors{h.Parts.Fresh, h.Parts.Importance, h.Parts.Valence, h.Parts.Recency, h.Parts.Decay}}
}

func httpQuery(f fields) (index.Query, error) {
	text, err := f.must("query")
	if err != nil {
		return index.Query{}, err
	}
	q := index.Query{Text: text, K: int(min(f.whole("top_k", 10), math.MaxInt32)), Namespace: strings.TrimSpace(f.str("namespace", "")), Domain: f.str("domain", ""),
		Source: f.str("source", ""), Consolidated: f.flag("include_consolidated", false), Expand: f.flag("expand_entities", true), Session: f.str("session_id", ""), Vector: f.vector("query_embedding")}
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
	ctx, cancel := waiting(q.r.Context(), fr)
	defer cancel()
	a, err := g.s.Recall(ctx, q.c, query, fr)
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
	out := newSSE(w)
	for _, row := range rows {
		if err := out.event("", "result", row); err != nil {
			return nil // the client left
		}
	}
	_ = out.event("", "end", end)
	return nil
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
	c, err := correction(q.body)
	if err != nil {
		return nil, err
	}
	revision, w, err := g.s.Correct(q.r.Context(), q.c, rid, c)
	if err != nil {
		return nil, named(err, "memory_not_found")
	}
	return map[string]any{"rid": rid, "corrected_rid": rid, "original_rid": rid, "revision": revision, "log_index": w.Index}, nil
}

func correction(f fields) (Correction, error) {
	c := Correction{Reason: f.str("reason", ""), Importance: f.optional("new_importance"), Valence: f.optional("new_valence"), Vector: f.vector("embedding")}
	if strings.TrimSpace(c.Reason) == "" {
		return c, oplog.Errorf(oplog.Invalid, "missing 'reason'")
	}
	if text, ok := decoded[string](f, "new_text"); ok {
		c.Text = &text
	}
	if f.raw("metadata_merge") != nil {
		c.Merge = f.object("metadata_merge", "{}")
	}
	return c, nil
}

// named gives what was not found a code of its own.
func named(err error, code string) error {
	if errors.Is(err, &oplog.Error{Kind: oplog.NotFound}) {
		return &statusError{status: http.StatusNotFound, code: code, err: err}
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
		"embedding_model": nil, "embedding_bytes": nil, "consolidation_sources": []string{}, "entities": m.Entities, "claims": []string{}}
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
	ctx, cancel := waiting(q.r.Context(), fr)
	defer cancel()
	m, err := g.s.Memory(ctx, q.c, q.r.PathValue("rid"), fr)
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
	if before, err := strconv.ParseFloat(q.param("before"), 64); err == nil && !seconds(before).IsZero() {
		f.Before = oplog.At(seconds(before))
	}
	list, err := g.s.List(q.r.Context(), q.c, f)
	if err != nil {
		return nil, err
	}
	st, err := g.s.Stats(q.r.Context(), q.c, Stale)
	if err != nil {
		return nil, err
	}
	return map[string]any{"total": st.Active, "limit": f.Limit, "offset": f.Offset, "items": rows(list)}, nil
}

func httpCurrent(g *gateway, q *request) (any, error) {
	ns := blank(q.param("namespace"))
	list, err := g.s.List(q.r.Context(), q.c, Listing{Namespace: ns, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, &statusError{status: http.StatusNotFound, code: "memory_not_found", err: oplog.Errorf(oplog.NotFound, "namespace '%s' has no memories", ns)}
	}
	return map[string]any{"found": true, "namespace": ns, "record": memoryRow(list[0])}, nil
}
