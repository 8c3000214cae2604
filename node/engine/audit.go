package engine

import (
	"context"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog/state"
)

// audits are the newest changes of the control plane, newest first.
func (s *Service) audits(_ context.Context, _ api.Caller, q *api.AuditsRequest) (*api.AuditList, error) {
	list := &api.AuditList{Audit: []api.Audit{}}
	return list, s.state.Read(func(v *state.View) error {
		for _, r := range v.Audits(q.Limit) {
			list.Audit = append(list.Audit, api.Audit{Index: r.Index, At: r.At.Seconds(), By: r.By, Label: r.Label, What: r.What, On: r.On, How: r.How, Node: r.Node})
		}
		return nil
	})
}
