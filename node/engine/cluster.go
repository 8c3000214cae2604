package engine

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

func (s *Service) cluster(ctx context.Context, _ api.Caller, _ *api.Nothing) (*api.ClusterStatus, error) {
	st := s.Status(ctx)
	return &st, nil
}

// topology is the same for all nodes: the one that answers is a line like the others.
func (s *Service) topology(ctx context.Context, _ api.Caller, _ *api.Nothing) (*api.TopologyAnswer, error) {
	st := s.Status(ctx)
	voter := s.cfg.Member.Role == raft.RoleVoter
	nodes := append([]api.Peer{{NodeID: st.NodeID, Addr: st.Addr, Wire: st.Wire, HTTP: st.HTTP, Role: roleOf(voter), State: st.Role, Voter: voter, Reachable: true, Vitals: st.Vitals}}, st.Peers...)
	slices.SortFunc(nodes, func(a, b api.Peer) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return &api.TopologyAnswer{Cluster: st.Cluster, NodeID: st.NodeID, LeaderID: st.LeaderID, Term: st.CurrentTerm, QuorumSize: st.QuorumSize, Nodes: each(nodes, func(n api.Peer) api.Member {
		m := api.Member{NodeID: n.NodeID, Role: n.Role, State: n.State, Voter: n.Voter, Reachable: n.Reachable, IsLeader: st.LeaderID != nil && *st.LeaderID == n.NodeID,
			Addr: n.Addr, Wire: n.Wire, Applied: n.Applied, Version: n.Version}
		if n.HTTP != "" {
			m.HTTP = orNil(s.cfg.Scheme + n.HTTP)
		}
		return m
	})}, nil
}

// roleOf is a member's role as answers have it.
func roleOf(voter bool) string {
	if voter {
		return "voter"
	}
	return "readreplica"
}

// knownLeader is the leader as answers have it, nil while none is known.
func (s *Service) knownLeader() *uint32 {
	if id, ok := s.commit.Leader(); ok {
		return &id
	}
	return nil
}

func (s *Service) raftState(context.Context, api.Caller, *api.Nothing) (*api.RaftState, error) {
	rs := s.raft.Status()
	a := &api.RaftState{NodeID: s.cfg.Member.NodeID, State: lower(rs.State), Term: rs.Term, LastIndex: rs.LastIndex, Applied: s.commit.Applied(), Snapshot: rs.SnapshotIndex,
		Leader: s.knownLeader(), Members: each(rs.Members, func(m raft.Member) api.RaftMember { return api.RaftMember{NodeID: m.ID, Addr: m.Addr, Voter: m.Voter} })}
	a.Healthy = a.Leader != nil
	if !rs.LastContact.IsZero() && !s.commit.Leads() {
		a.SinceContact = new(time.Since(rs.LastContact).Milliseconds())
	}
	return a, nil
}

// changeMembers changes who belongs to the cluster, through the leader.
func (s *Service) changeMembers(ctx context.Context, c api.Caller, q *api.ChangeMembersRequest) (*api.MembersChanged, error) {
	if !slices.Contains(api.MemberVerbs, q.Verb) {
		return nil, oplog.Errorf(oplog.NotFound, "unknown change of members: want join, leave, remove, promote or transfer")
	}
	if q.Verb == "promote" && q.NodeID == 0 && q.Addr == "" {
		return s.takeLead(ctx, c)
	}
	msg, err := s.askMembers(ctx, c, *q)
	return &api.MembersChanged{Status: "ok", Message: msg}, err
}

// takeLead asks the leader to hand over to this node.
func (s *Service) takeLead(ctx context.Context, c api.Caller) (*api.MembersChanged, error) {
	rs := s.raft.Status()
	if len(rs.Members) <= 1 || s.cfg.Member.Role != raft.RoleVoter {
		return nil, oplog.Errorf(oplog.Invalid, "only a voter of a cluster can be promoted")
	}
	if s.commit.Leads() {
		return &api.MembersChanged{Status: "already_leader", NodeID: s.cfg.Member.NodeID, Term: rs.Term, Message: "this node leads"}, nil
	}
	msg, err := s.askMembers(ctx, c, api.ChangeMembersRequest{Verb: "transfer", NodeID: s.cfg.Member.NodeID})
	return &api.MembersChanged{Status: "election_started", NodeID: s.cfg.Member.NodeID, From: rs.Term, Message: msg}, err
}

// askMembers has the leader carry out a change.
func (s *Service) askMembers(ctx context.Context, c api.Caller, q api.ChangeMembersRequest) (string, error) {
	if q.Verb == "leave" {
		q.Verb, q.NodeID = "remove", s.cfg.Member.NodeID
	}
	msg, err := s.raft.Change(ctx, wire.Membership{Action: q.Verb, NodeID: q.NodeID, Addr: q.Addr, Role: q.Role, Force: q.Force, Asker: access.AskerOf(c)})
	if err != nil {
		return "", &oplog.Error{Kind: oplog.Conflict, Text: strings.TrimSpace(fmt.Sprint(err)), Err: err}
	}
	return msg, nil
}

func (s *Service) controlSnapshot(v *state.View, c api.Caller, _ *api.ReadRequest) (*api.Control, error) {
	if !c.May(api.Admin) {
		return nil, &api.Refusal{Code: "forbidden", Err: oplog.Errorf(oplog.Denied, "a token with the scope admin is needed")}
	}
	valid := slices.DeleteFunc(byAge(v.Tokens()), func(t oplog.Token) bool { return t.Revoked != 0 })
	return &api.Control{Databases: each(v.Databases(), func(d oplog.Database) api.KeptDatabase {
		return api.KeptDatabase{ID: d.ID, Name: d.Name, Path: d.Name, Created: d.Created.Time().UTC().Format(time.DateTime)}
	}), Tokens: each(valid, func(t oplog.Token) api.KeptToken {
		return api.KeptToken{Hash: t.Hash, DB: t.DB, Label: t.Label, Created: t.Created.Time().UTC().Format(time.DateTime)}
	})}, nil
}
