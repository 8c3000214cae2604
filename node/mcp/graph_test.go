package mcp

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

// large is a door to a graph whose only entity has more observations and relations than one call reads.
type large struct {
	api.Door
	keys  []string
	edges []oplog.Edge
}

func (l *large) Do(_ context.Context, _ api.Caller, op *api.Op, request any) (any, error) {
	switch q := request.(type) {
	case *api.ListKeysRequest:
		page := &api.KeyPage{}
		for _, key := range l.keys {
			if key > q.After && len(page.Keys) < q.Limit {
				page.Keys = append(page.Keys, api.KeyRow{Path: key, Memory: &api.Memory{}})
			}
		}
		if n := len(page.Keys); n == q.Limit {
			page.Next = &page.Keys[n-1].Path
		}
		return page, nil
	case *api.BatchRequest:
		if len(q.Steps) > 10_000 {
			return nil, oplog.Errorf(oplog.TooLarge, "%d steps", len(q.Steps))
		}
		gone := map[string]bool{}
		for _, step := range q.Steps {
			gone[step.Path] = step.Op == "delete"
		}
		l.keys = slices.DeleteFunc(slices.Clone(l.keys), func(key string) bool { return gone[key] })
		return &api.BatchAnswer{}, nil
	case *api.EdgesOfRequest:
		return &api.EdgesOfAnswer{Edges: slices.Clone(l.edges[:min(len(l.edges), q.Most)])}, nil
	case *api.UnrelateRequest:
		l.edges = slices.DeleteFunc(l.edges, func(e oplog.Edge) bool { return e.ID == q.ID })
		return op.Answer(), nil
	}
	return nil, fmt.Errorf("%s was asked for", op.Name)
}

// TestALargeEntityIsDeleted checks that one call deletes an entity with more observations and relations than one call
// reads.
func TestALargeEntityIsDeleted(t *testing.T) {
	t.Parallel()
	l := &large{}
	for i := range 2*maxGraph + 500 {
		l.keys = append(l.keys, fmt.Sprintf("%s/%06d", api.EntityFolder("Ada"), i))
	}
	for i := range maxGraph + 5 {
		l.edges = append(l.edges, oplog.Edge{ID: fmt.Sprint(i), Src: "Ada", Dst: fmt.Sprint(i), Type: "knows"})
	}
	g := &graphCall{t.Context(), l, api.Caller{}}
	if _, err := g.deleteEntities(&graphNames{[]string{"Ada"}}); err != nil || len(l.keys) > 0 || len(l.edges) > 0 {
		t.Errorf("%d observations and %d relations stay: %v", len(l.keys), len(l.edges), err)
	}
}
