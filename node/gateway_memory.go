package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

const (
	draftFields = "text:string! memory_type:string importance:unit valence:signed half_life:hours metadata:any namespace:string " +
		"certainty:unit domain:string source:string emotional_state:string embedding:[]number session_id:string created_at:date due_at:date temporal_kind:string tier:string " +
		"idempotency_key:string"
	questionFields = "query:string! top_k:integer[0..] memory_type:string namespace:string domain:string source:string session_id:string include_consolidated:boolean " +
		"include_superseded:boolean~ expand_entities:boolean query_embedding:[]number time_window:window skip_reinforce:boolean without:[]string diverse:boolean min_score:number[0..]"
	recallFields = questionFields + " explain:boolean as_of:date " + freshFields
	recallResult = "results:[]Result! total:integer! fallback:string? confidence:number! hints:[]Hint! index:integer! lag_seconds:number? considered:integer! below_min_score:integer!"
	freshFields  = "min_index,min_seq:integer[0..] consistency:string{stale,linearizable}"
	freshParams  = "min_index:integer[0..] min_seq:integer[0..] consistency:string{stale,linearizable}"
)

var memoryRoutes = []route{
	{name: "remember", method: "POST", path: "/v1/remember", scope: Write, write: true, handle: httpRemember, summary: "Store a memory; half_life is in hours",
		body: draftFields, result: "rid:string! log_index:integer stored:boolean idempotency_conflict:boolean"},
	{name: "remember_batch", method: "POST", path: "/v1/remember/batch", scope: Write, write: true, large: true, handle: httpRememberBatch, summary: "Store memories, all or none",
		body: "memories:[]Draft! idempotency_key:string", result: "rids:[]string! count:integer! log_index:integer!"},
	{name: "recall", method: "POST", path: "/v1/recall", scope: Read, handle: httpRecall, summary: "Find memories by words, meaning, relation and time; as an event stream when the client accepts one. Only what matches the question is returned, and nothing that scores less than min_score: considered and below_min_score say how many were looked at and left out",
		query: freshParams, body: recallFields,
		result: recallResult},
	{name: "recall_as_of", method: "POST", path: "/v1/temporal/as_of", scope: Read, handle: httpRecall, summary: "Find what was believed at a date",
		query: freshParams, body: questionFields + " explain:boolean as_of,at,timestamp:date! " + freshFields, result: recallResult},
	{name: "forget", method: "POST", path: "/v1/forget", scope: Write, write: true, handle: httpForget, summary: "Make a memory invisible to recall and lists; it can still be read by its id until it is purged", body: "rid:string! reason:string namespace:string~",
		result: "rid:string! found:boolean! log_index:integer!"},
	{name: "correct", method: "POST", path: "/v1/correct", scope: Write, write: true, handle: httpCorrect, summary: "Change a memory in place; what it was is kept",
		body:   "rid:string! reason:string! new_text:string new_importance:unit new_valence:signed metadata_merge:object embedding:[]number",
		result: "rid:string! corrected_rid:string! original_rid:string! revision:integer! log_index:integer!"},
	{name: "memory", method: "GET", path: "/v1/memory/{rid}", scope: Read, handle: httpMemory, summary: "One memory, whatever its status", query: freshParams + " namespace:string~", result: shapes["Memory"]},
	{name: "revisions", method: "GET", path: "/v1/memory/{rid}/revisions", scope: Read, handle: httpRevisions, summary: "What a memory was before each correction", result: "rid:string! revisions:[]Revision!"},
	{name: "current", method: "GET", path: "/v1/current", scope: Read, handle: httpCurrent, summary: "The newest memory of a namespace that is kept as a chain",
		query: "namespace:string", result: "found:boolean! namespace:string! record:Memory!"},
}

// draftObject describes a memory of a batch or of a file.
var draftObject = field.Parse(draftFields)

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
		Session: f.str("session_id", ""), Created: f.date("created_at"), Due: f.date("due_at"),
		TemporalKind: f.str("temporal_kind", ""), Tier: f.str("tier", ""), Vector: f.vector("embedding")}, nil
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

// httpItem is a memory of a batch. Its key is its own, or made of the batch's and its place.
func httpItem(f fields, batchKey string, i int, lenient bool) (Draft, error) {
	if err := f.check(draftObject, lenient); err != nil {
		return Draft{}, err
	}
	d, err := httpDraft(f)
	if err != nil {
		return d, err
	}
	if d.Key, err = idempotency(f); err == nil && d.Key == "" && batchKey != "" {
		d.Key = fmt.Sprintf("%s:%d", batchKey, i)
	}
	return d, err
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
		if drafts[i], err = httpItem(f, key, i, g.s.cfg.Lenient); err != nil {
			return nil, oplog.Errorf(oplog.Invalid, "memories[%d]: %s", i, err)
		}
	}
	r, err := g.s.Remember(q.r.Context(), q.c, "", drafts...)
	if errors.Is(err, oplog.ErrKeyReused) {
		return nil, &statusError{status: http.StatusConflict, code: "conflict", err: err, more: map[string]any{"stored": false, "idempotency_conflict": true}}
	}
	if err != nil {
		return nil, quota(err)
	}
	if r.RIDs == nil {
		r.RIDs = []string{}
	}
	return map[string]any{"rids": r.RIDs, "count": len(r.RIDs), "log_index": r.Index}, nil
}

func httpForget(g *gateway, q *request) (any, error) {
	rid, err := q.body.must("rid")
	if err != nil {
		return nil, err
	}
	found, w, err := g.s.ForgetFor(q.r.Context(), q.c, rid, q.body.str("reason", ""))
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
	tier := m.Tier
	if tier == "" {
		tier = "hot"
	}
	row := map[string]any{"rid": m.RID, "type": m.Type, "memory_type": m.Type, "text": m.Text, "created_at": m.Created.Seconds(), "created_at_iso": iso(m.Created),
		"updated_at": m.Updated.Seconds(), "updated_at_iso": iso(m.Updated), "importance": m.Importance, "half_life": m.HalfLife / 3600,
		"last_access": m.Accessed.Seconds(), "access_count": m.Accesses, "valence": m.Valence, "consolidated_into": orNil(m.Into),
		"consolidation_status": m.Status.String(), "storage_tier": tier, "metadata_json": string(metadata(m)), "metadata": metadata(m), "namespace": m.Namespace,
		"certainty": m.Certainty, "domain": m.Domain, "source": m.Source, "emotional_state": orNil(m.Emotion), "session_id": orNil(m.Session),
		"due_at": nil, "temporal_kind": orNil(m.TemporalKind), "tombstone_reason": orNil(m.Reason), "revision": m.Revision,
		"embedding_model": nil, "embedding_bytes": nil, "consolidation_sources": []string{}, "entities": m.Entities, "claims": orEmpty(m.Claims)}
	if m.Entities == nil {
		row["entities"] = []string{}
	}
	if m.Merged > 0 {
		row["consolidation_sources"] = mergedFrom(m)
	}
	if m.Due != 0 {
		row["due_at"] = m.Due.Seconds()
	}
	return row
}

// mergedFrom are the memories that one was made of, as its metadata says.
func mergedFrom(m *oplog.Memory) []string {
	var made struct {
		From []string `json:"consolidated_from"`
	}
	_ = json.Unmarshal(m.Metadata, &made) // metadata that was corrected since may say nothing
	return orEmpty(made.From)
}

func iso(t oplog.Time) string { return t.Time().UTC().Format(time.RFC3339Nano) }

func httpMemory(g *gateway, q *request) (any, error) {
	fr, err := q.newEnough()
	if err != nil {
		return nil, err
	}
	ctx, cancel := waiting(q.r.Context(), fr)
	defer cancel()
	var row map[string]any
	err = g.s.read(ctx, q.c, fr, func(v *oplog.View) error {
		m, ok := v.Memory(q.c.DB, q.r.PathValue("rid"))
		if !ok {
			return oplog.ErrNoMemory
		}
		row = memoryRow(m)
		if n := len(v.Vector(q.c.DB, m.Seq)); n > 0 {
			row["embedding_bytes"], row["embedding_model"] = n, embeddedBy(v, q.c.DB)
		}
		return nil
	})
	if err != nil {
		return nil, named(replicaBehind(fr, err), "memory_not_found")
	}
	return row, nil
}

// embeddedBy names what makes a database's vectors; nil where the clients bring them.
func embeddedBy(v *oplog.View, db oplog.DB) any {
	if d, ok := v.Database(db); ok && d.Embedder != nil {
		return d.Embedder.Name
	}
	return nil
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
