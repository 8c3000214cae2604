package node

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/cairndb/cairn/node/wireport"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// peerHandlers are what other nodes may ask beyond consensus.
var peerHandlers = map[wire.Op]func(*Service, context.Context, wire.Frame) (wire.Op, wire.Message, error){
	wire.OpOplogPull:           (*Service).oplogPull,
	wire.OpOplogPush:           (*Service).oplogPush,
	wire.OpClusterDatabaseList: (*Service).databaseList,
	wire.OpClusterStatus:       (*Service).peerStatus,
}

// Forward implements raft.Handler: the leader's end of a follower's write.
func (s *Service) Forward(ctx context.Context, from uint32, m wire.Forward) ([]byte, error) {
	return s.commit.Forwarded(ctx, from, m)
}

// Peer implements raft.Handler.
func (s *Service) Peer(ctx context.Context, f wire.Frame) (wire.Frame, error) {
	if err := s.commit.WaitOpen(ctx); err != nil {
		return wire.Frame{}, err
	}
	h, ok := peerHandlers[f.Op]
	if !ok {
		return wire.Pack(wire.OpError, f.Stream, &wire.Error{Code: wire.CodeInvalidPayload, Message: "unsupported cluster opcode: " + f.Op.Name()}, f.JSON())
	}
	op, m, err := h(s, ctx, f)
	var told *refusal
	if errors.As(err, &told) {
		op, m, err = wire.OpError, &told.told, nil
	}
	if err != nil {
		op, m = wireport.Errors{Leader: s.knownLeader, Log: s.log}.Of(err)
	}
	return wire.Pack(op, f.Stream, m, f.JSON())
}

func (s *Service) databaseList(_ context.Context, f wire.Frame) (wire.Op, wire.Message, error) {
	if err := wire.Unpack(f, &wire.Nothing{}, wire.MaxPlainPeer); err != nil {
		return 0, nil, err
	}
	r := &wire.DatabaseList{Databases: []string{}}
	err := s.state.Read(func(v *oplog.View) error {
		for _, d := range v.Databases() {
			r.Databases = append(r.Databases, d.Name)
		}
		return nil
	})
	return wire.OpClusterDatabaseListResult, r, err
}

// peerStatus answers with what this node knows without asking others: it is what they ask.
func (s *Service) peerStatus(context.Context, wire.Frame) (wire.Op, wire.Message, error) {
	r := s.statusResult()
	b, err := json.Marshal(s.own())
	if err != nil {
		return 0, nil, err
	}
	r.Node = b
	return wire.OpClusterStatusResult, r, nil
}

func (s *Service) statusResult() *wire.ClusterStatusResult {
	st := s.raft.Status()
	r := &wire.ClusterStatusResult{CurrentTerm: st.Term, SelfID: s.cfg.Member.NodeID, SelfRole: s.cfg.Member.Role, Peers: []wire.PeerStatus{}}
	if id, ok := s.commit.Leader(); ok {
		r.LeaderID = &id
	}
	voters := uint32(0)
	for _, m := range st.Members {
		if m.Voter {
			voters++
		}
		if m.ID == s.cfg.Member.NodeID {
			continue
		}
		role := RoleVoter
		if !m.Voter {
			role = RoleReadReplica
		}
		p := wire.PeerStatus{NodeID: m.ID, Addr: m.Addr, Role: role, CurrentTerm: st.Term, LastSeenSecsAgo: math.Inf(1)}
		r.Peers = append(r.Peers, p)
	}
	r.QuorumSize = voters/2 + 1
	r.Healthy = r.LeaderID != nil
	return r
}
