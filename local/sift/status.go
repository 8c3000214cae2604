package sift

import (
	"context"

	"github.com/cairndb/cairn/local/kit"
	"github.com/cairndb/cairn/node/api"
)

func (c *call) counts(ctx context.Context) (*api.WorkspaceCounts, error) {
	return api.Workspace.Ask(ctx, c.s.cfg.Memory, &api.WorkspaceRequest{Namespace: c.ns})
}

// countsObject formats the counts of a workspace. raw + summarized + skipped = events.
func countsObject(w *api.WorkspaceCounts) kit.Object {
	e := w.Events
	return kit.Object{"events", e.Events, "raw", e.Raw, "summarized", e.Summarized, "skipped", e.Skipped, "summaries",
		e.Summarized, "embeddings", w.Embedded,
		"superseded", w.Memories.Consolidated, "sessions", e.Sessions}
}

// settings returns the configured limits and rates for status.
func (s *Server) settings() kit.Object {
	days := map[string]float64{}
	for _, t := range []string{"Edit", "Read", "Grep", "Bash", "default"} {
		days[t] = halfLife(t).Hours() / 24
	}
	return kit.Object{"retrieval", kit.Object{"topK", defaultK, "maxK", maxK}, "decay",
		kit.Object{"floor", recencyFloor, "halfLifeDays", days},
		"consolidator", kit.Object{"model", model, "maxSummary", maxSummary, "deferred", false}, "shared", !s.cfg.Private}
}

func status(ctx context.Context, c *call) (any, error) {
	w, err := c.counts(ctx)
	if err != nil {
		return nil, err
	}
	at := c.s.nodeRole(ctx)
	return kit.Object{"counts", countsObject(w), "namespace", c.s.cfg.NS, "workspace", c.w.Key, "cwd", c.w.Dir, "backend", "extractive",
		"backends", map[string]bool{"extractive": true, "ollama": false, "anthropic": false}, "config", c.s.settings(),
		"cluster", kit.Object{"nodeId", at.NodeID, "role", at.Role, "leaderId", at.Leader, "term", at.Term, "commitIndex",
			at.Commit, "appliedIndex", at.Applied, "peers", at.Peers}}, nil
}

// drain reports how many events wait. It has nothing to do, because a summary is made with its event.
func drain(ctx context.Context, c *call) (any, error) {
	w, err := c.counts(ctx)
	if err != nil {
		return nil, err
	}
	return kit.Object{"processed", 0, "errors", 0, "pending", w.Events.Raw, "backend", "extractive"}, nil
}

// nodeRole returns the node's role in its cluster, or zeros if it is unknown.
func (s *Server) nodeRole(ctx context.Context) api.PlaceAnswer {
	a, err := api.Place.Ask(ctx, s.cfg.Memory, &api.Nothing{})
	if err != nil {
		return api.PlaceAnswer{}
	}
	return *a
}
