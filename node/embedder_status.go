package node

import (
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/oplog"
)

// An EmbedderStatus is how this node's embedder does, and how much waits for it.
type EmbedderStatus struct {
	Name        string   `json:"name"`
	Up          bool     `json:"up"`    // it answered when it was asked last
	Queue       uint64   `json:"queue"` // memories without a vector, in the databases that it embeds; the leader embeds them
	Failures    uint64   `json:"failures"`
	LastError   *string  `json:"last_error"`
	LastErrorAt *float64 `json:"last_error_at"`
}

// embedderStatus is nil on a node without an embedder.
func (s *Service) embedderStatus() *EmbedderStatus {
	if s.embedder == nil {
		return nil
	}
	is, self := s.embedder.State(), s.identity()
	out := &EmbedderStatus{Name: self.String(), Up: is.Up, Queue: s.unembedded(), Failures: is.Failures}
	if !is.ErrorAt.IsZero() {
		at := float64(is.ErrorAt.UnixMilli()) / 1e3
		out.LastError, out.LastErrorAt = &is.LastError, &at
	}
	return out
}

// unembedded counts the memories that wait for a vector.
func (s *Service) unembedded() (n uint64) {
	_ = s.state.Read(func(v *oplog.View) error { // a closing state has none
		for _, d := range v.Databases() {
			if s.embedsFor(d) {
				have, of := s.index.WithVectors(d.ID)
				n += uint64(of - have)
			}
		}
		return nil
	})
	return n
}

// row is the status as a part of an answer that has other fields.
func (e *EmbedderStatus) row() map[string]any {
	if e == nil {
		return map[string]any{}
	}
	return map[string]any{"up": e.Up, "queue": e.Queue, "failures": e.Failures, "last_error": e.LastError, "last_error_at": e.LastErrorAt}
}

const embedderKeys = "up:boolean queue:integer failures:integer last_error:string| last_error_at:number|"

// withoutVector counts the memories of a database that wait for a vector.
func withoutVector(s *Service, _ *oplog.View, d oplog.Database) (float64, bool) {
	if !s.embedsFor(d) {
		return 0, false
	}
	have, of := s.index.WithVectors(d.ID)
	return float64(of - have), true
}

// ofEmbedder is a number of this node's embedder; absent where there is none.
func ofEmbedder(name, kind, help string, value func(embed.State) float64) Metric {
	return Metric{Name: name, Help: help, Kind: kind, read: func(g *gateway, put func(float64, ...string)) {
		if g.s.embedder != nil {
			put(value(g.s.embedder.State()))
		}
	}}
}

// embedderCheck is a line of the deep health. It does not decide the verdict: a node whose embedder fails stores and finds.
func (s *Service) embedderCheck() map[string]any {
	start, is := time.Now(), s.embedderStatus()
	row := is.row()
	row["check"], row["pass"], row["required"] = "embedder", is.Up, false
	row["latency_ms"] = float64(time.Since(start).Microseconds()) / 1e3
	if !is.Up && is.LastError != nil {
		row["error"] = *is.LastError
	}
	return row
}
