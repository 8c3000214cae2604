package engine

import (
	"time"

	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// embedderStatus is that of the configured embedder; nil on a node without one.
func (s *Service) embedderStatus() *api.Embedder {
	g := s.embedders.configured
	if g == nil {
		return nil
	}
	return &api.Embedder{Name: g.Identity().String(), EmbedderState: s.stateOf(g)}
}

// stateOf is how an embedder does.
func (s *Service) stateOf(g *embed.Guard) api.EmbedderState {
	is := g.State()
	out := api.EmbedderState{Up: !is.Down, Queue: s.unembedded(g), Failures: is.Failures}
	if !is.ErrorAt.IsZero() {
		at := float64(is.ErrorAt.UnixMilli()) / 1e3
		out.LastError, out.LastErrorAt = &is.LastError, &at
	}
	return out
}

// unembedded counts the memories that wait for a vector of an embedder.
func (s *Service) unembedded(g *embed.Guard) (n uint64) {
	_ = s.state.Read(func(v *state.View) error { // a closing state has none
		for _, d := range v.Databases() {
			if s.embedsFor(d) == g {
				have, of := s.index.WithVectors(d.ID)
				n += uint64(of - have)
			}
		}
		return nil
	})
	return n
}

// withoutVector counts the memories of a database that wait for a vector.
func withoutVector(s *Service, _ *state.View, d oplog.Database) (float64, bool) {
	if s.embedsFor(d) == nil {
		return 0, false
	}
	have, of := s.index.WithVectors(d.ID)
	return float64(of - have), true
}

// ofEmbedder is a number of this node's embedder; absent where there is none.
func ofEmbedder(name, kind, help string, value func(embed.State) float64) Metric {
	return Metric{Name: name, Help: help, Kind: kind, read: func(m *Metrics, put func(float64, ...string)) {
		if g := m.s.embedders.configured; g != nil {
			put(value(g.State()))
		}
	}}
}

// embedderCheck is a line of the deep health. It does not change the verdict: without its embedder a node still stores, and finds by words.
func (s *Service) embedderCheck() api.Check {
	start, is := time.Now(), s.embedderStatus()
	c := api.Check{Check: "embedder", Pass: is.Up, Millis: millis(time.Since(start)), Required: new(bool), EmbedderState: &is.EmbedderState}
	if !is.Up && is.LastError != nil {
		c.Error = *is.LastError
	}
	return c
}
