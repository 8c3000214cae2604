package engine

import (
	"context"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
)

// What a new memory may replace.
const (
	maxNear      = 3       // memories that are named
	minNearScore = .3      // of the score of a memory, when it is requested with the new text
	nearSnippet  = 500     // letters of its text that are shown
	maxNearText  = 2 << 10 // bytes of a new text that is a statement: a longer one is a document, and replaces none
)

// findReplaceable finds the memories that a new one may replace: those of its namespace that answer its text, by
// their words. It costs one search. Captures of tools and documents have none, nor have callers who may not read. If
// the search fails, the answer only lacks this list.
func (s *Service) findReplaceable(ctx context.Context, c api.Caller, d *api.Draft) []api.Near {
	if d.Type == "capture" || len(d.Text) > maxNearText || !c.May(api.Read) {
		return nil
	}
	c.Quiet = true
	a, err := s.search(ctx, c, index.Query{Text: d.Text, K: maxNear, MinScore: minNearScore, Without: []string{"vector", "session"},
		Filter: index.Filter{Namespace: orDefault(d.Namespace)}})
	if err != nil {
		return nil
	}
	return api.Each(a.Hits, func(h index.Hit) api.Near {
		return api.Near{RID: h.Memory.RID, Text: snippet(h.Memory.Text, nearSnippet), Created: h.Memory.Created.Seconds(), Score: h.Score}
	})
}
