package node

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire/field"
)

var timeRoutes = []route{
	{name: "stale", method: "GET", path: "/v1/stale", also: []string{"/v1/temporal/stale"}, scope: Read, handle: httpStale, summary: "What is worth something and was not looked at for days, the most important first",
		query: "days:number[0..36500] namespace:string limit:integer[0..]", result: "items:[]Memory! count:integer!"},
	{name: "upcoming", method: "GET", path: "/v1/upcoming", also: []string{"/v1/temporal/upcoming"}, scope: Read, handle: httpUpcoming, summary: "What is due within days, the soonest first",
		query: "days:number[0..36500] namespace:string limit:integer[0..]", result: "items:[]Memory! count:integer!"},
	{name: "chronology", method: "GET", path: "/v1/chronology", also: []string{"/v1/temporal/range"}, scope: Read, handle: httpChronology, summary: "What was stored in a stretch of time, the oldest first; from and to are dates",
		query: "from:date to:date namespace:string entity:string memory_type:string limit:integer[0..]", result: "items:[]Memory! count:integer!"},
	{name: "entity", method: "GET", path: "/v1/entities/{name}", scope: Read, handle: httpProfile, summary: "What is known of an entity", query: "days:number[0..36500]",
		result: "entity:string! entity_type:string! mentions:integer! memories:integer! sessions:integer! domains:[]string! average_valence:number! valence_trend:number! dominant_emotion:string? " +
			"per_day:number! links:integer! relations:[]string! depth:number! first_seen:number? last_seen:number?"},
	{name: "digest", method: "GET", path: "/v1/session/digest", scope: Read, handle: httpDigest, summary: "What an agent should know when it begins",
		query: "namespace:string scope:string~ max_decisions:integer[0..] max_conflicts:integer[0..] max_triggers:integer[0..] snippet_chars:integer[0..] include_gaps:boolean max_gaps:integer[0..] " +
			"include_superseded:boolean~",
		result: "narrative_head:string? top_decisions:[]Decision! open_conflicts:[]Conflict! open_conflict_count:integer! pending_triggers:[]Trigger! pending_trigger_count:integer! " +
			"last_maintenance:number? knowledge_gaps:[]Gap"},
}

func items(list []*oplog.Memory, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return map[string]any{"items": rowsOf(list), "count": len(list)}, nil
}

func httpStale(g *gateway, q *request) (any, error) {
	days, err := q.daysOf(30)
	if err != nil {
		return nil, err
	}
	return items(g.s.StaleMemories(q.r.Context(), q.c, days, q.param("namespace"), q.count("limit", defaultList), Stale))
}

func httpUpcoming(g *gateway, q *request) (any, error) {
	days, err := q.daysOf(7)
	if err != nil {
		return nil, err
	}
	return items(g.s.Upcoming(q.r.Context(), q.c, days, q.param("namespace"), q.count("limit", defaultList), Stale))
}

func httpChronology(g *gateway, q *request) (any, error) {
	if err := field.Ordered("from", q.timeParam("from"), "to", q.timeParam("to")); err != nil {
		return nil, badParam(route{}, err)
	}
	cq := ChronologyQuery{From: q.timeParam("from"), To: q.timeParam("to"), Namespace: q.param("namespace"), Entity: q.param("entity"), Limit: q.count("limit", defaultList)}
	if t := q.param("memory_type"); t != "" {
		cq.Types = []string{t}
	}
	return items(g.s.Chronology(q.r.Context(), q.c, cq, Stale))
}

func httpProfile(g *gateway, q *request) (any, error) {
	days, err := q.daysOf(0)
	if err != nil {
		return nil, err
	}
	p, err := g.s.EntityProfile(q.r.Context(), q.c, q.r.PathValue("name"), days, Stale)
	if err != nil {
		return nil, named(err, "entity_not_found")
	}
	return map[string]any{"entity": p.Entity.Name, "entity_type": p.Entity.Type, "mentions": p.Entity.Mentions, "memories": p.Memories, "sessions": p.Sessions,
		"domains": orEmpty(p.Domains), "average_valence": p.Valence, "valence_trend": p.Trend, "dominant_emotion": orNil(p.Emotion), "per_day": p.PerDay, "links": p.Links,
		"relations": orEmpty(p.Relations), "depth": p.Depth, "first_seen": when(p.First), "last_seen": when(p.Last)}, nil
}

// digestLook is how many of the newest memories a digest picks the weightiest from.
const digestLook = 500

func httpDigest(g *gateway, q *request) (any, error) {
	ctx, ns := q.r.Context(), blank(q.param("namespace"))
	list, err := g.s.newest(ctx, q.c, ns, digestLook)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(list, func(a, b *oplog.Memory) int { return cmp.Compare(b.Importance, a.Importance) })
	decisions := []map[string]any{}
	for _, m := range list[:min(len(list), q.count("max_decisions", 8))] {
		decisions = append(decisions, map[string]any{"rid": m.RID, "snippet": snippet(m.Text, q.count("snippet_chars", 240)), "memory_type": m.Type, "importance": m.Importance, "created_at": m.Created.Seconds()})
	}
	conflicts, err := g.s.Conflicts(ctx, q.c, ConflictQuery{Status: "open", Limit: max(q.count("max_conflicts", 5), 1)}, Stale)
	if err != nil {
		return nil, err
	}
	triggers, err := g.s.Triggers(ctx, q.c, TriggerQuery{Limit: max(q.count("max_triggers", 5), 1)}, Stale)
	if err != nil {
		return nil, err
	}
	sessions, err := g.s.sessions(ctx, q.c, &api.SessionsRequest{Namespace: ns, Limit: 20})
	if err != nil {
		return nil, err
	}
	var head any
	for _, s := range sessions.Sessions {
		if s.Summary != "" {
			head = snippet(s.Summary, q.count("snippet_chars", 240))
			break
		}
	}
	st, last, err := g.s.counted(q.c.DB)
	if err != nil {
		return nil, err
	}
	digest := map[string]any{"narrative_head": head, "top_decisions": decisions, "open_conflicts": conflictRows(conflicts), "open_conflict_count": st.OpenConflicts,
		"pending_triggers": triggerRows(triggers), "pending_trigger_count": st.PendingTriggers, "last_maintenance": when(last)}
	if q.on("include_gaps") {
		digest["knowledge_gaps"] = g.gaps(q, GapQuery{Namespace: q.param("namespace"), MinCount: gapCount, MaxTop: gapTop, Limit: q.count("max_gaps", 5)})
	}
	return digest, nil
}

func (s *Service) counted(db oplog.DB) (st oplog.Stats, last oplog.Time, err error) {
	err = s.state.Read(func(v *oplog.View) error {
		st, last = v.Stats(db), v.Mind(db).LastThink
		return nil
	})
	return st, last, err
}

// snippet is the beginning of a text, cut between characters.
func snippet(text string, chars int) string {
	n := 0
	for i := range text {
		if n == chars {
			return text[:i] + "…"
		}
		n++
	}
	return text
}
