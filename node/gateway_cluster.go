package node

import (
	"cmp"
	"net/http"
	"slices"
	"time"

	"github.com/cairndb/cairn/oplog"
)

var clusterRoutes = []route{
	{name: "cluster", method: "GET", path: "/v1/cluster", handle: clusterStatus, summary: "The cluster as this node sees it",
		result: "clustered:boolean! message:string node_id:integer! role:string! role_label:string! configured_role:string! current_term:integer! leader_id:integer? leader_addr:string! leader_http:string! " +
			"accepts_writes:boolean! healthy:boolean! condition:string! quorum_size:integer! voted_for:integer? cluster_id:string! addr:string! wire:string! http:string! applied_index:integer! " +
			"commit_index:integer! lag_entries:integer? state_hash_index:integer! state_hash:string! state_agreement:string! clock_offset_ms:number! clock_off:boolean! version:string! uptime_secs:number! peers:[]Peer! set_aside:[]string hold_purge:boolean embedder:Embedder"},
	{name: "cluster_topology", method: "GET", path: "/v1/cluster/topology", scope: Read, handle: clusterTopology, summary: "The members of the cluster and where each is reached",
		result: "cluster_id:string! node_id:integer! leader_id:integer? term:integer! quorum_size:integer! nodes:[]Member!"},
	{name: "cluster_raft", method: "GET", path: "/v1/cluster/raft", scope: Read, handle: raftStatus, summary: "What this node knows of consensus",
		result: "node_id:integer! state:string! current_term:integer! current_leader:integer? last_log_index:integer! last_applied_index:integer! snapshot_index:integer! " +
			"millis_since_quorum_ack:integer? members:[]RaftMember! healthy:boolean!"},
	{name: "cluster_change", method: "POST", path: "/v1/cluster/{verb}", scope: Admin, handle: changeMembers,
		summary: "Change who belongs to the cluster: join, remove, promote, transfer. promote without a node_id asks leadership for this node",
		body:    "node_id:integer[0..4294967295] addr:string role:string force:boolean", result: "status:string! message:string! node_id:integer term:integer current_term:integer"},
	{name: "control_snapshot", method: "GET", path: "/v1/admin/control-snapshot", scope: Read, handle: controlSnapshot, summary: "Databases and tokens as they are replicated; the cluster secret only",
		result: "databases:[]KeptDatabase! tokens:[]KeptToken!"},
}

func clusterStatus(g *gateway, q *request) (any, error) { return g.s.Status(q.r.Context()), nil }

// clusterTopology is the same for all nodes: the one that answers is a line like the others.
func clusterTopology(g *gateway, q *request) (any, error) {
	st := g.s.Status(q.r.Context())
	me := PeerStatus{NodeID: st.NodeID, Addr: st.Addr, Wire: st.Wire, HTTP: st.HTTP, Role: "voter", State: st.Role, Voter: g.s.cfg.Role == RoleVoter, Reachable: true,
		Applied: st.Applied, Version: st.Version}
	if !me.Voter {
		me.Role = "readreplica"
	}
	nodes := append([]PeerStatus{me}, st.Peers...)
	slices.SortFunc(nodes, func(a, b PeerStatus) int { return cmp.Compare(a.NodeID, b.NodeID) })
	list := make([]map[string]any, len(nodes))
	for i, n := range nodes {
		list[i] = map[string]any{"node_id": n.NodeID, "role": n.Role, "state": n.State, "voter": n.Voter, "reachable": n.Reachable, "is_leader": st.LeaderID != nil && *st.LeaderID == n.NodeID,
			"addr": n.Addr, "wire": n.Wire, "http": g.s.gatewayURL(n.HTTP), "applied_index": n.Applied, "version": n.Version}
	}
	return map[string]any{"cluster_id": st.Cluster, "node_id": st.NodeID, "leader_id": st.LeaderID, "term": st.CurrentTerm, "quorum_size": st.QuorumSize, "nodes": list}, nil
}

// gatewayURL is the base that clients of another node's gateway need; nil while its address is not known.
func (s *Service) gatewayURL(addr string) any {
	if addr == "" {
		return nil
	}
	return s.cfg.scheme() + addr
}

func raftStatus(g *gateway, _ *request) (any, error) {
	rs := g.s.raft.Status()
	members := make([]map[string]any, len(rs.Members))
	for i, m := range rs.Members {
		members[i] = map[string]any{"node_id": m.ID, "addr": m.Addr, "is_voter": m.Voter}
	}
	row := map[string]any{"node_id": g.s.cfg.NodeID, "state": lower(rs.State), "current_term": rs.Term, "current_leader": nil, "last_log_index": rs.LastIndex,
		"last_applied_index": g.s.machine.applied.get(), "snapshot_index": rs.SnapshotIndex, "millis_since_quorum_ack": nil, "members": members, "healthy": false}
	if id, ok := g.s.machine.leader(); ok {
		row["current_leader"], row["healthy"] = id, true
	}
	if !rs.LastContact.IsZero() && !g.s.machine.leads() {
		row["millis_since_quorum_ack"] = time.Since(rs.LastContact).Milliseconds()
	}
	return row, nil
}

var memberVerbs = map[string]bool{"join": true, "leave": true, "remove": true, "promote": true, "transfer": true}

func changeMembers(g *gateway, q *request) (any, error) {
	req := MemberChange{Verb: q.r.PathValue("verb"), NodeID: uint32(q.body.whole("node_id", 0)), Addr: q.body.str("addr", ""), Role: q.body.str("role", ""), Force: q.body.flag("force", false)}
	if !memberVerbs[req.Verb] {
		return nil, oplog.Errorf(oplog.NotFound, "no such change of members")
	}
	if req.Verb == "promote" && req.NodeID == 0 && req.Addr == "" {
		return takeLead(g, q)
	}
	msg, err := g.s.ChangeMembers(q.r.Context(), q.c, req)
	if err != nil {
		return nil, err
	}
	return map[string]any{"status": "ok", "message": msg}, nil
}

// takeLead asks the leader to hand over to this node.
func takeLead(g *gateway, q *request) (any, error) {
	rs := g.s.raft.Status()
	if len(rs.Members) <= 1 || g.s.cfg.Role != RoleVoter {
		return nil, oplog.Errorf(oplog.Invalid, "only a voter of a cluster can be promoted")
	}
	if g.s.machine.leads() {
		return map[string]any{"status": "already_leader", "node_id": g.s.cfg.NodeID, "term": rs.Term, "message": "this node leads"}, nil
	}
	msg, err := g.s.ChangeMembers(q.r.Context(), q.c, MemberChange{Verb: "transfer", NodeID: g.s.cfg.NodeID})
	if err != nil {
		return nil, err
	}
	return map[string]any{"status": "election_started", "node_id": g.s.cfg.NodeID, "current_term": rs.Term, "message": msg}, nil
}

func controlSnapshot(g *gateway, q *request) (any, error) {
	if q.c.Token != "" {
		return nil, &statusError{status: http.StatusForbidden, code: "forbidden", err: oplog.Errorf(oplog.Denied, "the cluster secret is needed")}
	}
	dbs, tokens := []map[string]any{}, []map[string]any{}
	err := g.s.state.Read(func(v *oplog.View) error {
		for _, d := range v.Databases() {
			dbs = append(dbs, map[string]any{"id": d.ID, "name": d.Name, "path": d.Name, "created_at": d.Created.Time().UTC().Format(time.DateTime)})
		}
		for _, t := range byAge(v.Tokens()) {
			if t.Revoked == 0 {
				tokens = append(tokens, map[string]any{"hash": t.Hash, "database_id": t.DB, "label": t.Label, "created_at": t.Created.Time().UTC().Format(time.DateTime)})
			}
		}
		return nil
	})
	return map[string]any{"databases": dbs, "tokens": tokens}, err
}
