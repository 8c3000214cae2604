package node

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/cairndb/cairn/oplog"
)

type logLine struct {
	Index      oplog.Index `json:"index"`
	Number     int         `json:"number"`
	Time       float64     `json:"time"`
	Node       uint32      `json:"node"`
	Database   string      `json:"database,omitempty"`
	Operations []logOp     `json:"operations"`
}

type logOp struct {
	Kind string `json:"kind"`
	ID   string `json:"id,omitempty"`
}

const maxLogLines = 10_000

// tail writes the applied entries from an index on, without what they say. With wait_ms it waits for the first.
func (g *gateway) tail(w http.ResponseWriter, r *http.Request, c Caller) error {
	from, err := intParam(r, "from", 0)
	if err != nil {
		return err
	}
	limit, err := intParam(r, "limit", 100)
	if err != nil {
		return err
	}
	wait, err := intParam(r, "wait_ms", 0)
	if err != nil {
		return err
	}
	if wait > 0 {
		ctx, cancel := context.WithTimeout(r.Context(), min(time.Duration(wait)*time.Millisecond, time.Minute))
		_ = g.s.machine.applied.wait(ctx, oplog.Index(from)) // nothing new is an empty answer
		cancel()
	}
	only := r.URL.Query().Get("database")
	lines, err := g.s.logLines(oplog.Index(from), min(limit, maxLogLines), only)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	for _, l := range lines {
		if err := enc.Encode(l); err != nil {
			return nil // the client went away
		}
	}
	return nil
}

// logLines reads the log. from 0 means the newest lines.
func (s *Service) logLines(from oplog.Index, limit int, only string) (lines []logLine, err error) {
	err = s.state.Read(func(v *oplog.View) error {
		names := map[oplog.DB]string{}
		for _, d := range v.Databases() {
			names[d.ID] = d.Name
		}
		if from == 0 {
			if at := v.Index(); at > oplog.Index(limit) {
				from = at - oplog.Index(limit) + 1
			}
		}
		return v.Log(from, func(o oplog.Outcome) bool {
			if only != "" && names[o.Entry.DB] != only {
				return true
			}
			l := logLine{Index: o.Index, Number: o.Number, Time: o.HLC.Time().Seconds(), Node: o.Entry.Node, Database: names[o.Entry.DB]}
			for _, op := range o.Entry.Ops {
				l.Operations = append(l.Operations, logOp{op.Kind().String(), oplog.Subject(op)})
			}
			lines = append(lines, l)
			return len(lines) < limit
		})
	})
	return lines, err
}

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

// export writes a database's memories, then its relations, a JSON object a line.
func (g *gateway) export(w http.ResponseWriter, r *http.Request, c Caller) error {
	c, err := g.s.Select(c, r.URL.Query().Get("database"))
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	enc := json.NewEncoder(w)
	for next := oplog.Seq(1); next != 0; {
		rows, after, err := g.s.exportRows(c.DB, next)
		if err != nil {
			return err
		}
		for i := range rows {
			if enc.Encode(&rows[i]) != nil {
				return nil
			}
		}
		next = after
	}
	var edges []exportEdge
	err = g.s.state.Read(func(v *oplog.View) error {
		v.AllEdges(c.DB, func(e oplog.Edge) bool {
			edges = append(edges, exportEdge{"edge", e.ID, e.Src, e.Dst, e.Type, e.Weight})
			return true
		})
		return nil
	})
	if err != nil {
		return err
	}
	for _, e := range edges {
		if enc.Encode(e) != nil {
			return nil
		}
	}
	return nil
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
