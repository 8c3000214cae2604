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
		g.busy.Add(-1) // it waits, and works on nothing
		ctx, cancel := context.WithTimeout(r.Context(), min(time.Duration(wait)*time.Millisecond, time.Minute))
		_ = g.s.machine.applied.wait(ctx, oplog.Index(from)) // nothing new is an empty answer
		cancel()
		g.busy.Add(1)
	}
	only := r.URL.Query().Get("database")
	lines, err := g.s.logLines(oplog.Index(from), min(limit, maxLogLines), only)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", ndjsonType)
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
