package operate

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/state"
)

// Alive answers as long as the process serves requests at all.
func (cl *Cluster) Alive(ctx context.Context, _ api.Caller, _ *api.Nothing) (*api.AliveAnswer, error) {
	a := &api.AliveAnswer{Status: "ok", Databases: cl.Databases(), NodeID: cl.cfg.Member.NodeID,
		Version: cl.cfg.Member.Version, Applied: cl.cfg.Commit.Applied(), Writable: cl.cfg.Commit.Leads(),
		Condition: conditionText(cl.Condition(ctx)), Capabilities: []string{"idempotency_key"}}
	if cl.cfg.Member.Clustered {
		a.Cluster = cl.clusterHealth()
	}
	return a, nil
}

// Databases returns the number of databases.
func (cl *Cluster) Databases() int {
	all, _ := state.Get(cl.cfg.State, (*state.View).Databases) // none while the state is closing
	return len(all)
}

func (cl *Cluster) clusterHealth() *api.Health {
	rs := cl.raft.Status()
	role := cl.role(rs)
	h := &api.Health{NodeID: cl.cfg.Member.NodeID, Role: role, RoleLabel: lowerFirst(role), Term: rs.Term,
		AcceptsWrites: cl.cfg.Commit.Leads(), LastIndex: rs.LastIndex,
		Applied: cl.cfg.Commit.Applied(), Lag: cl.LagEntries(), Leader: cl.knownLeader()}
	h.Healthy = h.Leader != nil
	return h
}

func lowerFirst(role string) string {
	if role == "" {
		return ""
	}
	return string(role[0]|0x20) + role[1:]
}

// DeepHealth checks state, index and quorum. The status is degraded if one of these fails. A failing embedder does
// not change it.
func (cl *Cluster) DeepHealth(context.Context, api.Caller, *api.Nothing) (*api.DeepHealthAnswer, error) {
	a := &api.DeepHealthAnswer{Status: "healthy"}
	check := func(c api.Check, f func() error) {
		start := time.Now()
		err := f()
		c.Pass, c.Millis = err == nil, millis(time.Since(start))
		if err != nil {
			a.Status, c.Error = "degraded", err.Error()
		}
		a.Checks = append(a.Checks, c)
	}
	count := cl.Databases()
	check(api.Check{Check: "control_db", Databases: &count},
		func() error { return cl.cfg.State.Read(func(*state.View) error { return nil }) })
	check(api.Check{Check: "engine_lock"}, func() error {
		indexed := cl.cfg.Commit.Indexed() // read first: what is indexed was applied before
		if lag := cl.cfg.Commit.Applied() - indexed; lag > maxReadyLag {
			return fmt.Errorf("the index is %d entries behind", lag)
		}
		return nil
	})
	if cl.cfg.Member.Clustered {
		check(api.Check{Check: "cluster_quorum", Health: cl.clusterHealth()}, func() error {
			if cl.knownLeader() == nil {
				return api.ErrNoLeader
			}
			return nil
		})
	}
	start := time.Now()
	if c, configured := cl.cfg.Check(); configured {
		c.Millis = millis(time.Since(start))
		a.Checks = append(a.Checks, c)
	}
	return a, nil
}

// maxReadyLag is the lag, in entries, up to which a node is ready for readers.
const maxReadyLag = 10_000

// Up returns the status for callers without a token.
func (cl *Cluster) Up(context.Context, api.Caller, *api.Nothing) (*api.UpAnswer, error) {
	return &api.UpAnswer{Alive: true, Ready: cl.Ready()}, nil
}

// TellReady reports whether clients may send reads to this node.
func (cl *Cluster) TellReady(context.Context, api.Caller, *api.Nothing) (*api.ReadyAnswer, error) {
	return &api.ReadyAnswer{Ready: cl.Ready(), Behind: cl.lagFrom(cl.cfg.Commit.Indexed()), Applied: cl.cfg.Commit.Indexed()}, nil
}
