package node

import (
	"cmp"

	"github.com/cairndb/cairn/oplog"
)

var listRoutes = []route{
	{name: "memories", method: "GET", path: "/v1/memories", scope: Read, handle: httpMemories,
		summary: "Memories, newest first or sorted among the newest 20000; before pages on from a creation time. total counts the namespace, or the database. " +
			"With kind, drive_id, since_rid or order: records in the order of their ids, paged by next_cursor",
		query: "namespace:string domain:string memory_type:string limit:integer[0..] offset:integer[0..] before:date sort:string{created_at,importance,last_access} kind:string drive_id:string since_rid:string " +
			"order:string{asc,desc} status:string{active}~",
		result: "total:integer limit:integer! offset:integer items:[]Memory records:[]Record next_cursor:string|"},
	{name: "records", method: "GET", path: "/v1/records", scope: Read, handle: httpRecordList, summary: "Records in the order of their ids, paged by next_cursor",
		query: "namespace:string domain:string memory_type:string limit:integer[0..] kind:string drive_id:string since_rid:string order:string{asc,desc}", result: "records:[]Record! next_cursor:string? limit:integer!"},
}

const (
	defaultPage = 50
	maxPage     = 200
)

func (q *request) listing() Listing {
	l := Listing{Namespace: q.param("namespace"), Domain: q.param("domain"), Type: q.param("memory_type"), Sort: q.param("sort"),
		Limit: q.page(), Offset: q.count("offset", 0)}
	l.Before = atOrNone(q.timeParam("before"))
	return l
}

func httpMemories(g *gateway, q *request) (any, error) {
	l := q.listing()
	for _, name := range []string{"kind", "drive_id", "since_rid", "order"} {
		if q.r.URL.Query().Has(name) {
			return httpRecords(g, q, l)
		}
	}
	list, err := g.s.List(q.r.Context(), q.c, l)
	if err != nil {
		return nil, err
	}
	total, err := g.s.activeIn(q, l.Namespace)
	if err != nil {
		return nil, err
	}
	return map[string]any{"total": total, "limit": l.Limit, "offset": l.Offset, "items": rowsOf(list)}, nil
}

// activeIn counts a namespace's memories, or the database's.
func (s *Service) activeIn(q *request, namespace string) (n uint64, err error) {
	err = s.read(q.r.Context(), q.c, Stale, func(v *oplog.View) error {
		if n = v.Stats(q.c.DB).Active; namespace != "" {
			n = v.NamespaceStats(q.c.DB, namespace).Active
		}
		return nil
	})
	return n, err
}

func httpRecordList(g *gateway, q *request) (any, error) {
	return httpRecords(g, q, Listing{Namespace: q.param("namespace"), Domain: q.param("domain"), Type: q.param("memory_type"), Limit: q.page()})
}

// page is how many rows are asked for, within bounds.
func (q *request) page() int { return min(max(q.count("limit", defaultPage), 1), maxPage) }

func httpRecords(g *gateway, q *request, l Listing) (any, error) {
	w := Walk{Listing: l, Kind: q.param("kind"), Drive: q.param("drive_id"), Since: q.param("since_rid")}
	w.Up = q.param("order") == "asc"
	list, next, err := g.s.Records(q.r.Context(), q.c, w)
	if err != nil {
		return nil, err
	}
	records := make([]map[string]any, len(list))
	for i, m := range list {
		records[i] = map[string]any{"rid": m.RID, "text": m.Text, "memory_type": m.Type, "importance": m.Importance, "metadata": metadata(m), "namespace": m.Namespace,
			"created_at": m.Created.Seconds(), "created_at_iso": iso(m.Created), "certainty": m.Certainty, "domain": m.Domain, "source": m.Source,
			"access_count": m.Accesses, "last_access": m.Accessed.Seconds(), "storage_tier": cmp.Or(m.Tier, "hot")}
	}
	return map[string]any{"records": records, "next_cursor": orNil(next), "limit": l.Limit}, nil
}
