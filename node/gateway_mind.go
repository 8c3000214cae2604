package node

import (
	"cmp"
	"errors"
	"net/http"
	"strings"

	"github.com/cairndb/cairn/oplog"
)

var mindRoutes = []route{
	{name: "conflicts", method: "GET", path: "/v1/conflicts", scope: Read, handle: httpConflicts, summary: "Contradictions, the most urgent first, then the newest; status all is every status",
		query: "status:string conflict_type:string entity:string namespace:string priority:string limit:integer[0..]", result: "conflicts:[]Conflict!"},
	{name: "resolve_conflict", method: "POST", path: "/v1/conflicts/{id}/resolve", scope: Write, write: true, handle: httpResolve,
		summary: "Settle a contradiction: keep_a, keep_b, keep_both, merge (with new_text) or dismiss",
		body:    "strategy:string! winner_rid:string new_text:string resolution_note:string",
		result:  "conflict_id:string! strategy:string! winner_rid:string? loser_tombstoned:boolean! new_memory_rid:string? log_index:integer!"},
	{name: "triggers", method: "GET", path: "/v1/triggers", also: []string{"/v1/triggers/pending"}, scope: Read, handle: httpTriggers, summary: "What deserves attention; pending ones unless a status or all is asked for",
		query: "status:string type:string limit:integer[0..]", result: "triggers:[]Trigger! count:integer!"},
	{name: "triggers_history", method: "GET", path: "/v1/triggers/history", scope: Read, handle: httpTriggerHistory, summary: "What deserved attention, whatever became of it, unless a status is asked for",
		query: "status:string type:string limit:integer[0..]", result: "triggers:[]Trigger! count:integer!"},
	{name: "triggers_deliver", method: "POST", path: "/v1/triggers/deliver", scope: Write, write: true, handle: httpDeliver, summary: "Take pending triggers and mark them as delivered",
		body: "limit:integer[0..]", result: "triggers:[]Trigger! count:integer!"},
	{name: "trigger_move", method: "POST", path: "/v1/triggers/{id}/{verb}", scope: Write, write: true, handle: httpMoveTrigger, summary: "acknowledge, act on, or dismiss a trigger",
		result: "trigger_id:string! status:string! changed:boolean! log_index:integer!"},
	{name: "personality", method: "GET", path: "/v1/personality", scope: Read, handle: httpPersonality, summary: "What the memories make of their agent", result: "traits:[]Trait!"},
	{name: "patterns", method: "GET", path: "/v1/patterns", scope: Read, handle: httpPatterns, summary: "Regularities that were seen, the most certain first", query: "type:string limit:integer[0..]", result: "patterns:[]Pattern!"},
	{name: "feedback", method: "POST", path: "/v1/feedback", scope: Write, write: true, handle: httpFeedback, summary: "Say whether a recalled memory was relevant; ranking learns from it",
		body: "query:string! rid:string! relevant:boolean score:number rank:integer[0..]", result: "accepted:integer! log_index:integer!"},
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func httpConflicts(g *gateway, q *request) (any, error) {
	rows, err := g.s.Conflicts(q.r.Context(), q.c, ConflictQuery{Status: q.param("status"), Type: q.param("conflict_type"), Entity: q.param("entity"),
		Namespace: q.param("namespace"), Priority: q.param("priority"), Limit: q.count("limit", defaultList)}, Stale)
	if err != nil {
		return nil, err
	}
	list := conflictRows(rows)
	err = g.s.read(q.r.Context(), q.c, Stale, func(v *oplog.View) error {
		for i, c := range rows {
			list[i]["side_a"], list[i]["side_b"] = conflictSide(v, q.c.DB, c.A), conflictSide(v, q.c.DB, c.B)
		}
		return nil
	})
	return map[string]any{"conflicts": list}, err
}

func conflictRows(rows []oplog.ConflictRow) []map[string]any {
	list := make([]map[string]any, len(rows))
	for i, c := range rows {
		list[i] = map[string]any{"conflict_id": c.ID, "conflict_type": c.Type, "priority": c.Priority.String(), "status": c.Status.String(), "memory_a": c.A, "memory_b": c.B,
			"entity": orNil(c.Entity), "rel_type": orNil(c.Relation), "namespace": c.Namespace, "detection_reason": c.Reason, "summary": c.Reason,
			"detected_at": c.Detected.Seconds(), "resolved_at": when(c.Resolved), "strategy": orNil(c.Strategy), "winner_rid": orNil(c.Winner), "resolution_note": orNil(c.Note)}
	}
	return list
}

// conflictSide is what a side of a conflict says; text is null when it is no longer there.
func conflictSide(v *oplog.View, db oplog.DB, id string) map[string]any {
	say := func(kind, text string, at oplog.Time) map[string]any {
		return map[string]any{"kind": kind, "text": orNil(text), "created_at": when(at)}
	}
	if edge, ok := strings.CutPrefix(id, "edge:"); ok {
		e, ok := v.Edge(db, edge)
		if !ok {
			return say("relation", "", 0)
		}
		return say("relation", sentence(e.Src, e.Type, e.Dst), e.Created)
	}
	if claim, ok := strings.CutPrefix(id, "claim:"); ok {
		c, ok := v.Claim(db, claim)
		if !ok || c.ValidTo != nil {
			return say("claim", "", 0)
		}
		denied := ""
		if c.Polarity < 0 {
			denied = "not so: "
		}
		return say("claim", denied+sentence(c.Src, c.Type, c.Dst), c.At)
	}
	m, ok := v.Memory(db, id)
	if !ok || m.Status == oplog.Tombstoned {
		return say("memory", "", 0)
	}
	return say("memory", m.Text, m.Created)
}

// sentence is a relation as people read it.
func sentence(subject, relation, object string) string {
	return subject + " " + strings.ReplaceAll(relation, "_", " ") + " " + object
}

// when is a time as clients read it, null for none.
func when(t oplog.Time) *float64 {
	if t == 0 {
		return nil
	}
	s := t.Seconds()
	return &s
}

var strategies = map[string]bool{oplog.KeepA: true, oplog.KeepB: true, oplog.KeepBoth: true, oplog.MergeAB: true, oplog.Dismiss: true}

func httpResolve(g *gateway, q *request) (any, error) {
	id := q.r.PathValue("id")
	strategy, err := q.body.must("strategy")
	if err != nil {
		return nil, err
	}
	if !strategies[strategy] {
		return nil, oplog.Errorf(oplog.Invalid, "sync error: unknown resolution strategy: %s", strategy)
	}
	r := Resolution{ID: id, Strategy: strategy, Winner: q.body.str("winner_rid", ""), NewText: q.body.str("new_text", ""), Note: q.body.str("resolution_note", "")}
	if strategy == oplog.MergeAB && r.NewText == "" {
		return nil, oplog.Errorf(oplog.Invalid, "sync error: merge strategy requires new_text")
	}
	done, w, err := g.s.Resolve(q.r.Context(), q.c, r)
	switch {
	case errors.Is(err, oplog.ErrNoConflict):
		return nil, &statusError{status: http.StatusNotFound, code: "conflict_not_found", err: oplog.Errorf(oplog.NotFound, "memory not found: conflict: %s", id)}
	case errors.Is(err, &oplog.Error{Kind: oplog.Conflict}):
		return nil, oplog.Errorf(oplog.Conflict, "sync error: conflict %s is already resolved", id)
	case err != nil:
		return nil, err
	}
	return map[string]any{"conflict_id": id, "strategy": strategy, "winner_rid": orNil(done.Winner), "loser_tombstoned": done.Forgotten > 0,
		"new_memory_rid": orNil(done.NewRID), "log_index": w.Index}, nil
}

func triggerRows(rows []oplog.TriggerRow) []map[string]any {
	list := make([]map[string]any, len(rows))
	for i, t := range rows {
		list[i] = map[string]any{"trigger_id": t.ID, "trigger_type": t.Type, "urgency": t.Urgency, "status": t.Status.String(), "reason": t.Reason, "suggested_action": t.Action,
			"source_rids": orEmpty(t.Sources), "entity": orNil(t.Entity), "created_at": t.Created.Seconds(), "expires_at": when(t.Expires)}
	}
	return list
}

func httpTriggers(g *gateway, q *request) (any, error) { return listTriggers(g, q, q.param("status")) }

func httpTriggerHistory(g *gateway, q *request) (any, error) {
	return listTriggers(g, q, cmp.Or(q.param("status"), "all"))
}

func listTriggers(g *gateway, q *request, status string) (any, error) {
	rows, err := g.s.Triggers(q.r.Context(), q.c, TriggerQuery{Status: status, Type: q.param("type"), Limit: q.count("limit", defaultList)}, Stale)
	if err != nil {
		return nil, err
	}
	return map[string]any{"triggers": triggerRows(rows), "count": len(rows)}, nil
}

func httpDeliver(g *gateway, q *request) (any, error) {
	rows, _, err := g.s.DeliverTriggers(q.r.Context(), q.c, int(min(q.body.whole("limit", 10), maxList)))
	if err != nil {
		return nil, err
	}
	return map[string]any{"triggers": triggerRows(rows), "count": len(rows)}, nil
}

// triggerVerbs are what may be done with a trigger.
var triggerVerbs = map[string]oplog.TriggerStatus{"acknowledge": oplog.TriggerAcknowledged, "act": oplog.TriggerActed, "dismiss": oplog.TriggerDismissed}

func httpMoveTrigger(g *gateway, q *request) (any, error) {
	id := q.r.PathValue("id")
	to, ok := triggerVerbs[q.r.PathValue("verb")]
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "a trigger can be acknowledged, acted on or dismissed: acknowledge, act, dismiss")
	}
	changed, w, err := g.s.MoveTrigger(q.r.Context(), q.c, id, to)
	if err != nil {
		return nil, named(err, "trigger_not_found")
	}
	return map[string]any{"trigger_id": id, "status": to.String(), "changed": changed, "log_index": w.Index}, nil
}

func httpPersonality(g *gateway, q *request) (any, error) {
	traits, err := g.s.Personality(q.r.Context(), q.c, Stale)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]any, len(traits))
	for i, t := range traits {
		rows[i] = map[string]any{"name": t.Name, "score": t.Score}
	}
	return map[string]any{"traits": rows}, nil
}

func httpPatterns(g *gateway, q *request) (any, error) {
	patterns, err := g.s.Patterns(q.r.Context(), q.c, q.param("type"), q.count("limit", defaultList), Stale)
	if err != nil {
		return nil, err
	}
	rows := make([]map[string]any, len(patterns))
	for i, p := range patterns {
		rows[i] = map[string]any{"pattern_type": p.Type, "description": p.Description, "confidence": p.Confidence, "source_rids": orEmpty(p.Sources), "entities": orEmpty(p.Entities),
			"first_seen": p.First.Seconds(), "last_confirmed": p.Confirmed.Seconds(), "occurrence_count": p.Seen}
	}
	return map[string]any{"patterns": rows}, nil
}

func httpFeedback(g *gateway, q *request) (any, error) {
	query, err := q.body.must("query")
	if err != nil {
		return nil, err
	}
	rid, err := q.body.must("rid")
	if err != nil {
		return nil, err
	}
	j := oplog.Judgement{Query: query, RID: rid, Relevant: q.body.flag("relevant", true), Score: q.body.num("score", 0), Rank: int(min(q.body.whole("rank", 0), maxList))}
	w, err := g.s.Feedback(q.r.Context(), q.c, j)
	if err != nil {
		return nil, err
	}
	return map[string]any{"accepted": 1, "log_index": w.Index}, nil
}
