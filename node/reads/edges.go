package reads

import (
	"slices"
	"strings"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

func edgesOf(v dbView, q *api.EdgesOfRequest) *api.EdgesOfAnswer {
	a := &api.EdgesOfAnswer{Edges: v.EdgesOfAll(v.db, q.Entities, q.Most)}
	slices.SortFunc(a.Edges, func(x, y oplog.Edge) int { return strings.Compare(x.ID, y.ID) })
	return a
}
