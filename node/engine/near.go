package engine

import (
	"context"

	"github.com/cairndb/cairn/index"
	"github.com/cairndb/cairn/node/api"
)

// Bounds of the memories that a new one may replace.
const (
	maxNear      = 3       // memories that are named
	minNearScore = .3      // of the score of a memory, when it is requested with the new text
	nearSnippet  = 500     // letters of its text that are shown
	maxNearText  = 2 << 10 // bytes of a new text that is a statement: a longer one is a document, and replaces none
)

// findReplaceable returns the memories that a new one may replace: those of its namespace whose words match its text.
// It costs one search. It returns none for captures of tools, for documents, and for callers without the right to
// read. If the search fails, the answer only lacks this list.
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
