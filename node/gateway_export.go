package node

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/cairndb/cairn/oplog"
)

var transferRoutes = []route{
	{name: "export", method: "GET", path: "/v1/export", scope: Read, handle: direct((*gateway).export), summary: "A database's memories, then its relations; NDJSON", media: ndjsonType},
	{name: "import", method: "POST", path: "/v1/import", scope: Write, write: true, stream: true, handle: httpImport,
		summary: "Take NDJSON as export gives it; memories get new ids. A line is read when those before it are stored. With key, a second try stores nothing twice",
		query:   "key:string", result: "lines:integer! memories:integer! edges:integer! log_index:integer!"},
}

const ndjsonType = "application/x-ndjson"

type exportMemory struct {
	Type       string          `json:"type"`
	RID        string          `json:"rid"`
	Text       string          `json:"text"`
	MemoryType string          `json:"memory_type"`
	Importance float64         `json:"importance"`
	Valence    float64         `json:"valence"`
	HalfLife   float64         `json:"half_life"` // hours
	Created    float64         `json:"created_at"`
	Metadata   json.RawMessage `json:"metadata"`
	Namespace  string          `json:"namespace"`
	Certainty  float64         `json:"certainty"`
	Domain     string          `json:"domain"`
	Source     string          `json:"source"`
	Emotion    *string         `json:"emotional_state"`
	Session    string          `json:"session_id,omitempty"`
}

type exportEdge struct {
	Type    string  `json:"type"`
	ID      string  `json:"edge_id"`
	Src     string  `json:"src"`
	Dst     string  `json:"dst"`
	RelType string  `json:"rel_type"`
	Weight  float64 `json:"weight"`
}

// exportPage is how many rows are read at one view: a slow reader must not hold the state still.
const exportPage = 500

// export writes a database's memories, then its relations, a JSON object a line. A reader that is slow holds no view of
// the state open; one that takes nothing for writeTimeout is cut off. What breaks off half way ends without the
// last chunk, so that nobody takes it for the whole.
func (g *gateway) export(w http.ResponseWriter, r *http.Request, c Caller) error {
	w.Header().Set("Content-Type", ndjsonType)
	w.Header().Set("Cache-Control", "no-store")
	out := ndjson{enc: json.NewEncoder(w), rc: http.NewResponseController(w)}
	for next := oplog.Seq(1); next != 0 && out.err == nil; {
		var rows []exportMemory
		if rows, next, out.err = g.s.exportRows(c.DB, next); out.err == nil {
			writeLines(&out, rows)
		}
	}
	for from, more := "", true; more && out.err == nil; {
		var edges []exportEdge
		if edges, from, more, out.err = g.s.exportEdges(c.DB, from); out.err == nil {
			writeLines(&out, edges)
		}
	}
	if out.err != nil {
		panic(http.ErrAbortHandler) // the server's way to break a connection off
	}
	return nil
}

// ndjson writes a JSON value a line, until the first error.
type ndjson struct {
	enc *json.Encoder
	rc  *http.ResponseController
	err error
}

func writeLines[T any](out *ndjson, rows []T) {
	out.err = out.rc.SetWriteDeadline(time.Now().Add(writeTimeout))
	for i := range rows {
		if out.err == nil {
			out.err = out.enc.Encode(&rows[i])
		}
	}
}

func (s *Service) exportRows(db oplog.DB, from oplog.Seq) (rows []exportMemory, next oplog.Seq, err error) {
	err = s.state.Read(func(v *oplog.View) error {
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
func (s *Service) exportEdges(db oplog.DB, after string) (rows []exportEdge, last string, more bool, err error) {
	err = s.state.Read(func(v *oplog.View) error {
		v.EdgesBehind(db, after, func(e oplog.Edge) bool {
			if len(rows) == exportPage {
				more = true
				return false
			}
			rows, last = append(rows, exportEdge{"edge", e.ID, e.Src, e.Dst, e.Type, e.Weight}), e.ID
			return true
		})
		return nil
	})
	return rows, last, more, err
}

func exportRow(m *oplog.Memory) exportMemory {
	e := exportMemory{Type: "memory", RID: m.RID, Text: m.Text, MemoryType: m.Type, Importance: m.Importance, Valence: m.Valence,
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
