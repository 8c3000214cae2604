package node

import (
	"fmt"
	"net/http"
	"time"

	"github.com/cairndb/cairn/oplog"
)

var infoRoutes = []route{
	{name: "health", method: "GET", path: "/v1/health", handle: httpHealth, summary: "Whether the node lives; always 200",
		result: "status:string! engines_loaded:integer! node_id:integer! version:string! applied_index:integer! writable:boolean! condition:string! capabilities:[]string! cluster:Health"},
	{name: "health_deep", method: "GET", path: "/v1/health/deep", handle: httpHealthDeep, summary: "Whether state, index and quorum answer; 503 when one does not. How the embedder does is told beside it and decides nothing", result: "status:string! checks:[]Check!"},
	{name: "health_ready", method: "GET", path: "/v1/health/ready", handle: httpReady, summary: "Whether the node has caught up since its start and is not far behind; 503 when it has not. A node that loses its leader stays ready: it goes on reading. behind is null while no leader is heard",
		result: "ready:boolean! behind:integer? applied_index:integer!"},
	{name: "events", method: "GET", path: "/v1/events", scope: Read, handle: direct((*gateway).events), summary: "What happens, as an event stream; Last-Event-ID or from resumes behind a log index",
		query: "from:integer[0..] type:string", media: "text/event-stream"},
	{name: "pack_context", method: "GET", path: "/v1/pack-context", scope: Read, handle: httpPackContext, summary: "Always empty: there are no packs here",
		result: "pack_context:string? packs_pending:[]string! packs_poisoned:[]string!"},
}

func httpHealth(g *gateway, q *request) (any, error) {
	r := map[string]any{"status": "ok", "engines_loaded": g.s.databases(), "node_id": g.s.cfg.NodeID, "version": g.s.cfg.Version,
		"applied_index": g.s.machine.applied.get(), "writable": g.s.machine.leads(), "condition": said(g.s.condition(q.r.Context())), "capabilities": []string{"idempotency_key"}}
	if len(g.s.cfg.Peers) > 0 {
		r["cluster"] = g.s.clusterHealth()
	}
	return r, nil
}

func (s *Service) databases() (n int) {
	_ = s.state.Read(func(v *oplog.View) error { // a closing state has none
		n = len(v.Databases())
		return nil
	})
	return n
}

func (s *Service) clusterHealth() map[string]any {
	rs := s.raft.Status()
	var leader any
	if id, ok := s.machine.leader(); ok {
		leader = id
	}
	role := s.role(rs)
	return map[string]any{"node_id": s.cfg.NodeID, "role": role, "role_label": lower(role), "term": rs.Term, "leader": leader,
		"accepts_writes": s.machine.leads(), "healthy": leader != nil, "last_log_index": rs.LastIndex, "last_applied_index": s.machine.applied.get(),
		"replication_lag_log_entries": s.lacks()}
}

func lower(role string) string {
	if role == "" {
		return ""
	}
	return string(role[0]|0x20) + role[1:]
}

func httpHealthDeep(g *gateway, q *request) (any, error) {
	checks := []map[string]any{}
	healthy := true
	check := func(name string, f func() error, more map[string]any) {
		start := time.Now()
		err := f()
		row := map[string]any{"check": name, "pass": err == nil, "latency_ms": float64(time.Since(start).Microseconds()) / 1e3}
		if err != nil {
			healthy = false
			row["error"] = err.Error()
		}
		for k, v := range more {
			row[k] = v
		}
		checks = append(checks, row)
	}
	check("control_db", func() error { return g.s.state.Read(func(*oplog.View) error { return nil }) }, map[string]any{"databases": g.s.databases()})
	check("engine_lock", func() error {
		if lag := g.s.machine.applied.get() - min(g.s.machine.applied.get(), g.s.machine.indexed.get()); lag > maxReadyLag {
			return fmt.Errorf("the index is %d entries behind", lag)
		}
		return nil
	}, nil)
	if len(g.s.cfg.Peers) > 0 {
		check("cluster_quorum", func() error {
			if _, ok := g.s.machine.leader(); !ok {
				return ErrNoLeader
			}
			return nil
		}, g.s.clusterHealth())
	}
	if g.s.embedder != nil {
		checks = append(checks, g.s.embedderCheck())
	}
	status, code := "healthy", http.StatusOK
	if !healthy {
		status, code = "degraded", http.StatusServiceUnavailable
	}
	writeJSON(q.w, code, map[string]any{"status": status, "checks": checks})
	return streamed{}, nil
}

// maxReadyLag is how many entries a node may be behind and still be sent readers.
const maxReadyLag = 10_000

func httpReady(g *gateway, q *request) (any, error) {
	ready, code := g.s.ready(), http.StatusOK
	if !ready {
		code = http.StatusServiceUnavailable
	}
	writeJSON(q.w, code, map[string]any{"ready": ready, "behind": g.s.behind(&g.s.machine.indexed), "applied_index": g.s.machine.indexed.get()})
	return streamed{}, nil
}

func httpPackContext(*gateway, *request) (any, error) {
	return map[string]any{"pack_context": nil, "packs_pending": []string{}, "packs_poisoned": []string{}}, nil
}
