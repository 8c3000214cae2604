package engine

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// exportPage bounds what an export reads at one view: 500 rows, or the first that have half a megabyte together. It
// reads page by page so that a slow client holds no view of the state open.
const exportPage = 500

// export reads a database's memories, then its relations, page by page.
func (s *Service) export(_ context.Context, c api.Caller, q *api.ExportRequest) (*api.Exported, error) {
	match, err := parseFilter(q.Filter)
	if err != nil {
		return nil, err
	}
	return &api.Exported{
		Memories: func(yield func([]api.ExportedMemory, error) bool) {
			var rows []api.ExportedMemory
			bytes := 0
			for err := range state.InPages(s.state, c.DB, exportPage, 1, (*state.View).Memories,
				func(v *state.View, m *oplog.Memory) (oplog.Seq, int, bool) {
					if !m.Passes(match) || !c.Spaces.Has(m.Namespace) {
						return m.Seq + 1, 1, true
					}
					bytes += m.Weight()
					if !c.Hold.FitsFirst(bytes) {
						return 0, 0, false
					}
					if m.Status != oplog.Tombstoned && (m.Status != oplog.Quarantined || c.May(api.Owner)) { // what was forgotten leaves with no export
						rows = append(rows, exportMemory(v, c, m))
					}
					return m.Seq + 1, 1 + m.Weight()*exportPage/pageBytes, true
				}) {
				if err == nil && c.Hold.Starved() {
					err = errManyAnswers
				}
				if !yield(rows, err) {
					return
				}
				rows, bytes = nil, 0
			}
		},
		Edges: func(yield func([]api.ExportedEdge, error) bool) {
			if match != nil || c.Spaces.Bind() { // a relation is of the database, and not of these memories
				return
			}
			var rows []api.ExportedEdge
			for err := range state.InPages(s.state, c.DB, exportPage, "", (*state.View).EdgesBehind,
				func(_ *state.View, e oplog.Edge) (string, int, bool) {
					edge := api.ExportedEdge{Line: "edge"}
					exportEdge(&e, &edge)
					rows = append(rows, edge)
					return e.ID, 1, true
				}) {
				if !yield(rows, err) {
					return
				}
				rows = nil
			}
		},
	}, nil
}
