package embedding

import (
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Names lists this node's embedders, for a person: the configured one, the models of its folder, the built-in one.
func (v *Vectors) Names() []string { return v.models.names() }

// State returns the health of the configured embedder; false on a node without one.
func (v *Vectors) State() (is embed.State, configured bool) {
	if g := v.models.configured; g != nil {
		return g.State(), true
	}
	return is, false
}

// Status reports the configured embedder; nil on a node without one.
func (v *Vectors) Status() *api.Embedder {
	g := v.models.configured
	if g == nil {
		return nil
	}
	return &api.Embedder{Name: g.Identity().String(), EmbedderState: v.stateOf(g)}
}

// Check is a line of the deep health; false on a node without an embedder. It does not change the verdict: without its
// embedder a node still stores, and finds by words.
func (v *Vectors) Check() (c api.Check, configured bool) {
	is := v.Status()
	if is == nil {
		return c, false
	}
	c = api.Check{Check: "embedder", Pass: is.Up, Required: new(bool), EmbedderState: &is.EmbedderState}
	if !is.Up && is.LastError != nil {
		c.Error = *is.LastError
	}
	return c, true
}

// Waiting counts the memories of a database that wait for a vector; false when this node does not embed them.
func (v *Vectors) Waiting(d oplog.Database) (n uint64, embeds bool) {
	if v.embedderOf(d) == nil {
		return 0, false
	}
	have, of := v.cfg.Index.WithVectors(d.ID)
	return uint64(of - have), true
}

// stateOf returns the health of an embedder, with the number of memories that wait for it.
func (v *Vectors) stateOf(g *embed.Guard) api.EmbedderState {
	is := g.State()
	out := api.EmbedderState{Up: !is.Down, Failures: is.Failures}
	if !is.ErrorAt.IsZero() {
		out.LastError, out.LastErrorAt = &is.LastError, new(float64(is.ErrorAt.UnixMilli())/1e3)
	}
	all, _ := state.Get(v.cfg.State, (*state.View).Databases) // a closing state has none
	for _, d := range all {
		if v.embedderOf(d) == g {
			n, _ := v.Waiting(d)
			out.Queue += n
		}
	}
	return out
}
