package embedding

import (
	"github.com/cairndb/cairn/index/embed"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// Names lists the names of this node's embedders: the configured one, the models in its folder, and the built-in one.
func (v *Vectors) Names() []string { return v.models.names() }

// State returns the health of the configured embedder. configured is false on a node without one.
func (v *Vectors) State() (health embed.State, configured bool) {
	if g := v.models.configured; g != nil {
		return g.State(), true
	}
	return health, false
}

// Status returns the configured embedder with its health, or nil on a node without one.
func (v *Vectors) Status() *api.Embedder {
	g := v.models.configured
	if g == nil {
		return nil
	}
	return &api.Embedder{Name: g.Identity().String(), EmbedderState: v.stateOf(g)}
}

// Check returns the embedder's line of the deep health check. configured is false on a node without one. A failing
// embedder does not change the status, because the node still stores memories and finds them by words.
func (v *Vectors) Check() (c api.Check, configured bool) {
	status := v.Status()
	if status == nil {
		return c, false
	}
	c = api.Check{Check: "embedder", Pass: status.Up, Required: new(bool), EmbedderState: &status.EmbedderState}
	if !status.Up && status.LastError != nil {
		c.Error = *status.LastError
	}
	return c, true
}

// Waiting counts the memories of a database that wait for a vector. embeds is false if this node does not embed them.
func (v *Vectors) Waiting(d oplog.Database) (n uint64, embeds bool) {
	if v.embedderOf(d) == nil {
		return 0, false
	}
	embedded, total := v.cfg.Index.WithVectors(d.ID)
	return uint64(total - embedded), true
}

// stateOf returns the health of an embedder, with the number of memories that wait for it.
func (v *Vectors) stateOf(g *embed.Guard) api.EmbedderState {
	health := g.State()
	out := api.EmbedderState{Up: !health.Down, Failures: health.Failures}
	if !health.ErrorAt.IsZero() {
		out.LastError, out.LastErrorAt = &health.LastError, new(float64(health.ErrorAt.UnixMilli())/1e3)
	}
	all, _ := state.Get(v.cfg.State, (*state.View).Databases) // none while the state is closing
	for _, d := range all {
		if v.embedderOf(d) == g {
			n, _ := v.Waiting(d)
			out.Queue += n
		}
	}
	return out
}
