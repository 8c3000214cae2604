package engine

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/state"
)

// tenants are the callers of the databases that a request means: the one it names, or all.
func (s *Service) tenants(c api.Caller, name string) (list []api.Caller, err error) {
	if name != "" {
		c, err := s.access.Select(c, name)
		return []api.Caller{c}, err
	}
	return list, s.state.Read(func(v *state.View) error {
		for _, d := range visible(c, v) {
			in := c
			in.DB, in.Database = d.ID, d.Name
			list = append(list, in)
		}
		return nil
	})
}

func (s *Service) runMaintenance(ctx context.Context, c api.Caller, q *api.RunMaintenanceRequest) (*api.MaintenanceRun, error) {
	all, err := s.tenants(c, q.Tenant)
	if err != nil {
		return nil, err
	}
	r := &api.MaintenanceRun{Tenants: []api.Maintained{}, Count: len(all)}
	for _, in := range all {
		a, err := s.think(ctx, in, &api.ThinkRequest{ThinkParts: api.ThinkParts{Consolidate: true, Conflicts: true, Patterns: true}, Personality: true, Limit: defaultConsolidation})
		if err != nil {
			return nil, err
		}
		r.Tenants = append(r.Tenants, api.Maintained{Tenant: in.Database, Thought: *a})
	}
	return r, nil
}

func (s *Service) maintenanceStatus(_ context.Context, c api.Caller, q *api.MaintenanceStatusRequest) (*api.UpkeepList, error) {
	all, err := s.tenants(c, q.Tenant)
	if err != nil {
		return nil, err
	}
	r := &api.UpkeepList{Tenants: []api.Upkeep{}, Count: len(all)}
	return r, s.state.Read(func(v *state.View) error {
		for _, in := range all {
			st := v.Stats(in.DB)
			r.Tenants = append(r.Tenants, api.Upkeep{Tenant: in.Database, Thought: when(v.Mind(in.DB).LastThink), Active: st.Active, Conflicts: st.OpenConflicts, Triggers: st.PendingTriggers})
		}
		return nil
	})
}
