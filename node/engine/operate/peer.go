package operate

import (
	"encoding/json"
	"math"

	"github.com/cairndb/cairn/raft"
	"github.com/cairndb/cairn/wire"
)

// PeerStatus answers another node's status request; it asks no other node.
func (cl *Cluster) PeerStatus() (*wire.ClusterStatusResult, error) {
	own, err := json.Marshal(cl.own())
	if err != nil {
		return nil, err
	}
	st := cl.raft.Status()
	r := &wire.ClusterStatusResult{CurrentTerm: st.Term, SelfID: cl.cfg.Member.NodeID, SelfRole: cl.cfg.Member.Role, Peers: []wire.PeerStatus{}, Node: own, LeaderID: cl.knownLeader()}
	voters := uint32(0)
	for _, m := range st.Members {
		if m.Voter {
			voters++
		}
		if m.ID == cl.cfg.Member.NodeID {
			continue
		}
		role := raft.RoleVoter
		if !m.Voter {
			role = raft.RoleReadReplica
		}
		p := wire.PeerStatus{NodeID: m.ID, Addr: m.Addr, Role: role, CurrentTerm: st.Term, LastSeenSecsAgo: math.Inf(1)}
		r.Peers = append(r.Peers, p)
	}
	r.QuorumSize = voters/2 + 1
	r.Healthy = r.LeaderID != nil
	return r, nil
}
