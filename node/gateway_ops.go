package node

import (
	"maps"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// opRoutes are the routes of the table of operations.
func opRoutes() (list []route) {
	for _, op := range api.Ops {
		if op.HTTP == "" {
			continue
		}
		takes := op.Takes()
		list = append(list, route{name: op.Name, method: op.Method(), path: op.Path(), also: op.Also, scope: op.Scope, write: op.Writes, large: op.Large, stream: op.Stream,
			summary: op.Does, media: op.Media, op: op, params: takes.At("query", op.Usual()), fields: takes.At("body", op.Usual()), inPath: takes.At("path", op.Usual()), gives: op.Gives(),
			handle: func(g *gateway, q *request) (any, error) { return g.do(q, op) }})
	}
	return list
}

// do decodes a request as its row describes it, and asks the door.
func (g *gateway) do(q *request, op *api.Op) (any, error) {
	request, takes, lenient := op.New(), op.Takes(), g.s.cfg.Lenient
	if err := takes.At("query", op.Usual()).DecodeText(request, q.params(), lenient); err != nil {
		return nil, badParam(route{name: op.Name}, err)
	}
	if body := takes.At("body", op.Usual()); len(body) > 0 || len(q.body) > 0 {
		if err := body.Decode(request, q.body, lenient); err != nil {
			return nil, oplog.Errorf(oplog.Invalid, "%s", err)
		}
	}
	path := map[string][]string{}
	for _, f := range takes.At("path", op.Usual()) {
		path[f.Name] = []string{q.r.PathValue(f.Name)}
	}
	if err := takes.At("path", op.Usual()).DecodeText(request, path, true); err != nil {
		return nil, oplog.Errorf(oplog.Invalid, "%s", err)
	}
	answer, err := g.s.Do(q.r.Context(), q.c, op, request)
	if err != nil && op.Missing != "" {
		return nil, named(err, op.Missing)
	}
	return answer, err
}

// params are the query's, without the database, which is the caller's.
func (q *request) params() map[string][]string {
	params := maps.Clone(q.r.URL.Query())
	delete(params, "database")
	return params
}
