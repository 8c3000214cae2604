package engine

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

// tenants are the callers of the databases that a request means: the one it names, or all.
func (s *Service) tenants(c api.Caller, name string) ([]api.Caller, error) {
	if name != "" {
		c, err := s.access.Select(c, name)
		return []api.Caller{c}, err
	}
	return read(s, func(v *state.View) []api.Caller {
		return api.Each(visible(c, v), func(d oplog.Database) api.Caller {
			in := c
			in.DB, in.Database = d.ID, d.Name
			return in
		})
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
	tenants, err := read(s, func(v *state.View) []api.Upkeep {
		return api.Each(all, func(in api.Caller) api.Upkeep {
			st := v.Stats(in.DB)
			return api.Upkeep{Tenant: in.Database, Thought: api.When(v.Mind(in.DB, "").LastThink), Active: st.Active, Conflicts: st.OpenConflicts, Triggers: st.PendingTriggers}
		})
	})
	return &api.UpkeepList{Tenants: tenants, Count: len(all)}, err
}
