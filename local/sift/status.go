package sift

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// counts of a workspace. raw + summarized + skipped = events.
type counts struct {
	Events     uint64 `json:"events"`
	Raw        uint64 `json:"raw"`
	Summarized uint64 `json:"summarized"`
	Skipped    uint64 `json:"skipped"`
	Summaries  uint64 `json:"summaries"`
	Embeddings uint64 `json:"embeddings"`
	Superseded uint64 `json:"superseded"`
	Sessions   uint64 `json:"sessions"`
}

func (c *call) counts(ctx context.Context) (n counts, err error) {
	err = c.s.cfg.Memory.View(ctx, func(v *state.View, db oplog.DB) error {
		e := v.EventCounts(db, c.ns)
		kept := v.NamespaceStats(db, c.ns)
		n = counts{Events: e.Events, Raw: e.Raw, Summarized: e.Summarized, Skipped: e.Skipped, Summaries: e.Summarized, Sessions: e.Sessions,
			Superseded: kept.Consolidated}
		if d, ok := v.Database(db); ok && d.Embedder != nil { // some may wait for their vector
			v.NamespaceFrom(db, c.ns, 0, func(seq oplog.Seq) bool {
				if len(v.Vector(db, seq)) > 0 {
					n.Embeddings++
				}
				return ctx.Err() == nil
			})
			n.Embeddings = min(n.Embeddings, kept.Active+kept.Consolidated) // a forgotten one may have its vector still
		}
		return nil
	})
	return n, err
}

// settings are the numbers in force, as status shows them.
type settings struct {
	Retrieval struct {
		TopK int `json:"topK"`
		MaxK int `json:"maxK"`
	} `json:"retrieval"`
	Decay struct {
		Floor        float64            `json:"floor"`
		HalfLifeDays map[string]float64 `json:"halfLifeDays"`
	} `json:"decay"`
	Consolidator struct {
		Model      string `json:"model"`
		MaxSummary int    `json:"maxSummary"`
		Deferred   bool   `json:"deferred"`
	} `json:"consolidator"`
	Shared bool `json:"shared"`
}

func (s *Server) settings() (c settings) {
	c.Retrieval.TopK, c.Retrieval.MaxK = defaultK, maxK
	c.Decay.Floor = recencyFloor
	c.Decay.HalfLifeDays = map[string]float64{}
	for _, t := range []string{"Edit", "Read", "Grep", "Bash", "default"} {
		c.Decay.HalfLifeDays[t] = halfLife(t).Hours() / 24
	}
	c.Consolidator.Model, c.Consolidator.MaxSummary = model, maxSummary
	c.Shared = !s.cfg.Private
	return c
}

// place is what status tells of the node's place in its cluster.
type place struct {
	NodeID       uint32      `json:"nodeId"`
	Role         string      `json:"role"`
	LeaderID     *uint32     `json:"leaderId"`
	Term         uint64      `json:"term"`
	CommitIndex  uint64      `json:"commitIndex"`
	AppliedIndex oplog.Index `json:"appliedIndex"`
	Peers        int         `json:"peers"`
}

func status(ctx context.Context, c *call) (any, error) {
	n, err := c.counts(ctx)
	return struct {
		Counts    counts          `json:"counts"`
		Namespace string          `json:"namespace"`
		Workspace string          `json:"workspace"`
		Cwd       string          `json:"cwd"`
		Backend   string          `json:"backend"`
		Backends  map[string]bool `json:"backends"`
		Config    settings        `json:"config"`
		Cluster   place           `json:"cluster"`
	}{n, c.s.cfg.NS, c.w.Key, c.w.Dir, "extractive", map[string]bool{"extractive": true, "ollama": false, "anthropic": false},
		c.s.settings(), c.s.place(ctx)}, err
}

// drain says how many events wait. None do: a summary is made with its event.
func drain(ctx context.Context, c *call) (any, error) {
	n, err := c.counts(ctx)
	return struct {
		Processed int    `json:"processed"`
		Errors    int    `json:"errors"`
		Pending   uint64 `json:"pending"`
		Backend   string `json:"backend"`
	}{0, 0, n.Raw, "extractive"}, err
}

// place asks what the node is in its cluster; nothing is told where that is not known.
func (s *Server) place(ctx context.Context) place {
	a, err := api.Place.Ask(ctx, s.cfg.Memory, &api.PlaceRequest{})
	if err != nil {
		return place{}
	}
	return place{NodeID: a.NodeID, Role: a.Role, LeaderID: a.Leader, Term: a.Term, CommitIndex: a.Commit, AppliedIndex: a.Applied, Peers: a.Peers}
}
