package wireport

import (
	"math"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/wire"
)

func toCreateDatabase(m *wire.Name) (*api.CreateDatabaseRequest, error) {
	return &api.CreateDatabaseRequest{Name: m.Name}, nil
}

func fromCreatedDatabase(_ *wire.Name, a *api.CreatedDatabase) *wire.DBOK {
	return &wire.DBOK{ID: uint32(a.ID), Message: a.Message, Name: a.Name}
}

func fromDatabases(a *api.DatabaseList) *wire.ListDBResult {
	r := &wire.ListDBResult{Databases: []wire.Database{}}
	for _, d := range a.Databases {
		r.Databases = append(r.Databases, wire.Database{CreatedAt: d.Created, ID: uint32(d.ID), Name: d.Name})
	}
	return r
}

func fromCluster(a *api.ClusterStatus) *wire.ClusterStatusResult {
	r := &wire.ClusterStatusResult{CurrentTerm: a.CurrentTerm, SelfID: a.NodeID, SelfRole: a.ConfiguredRole, LeaderID: a.LeaderID,
		QuorumSize: uint32(a.QuorumSize), Healthy: a.Healthy, Peers: []wire.PeerStatus{}}
	for _, p := range a.Peers {
		role, seen := "voter", math.Inf(1)
		if !p.Voter {
			role = "read_replica"
		}
		if p.LastSeenSecsAgo != nil {
			seen = *p.LastSeenSecsAgo
		}
		r.Peers = append(r.Peers, wire.PeerStatus{NodeID: p.NodeID, Addr: p.Addr, Role: role, CurrentTerm: p.CurrentTerm, LastSeenSecsAgo: seen, Reachable: p.Reachable})
	}
	return r
}
