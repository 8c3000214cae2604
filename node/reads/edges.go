package reads

import (
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func edgesOf(v from, q *api.EdgesOfRequest) *api.EdgesOfAnswer {
	a, seen := &api.EdgesOfAnswer{}, map[string]bool{}
	for _, name := range q.Entities {
		for _, e := range v.Edges(v.db, name, q.Most) {
			if !seen[e.ID] && len(a.Edges) < q.Most {
				seen[e.ID] = true
				a.Edges = append(a.Edges, e)
			}
		}
	}
	slices.SortFunc(a.Edges, func(x, y oplog.Edge) int { return strings.Compare(x.ID, y.ID) })
	return a
}
