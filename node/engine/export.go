package engine

import (
	"context"
	"encoding/json"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// exportPage is how many rows are read at one view: a slow client holds no view of the state open.
const exportPage = 500

// export reads a database's memories, then its relations, page by page.
func (s *Service) export(_ context.Context, c api.Caller, _ *api.ExportRequest) (*api.Exported, error) {
	return &api.Exported{
		Memories: func(yield func([]api.ExportedMemory, error) bool) {
			for next := oplog.Seq(1); next != 0; {
				var rows []api.ExportedMemory
				var err error
				if rows, next, err = s.exportRows(c.DB, next); !yield(rows, err) || err != nil {
					return
				}
			}
		},
		Edges: func(yield func([]api.ExportedEdge, error) bool) {
			for from, more := "", true; more; {
				var rows []api.ExportedEdge
				var err error
				if rows, from, more, err = s.exportEdges(c.DB, from); !yield(rows, err) || err != nil {
					return
				}
			}
		},
	}, nil
}

func (s *Service) exportRows(db oplog.DB, from oplog.Seq) (rows []api.ExportedMemory, next oplog.Seq, err error) {
	err = s.state.Read(func(v *state.View) error {
		seen := 0
		v.Memories(db, from, func(m *oplog.Memory) bool {
			if seen++; seen > exportPage {
				next = m.Seq
				return false
			}
			if m.Status == oplog.Active {
				rows = append(rows, exportRow(m))
			}
			return true
		})
		return nil
	})
	return rows, next, err
}

// exportEdges reads a page of relations behind an id.
func (s *Service) exportEdges(db oplog.DB, after string) (rows []api.ExportedEdge, last string, more bool, err error) {
	err = s.state.Read(func(v *state.View) error {
		v.EdgesBehind(db, after, func(e oplog.Edge) bool {
			if len(rows) == exportPage {
				more = true
				return false
			}
			rows, last = append(rows, api.ExportedEdge{Type: "edge", ID: e.ID, Src: e.Src, Dst: e.Dst, RelType: e.Type, Weight: e.Weight}), e.ID
			return true
		})
		return nil
	})
	return rows, last, more, err
}

func exportRow(m *oplog.Memory) api.ExportedMemory {
	e := api.ExportedMemory{Type: "memory", RID: m.RID, Text: m.Text, MemoryType: m.Type, Importance: m.Importance, Valence: m.Valence,
		HalfLife: m.HalfLife / 3600, Created: m.Created.Seconds(), Metadata: m.Metadata, Namespace: m.Namespace,
		Certainty: m.Certainty, Domain: m.Domain, Source: m.Source, Session: m.Session}
	if len(e.Metadata) == 0 {
		e.Metadata = json.RawMessage("null")
	}
	if m.Emotion != "" {
		e.Emotion = &m.Emotion
	}
	return e
}
