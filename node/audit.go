package node

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/access"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// noteTimeout bounds what a change of members waits for its row in the audit: there may be no leader to take it.
const noteTimeout = 3 * time.Second

// Changed implements raft.Handler: the leader writes down a change of members, which is outside the log of operations. It is
// done by then, so what cannot be written down is told to the operator alone.
func (s *Service) Changed(ctx context.Context, from uint32, m wire.Membership) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	err := s.commit.WaitOpen(ctx)
	if err == nil {
		by := access.Asker{Asker: m.Asker, Node: from}
		err = s.Note(ctx, by.Audit(m.Action, fmt.Sprintf("node %d", m.NodeID), strings.TrimSpace(m.Addr+" "+m.Role)))
	}
	if err != nil {
		s.log.Warn("not in the audit", "change", m.Action, "peer", m.NodeID, "err", err)
	}
}

// audits are the newest changes of the control plane, newest first.
func (s *Service) audits(_ context.Context, _ api.Caller, q *api.AuditsRequest) (*api.AuditList, error) {
	list := &api.AuditList{Audit: []api.Audit{}}
	return list, s.state.Read(func(v *oplog.View) error {
		for _, r := range v.Audits(q.Limit) {
			list.Audit = append(list.Audit, api.Audit{Index: r.Index, At: r.At.Seconds(), By: r.By, Label: r.Label, What: r.What, On: r.On, How: r.How, Node: r.Node})
		}
		return nil
	})
}
