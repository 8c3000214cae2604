package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// Report returns the status of the cluster.
func (cl *Cluster) Report(ctx context.Context, _ api.Caller, _ *api.Nothing) (*api.ClusterStatus, error) {
	st := cl.Status(ctx)
	return &st, nil
}

// Topology returns all nodes in the same form, including the one that answers.
func (cl *Cluster) Topology(ctx context.Context, _ api.Caller, _ *api.Nothing) (*api.TopologyAnswer, error) {
	st := cl.Status(ctx)
	nodes := append([]api.Peer{{NodeID: st.NodeID, Addr: st.Addr, Wire: st.Wire, HTTP: st.HTTP, Role: RoleOf(st.Voter),
		State: st.Role, Voter: st.Voter, Reachable: true, Vitals: st.Vitals}}, st.Peers...)
	slices.SortFunc(nodes, func(a, b api.Peer) int { return cmp.Compare(a.NodeID, b.NodeID) })
	a := &api.TopologyAnswer{Cluster: st.Cluster, NodeID: st.NodeID, LeaderID: st.LeaderID, Term: st.CurrentTerm, QuorumSize: st.QuorumSize}
	for _, n := range nodes {
		m := memberOf(n)
		if m.IsLeader = st.LeaderID != nil && *st.LeaderID == n.NodeID; m.HTTP != nil {
			m.HTTP = new(cl.cfg.Scheme + n.HTTP)
		}
		a.Nodes = append(a.Nodes, m)
	}
	return a, nil
}

var (
	memberOf     = api.Made[api.Peer, api.Member]()
	raftMemberOf = api.Made[raft.Member, api.RaftMember]()
)

// isVoter reports whether this node has a vote. A promoted replica has one, whatever its configuration.
func (cl *Cluster) isVoter() bool {
	return slices.ContainsFunc(cl.raft.Status().Members, func(m raft.Member) bool { return m.ID == cl.cfg.Member.NodeID && m.Voter })
}

// RoleOf returns a member's role as in answers.
func RoleOf(voter bool) string {
	if voter {
		return "voter"
	}
	return "readreplica"
}

// knownLeader returns the leader's id as in answers, nil if unknown.
func (cl *Cluster) knownLeader() *uint32 {
	if id, ok := cl.cfg.Commit.Leader(); ok {
		return &id
	}
	return nil
}

// Raft reports this node's Raft state.
func (cl *Cluster) Raft(context.Context, api.Caller, *api.Nothing) (*api.RaftState, error) {
	rs := cl.raft.Status()
	a := &api.RaftState{NodeID: cl.cfg.Member.NodeID, State: lowerFirst(rs.State), Term: rs.Term, LastIndex: rs.LastIndex,
		Applied: cl.cfg.Commit.Applied(), Snapshot: rs.SnapshotIndex,
		Leader: cl.knownLeader(), Members: api.Each(rs.Members, raftMemberOf)}
	a.Healthy = a.Leader != nil
	if !rs.LastContact.IsZero() && !cl.cfg.Commit.Leads() {
		a.SinceContact = new(time.Since(rs.LastContact).Milliseconds())
	}
	return a, nil
}

// ChangeMembers changes the membership, through the leader.
func (cl *Cluster) ChangeMembers(ctx context.Context, c api.Caller, q *api.ChangeMembersRequest) (*api.MembersChanged, error) {
	if !slices.Contains(api.MemberVerbs, q.Verb) {
		return nil, oplog.Errorf(oplog.NotFound, "unknown change of members: want join, leave, remove, promote or transfer")
	}
	if q.Verb == "promote" && q.NodeID == 0 && q.Addr == "" {
		return cl.requestLeadership(ctx, c)
	}
	msg, err := cl.requestChange(ctx, c, *q)
	return &api.MembersChanged{Status: "ok", Message: msg}, err
}

// requestLeadership asks the leader to transfer leadership to this node.
func (cl *Cluster) requestLeadership(ctx context.Context, c api.Caller) (*api.MembersChanged, error) {
	rs := cl.raft.Status()
	if len(rs.Members) <= 1 || !cl.isVoter() {
		return nil, oplog.Errorf(oplog.Invalid, "only a voter of a cluster can be promoted")
	}
	if cl.cfg.Commit.Leads() {
		return &api.MembersChanged{Status: "already_leader", NodeID: cl.cfg.Member.NodeID, Term: rs.Term, Message: "this node leads"}, nil
	}
	msg, err := cl.requestChange(ctx, c, api.ChangeMembersRequest{Verb: "transfer", NodeID: cl.cfg.Member.NodeID})
	return &api.MembersChanged{Status: "election_started", NodeID: cl.cfg.Member.NodeID, From: rs.Term, Message: msg}, err
}

// joinRole returns the role of a node that joins as the members write it. Requests may write it as configurations do,
// or as answers do; a blank one is a voter's. Any other is rejected, because Raft would take it for a voter's.
func joinRole(role string) (string, error) {
	switch role {
	case "", raft.RoleVoter, raft.RoleReadReplica:
		return role, nil
	case RoleOf(false):
		return raft.RoleReadReplica, nil
	}
	return "", oplog.Errorf(oplog.Invalid, "role: want voter or read_replica, got %q", role)
}

// requestChange sends a change of the membership to the leader.
func (cl *Cluster) requestChange(ctx context.Context, c api.Caller, q api.ChangeMembersRequest) (string, error) {
	role, err := joinRole(q.Role)
	if err != nil {
		return "", err
	}
	if q.Verb == "leave" {
		if self := cl.cfg.Member.NodeID; q.NodeID != 0 && q.NodeID != self {
			return "", oplog.Errorf(oplog.Invalid,
				"leave removes the node that receives it, which is node %d: send it to node %d, or use remove", self, q.NodeID)
		}
		q.Verb, q.NodeID = "remove", cl.cfg.Member.NodeID
	}
	if q.Verb == "transfer" {
		st := cl.Status(ctx)
		for _, m := range st.Members() {
			if m.NodeID == q.NodeID && m.DiskFull { // it may be unable to store missing records, and would hand over again
				return "", oplog.Errorf(oplog.Conflict, "the disk of node %d is full, so it cannot lead: free space there first", m.NodeID)
			}
		}
	}
	msg, err := cl.raft.Change(ctx,
		wire.Membership{Action: q.Verb, NodeID: q.NodeID, Addr: q.Addr, Role: role, Force: q.Force, Asker: access.AskerOf(c)})
	if err == nil {
		return msg, nil
	}
	text := strings.TrimPrefix(fmt.Sprint(err), raft.ErrRefused.Error()+": ")
	switch reason, until := cl.NoQuorum(); {
	case reason == "" || !errors.Is(err, raft.ErrNoLeader):
	case cl.wasRemoved():
		text += ": " + reason + ": ask one that is"
	default:
		text += ": " + reason + ": members change " + until + "; for one that is gone for good, stop this node and read `cairn cluster recover --help`"
	}
	kind := oplog.Conflict
	if errors.Is(err, raft.ErrUnknownOutcome) {
		kind = oplog.UnknownOutcome // the next leader may complete the change
	}
	return "", &oplog.Error{Kind: kind, Text: text, Err: err}
}

// Place returns the position of this node in its cluster, for the dialects of its host.
func (cl *Cluster) Place(context.Context, api.Caller, *api.Nothing) (*api.PlaceAnswer, error) {
	st := cl.raft.Status()
	return &api.PlaceAnswer{NodeID: cl.cfg.Member.NodeID, Role: lowerFirst(st.State), Leader: cl.knownLeader(), Term: st.Term,
		Commit: st.CommitIndex, Applied: cl.cfg.Commit.Applied(),
		Peers: max(len(st.Members)-1, 0)}, nil
}
