package node

import (
	"cmp"
	"slices"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

var timeRoutes = []route{
	{name: "digest", method: "GET", path: "/v1/session/digest", scope: api.Read, handle: httpDigest, summary: "What an agent should know when it begins",
		query: "namespace:string scope:string~ max_decisions:integer[0..] max_conflicts:integer[0..] max_triggers:integer[0..] snippet_chars:integer[0..] include_gaps:boolean max_gaps:integer[0..] " +
			"include_superseded:boolean~",
		result: "narrative_head:string? top_decisions:[]Decision! open_conflicts:[]Conflict! open_conflict_count:integer! pending_triggers:[]Trigger! pending_trigger_count:integer! " +
			"last_maintenance:number? knowledge_gaps:[]Gap"},
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
	conflicts, err := g.s.findConflicts(ctx, q.c, &api.ConflictsRequest{Status: "open", Limit: max(q.count("max_conflicts", 5), 1)})
	if err != nil {
		return nil, err
	}
	triggers, err := g.s.findTriggers(ctx, q.c, "pending", api.TriggerFilter{Limit: max(q.count("max_triggers", 5), 1)})
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
	digest := map[string]any{"narrative_head": head, "top_decisions": decisions, "open_conflicts": conflictsOf(conflicts), "open_conflict_count": st.OpenConflicts,
		"pending_triggers": triggersOf(triggers), "pending_trigger_count": st.PendingTriggers, "last_maintenance": when(last)}
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
