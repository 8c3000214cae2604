package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/state"
)

// alive answers as long as the process serves requests at all.
func (s *Service) alive(ctx context.Context, _ api.Caller, _ *api.Nothing) (*api.AliveAnswer, error) {
	a := &api.AliveAnswer{Status: "ok", Databases: s.databases(), NodeID: s.cfg.Member.NodeID, Version: s.cfg.Member.Version, Applied: s.commit.Applied(), Writable: s.commit.Leads(),
		Condition: conditionText(s.condition(ctx)), Capabilities: []string{"idempotency_key"}}
	if s.cfg.Member.Clustered {
		a.Cluster = s.clusterHealth()
	}
	return a, nil
}

func (s *Service) databases() int {
	all, _ := read(s, (*state.View).Databases) // a closing state has none
	return len(all)
}

func (s *Service) clusterHealth() *api.Health {
	rs := s.raft.Status()
	role := s.role(rs)
	h := &api.Health{NodeID: s.cfg.Member.NodeID, Role: role, RoleLabel: lower(role), Term: rs.Term, AcceptsWrites: s.commit.Leads(), LastIndex: rs.LastIndex,
		Applied: s.commit.Applied(), Lag: s.lacks(), Leader: s.knownLeader()}
	h.Healthy = h.Leader != nil
	return h
}

func lower(role string) string {
	if role == "" {
		return ""
	}
	return string(role[0]|0x20) + role[1:]
}

// deepHealth asks state, index and quorum. The verdict is bad when one of these fails, whatever the embedder says.
func (s *Service) deepHealth(context.Context, api.Caller, *api.Nothing) (*api.DeepHealthAnswer, error) {
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
	count := s.databases()
	check(api.Check{Check: "control_db", Databases: &count}, func() error { return s.state.Read(func(*state.View) error { return nil }) })
	check(api.Check{Check: "engine_lock"}, func() error {
		if lag := s.commit.Applied() - min(s.commit.Applied(), s.commit.Indexed()); lag > maxReadyLag {
			return fmt.Errorf("the index is %d entries behind", lag)
		}
		return nil
	})
	if s.cfg.Member.Clustered {
		check(api.Check{Check: "cluster_quorum", Health: s.clusterHealth()}, func() error {
			if s.knownLeader() == nil {
				return api.ErrNoLeader
			}
			return nil
		})
	}
	start := time.Now()
	if c, has := s.vectors.Check(); has {
		c.Millis = millis(time.Since(start))
		a.Checks = append(a.Checks, c)
	}
	return a, nil
}

// maxReadyLag is the lag, in entries, up to which a node is ready for readers.
const maxReadyLag = 10_000

// up is all that a caller without a token is told.
func (s *Service) up(context.Context, api.Caller, *api.Nothing) (*api.UpAnswer, error) {
	return &api.UpAnswer{Alive: true, Ready: s.Ready()}, nil
}

func (s *Service) tellReady(context.Context, api.Caller, *api.Nothing) (*api.ReadyAnswer, error) {
	return &api.ReadyAnswer{Ready: s.Ready(), Behind: s.behind(s.commit.Indexed()), Applied: s.commit.Indexed()}, nil
}
