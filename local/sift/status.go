package sift

import (
	"context"

	"github.com/cairndb/cairn/local/kit"
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
func (s *Server) settings() kit.Object {
	days := map[string]float64{}
	for _, t := range []string{"Edit", "Read", "Grep", "Bash", "default"} {
		days[t] = halfLife(t).Hours() / 24
	}
	return kit.Object{"retrieval", kit.Object{"topK", defaultK, "maxK", maxK}, "decay", kit.Object{"floor", recencyFloor, "halfLifeDays", days},
		"consolidator", kit.Object{"model", model, "maxSummary", maxSummary, "deferred", false}, "shared", !s.cfg.Private}
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
	return kit.Object{"counts", n, "namespace", c.s.cfg.NS, "workspace", c.w.Key, "cwd", c.w.Dir, "backend", "extractive",
		"backends", map[string]bool{"extractive": true, "ollama": false, "anthropic": false}, "config", c.s.settings(), "cluster", c.s.place(ctx)}, err
}

// drain says how many events wait. None do: a summary is made with its event.
func drain(ctx context.Context, c *call) (any, error) {
	n, err := c.counts(ctx)
	return kit.Object{"processed", 0, "errors", 0, "pending", n.Raw, "backend", "extractive"}, err
}

// place asks what the node is in its cluster; nothing is told where that is not known.
func (s *Server) place(ctx context.Context) place {
	a, err := api.Place.Ask(ctx, s.cfg.Memory, &api.PlaceRequest{})
	if err != nil {
		return place{}
	}
	return place{NodeID: a.NodeID, Role: a.Role, LeaderID: a.Leader, Term: a.Term, CommitIndex: a.Commit, AppliedIndex: a.Applied, Peers: a.Peers}
}
