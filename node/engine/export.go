package engine

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// exportPage is how many rows are read at one view: a slow client holds no view of the state open.
const exportPage = 500

// export reads a database's memories, then its relations, page by page.
func (s *Service) export(_ context.Context, c api.Caller, _ *api.Nothing) (*api.Exported, error) {
	return &api.Exported{
		Memories: func(yield func([]api.ExportedMemory, error) bool) {
			var rows []api.ExportedMemory
			for err := range inPages(s, c.DB, exportPage, 1, (*state.View).Memories, func(_ *state.View, m *oplog.Memory) (oplog.Seq, bool) {
				if m.Status == oplog.Active {
					rows = append(rows, exportRow(m))
				}
				return m.Seq + 1, true
			}) {
				if !yield(rows, err) {
					return
				}
				rows = nil
			}
		},
		Edges: func(yield func([]api.ExportedEdge, error) bool) {
			var rows []api.ExportedEdge
			for err := range inPages(s, c.DB, exportPage, "", (*state.View).EdgesBehind, func(_ *state.View, e oplog.Edge) (string, bool) {
				rows = append(rows, api.ExportedEdge{Type: "edge", ID: e.ID, Src: e.Src, Dst: e.Dst, RelType: e.Type, Weight: e.Weight})
				return e.ID, true
			}) {
				if !yield(rows, err) {
					return
				}
				rows = nil
			}
		},
	}, nil
}

// inPages walks the rows of a database from a key on, at most n at one view of the state: however slowly they are used, no view stays open.
// each returns where the walk goes on behind a row, and whether it does. The loop's body runs behind each view; an error ends the walk.
func inPages[K, T any](s *Service, db oplog.DB, n int, from K, walk func(*state.View, oplog.DB, K, func(T) bool), each func(*state.View, T) (K, bool)) iter.Seq[error] {
	return func(yield func(error) bool) {
		for more := true; more; {
			err := s.state.Read(func(v *state.View) error {
				seen, on := 0, true
				more = false
				walk(v, db, from, func(x T) bool {
					if more = seen == n; !more {
						seen++
						from, on = each(v, x)
					}
					return on && !more
				})
				return nil
			})
			if !yield(err) || err != nil {
				return
			}
		}
	}
}

func exportRow(m *oplog.Memory) api.ExportedMemory {
	e := api.ExportedMemory{Type: "memory", RID: m.RID, Text: m.Text, MemoryType: m.Type, Importance: m.Importance, Valence: m.Valence,
		HalfLife: m.HalfLife / 3600, Created: m.Created.Seconds(), Metadata: m.Metadata, Namespace: m.Namespace,
		Certainty: m.Certainty, Domain: m.Domain, Source: m.Source, Session: m.Session, Emotion: orNil(m.Emotion)}
	if len(e.Metadata) == 0 {
		e.Metadata = json.RawMessage("null")
	}
	return e
}
