package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/wire"
)

// describers are of the operations that change what the cluster is rather than what it remembers. Each goes into the log
// together with who asked for it.
var describers = map[oplog.OpKind]func(*Service, oplog.DB, oplog.Op) (on, how string){
	oplog.KindCreateDB: func(_ *Service, _ oplog.DB, op oplog.Op) (on, how string) { return op.(*oplog.CreateDB).Name, "" },
	oplog.KindDropDB:   func(_ *Service, _ oplog.DB, op oplog.Op) (on, how string) { return op.(*oplog.DropDB).Name, "" },
	oplog.KindCreateToken: func(s *Service, _ oplog.DB, op oplog.Op) (on, how string) {
		t := op.(*oplog.CreateToken)
		how = fmt.Sprintf("database %s, label %q, scopes %s", s.databaseName(t.DB), t.Label, orDefault(t.Scopes))
		if t.Expires != 0 {
			how += ", until " + t.Expires.Time().UTC().Format(time.DateTime)
		}
		return beginning(t.Hash), how
	},
	oplog.KindRevokeToken: func(s *Service, _ oplog.DB, op oplog.Op) (on, how string) {
		hash := op.(*oplog.RevokeToken).Hash
		return beginning(hash), fmt.Sprintf("label %q", s.tokenLabel(hash))
	},
	oplog.KindSetQuota: func(s *Service, _ oplog.DB, op oplog.Op) (on, how string) {
		q := op.(*oplog.SetQuota)
		return s.databaseName(q.DB), fmt.Sprintf("max_memories %d", q.MaxMemories)
	},
	oplog.KindSetLimit: func(s *Service, _ oplog.DB, op oplog.Op) (on, how string) {
		l := op.(*oplog.SetLimit)
		how = fmt.Sprintf("max_rps %d, burst %d, max_batch_size %d", l.Limit.PerSecond, l.Limit.Burst, l.Limit.Batch)
		if l.Token != "" {
			return beginning(l.Token), how
		}
		return s.databaseName(l.DB), how
	},
	oplog.KindSetSettings: func(s *Service, db oplog.DB, _ oplog.Op) (on, how string) { return s.databaseName(db), "" },
	oplog.KindPurge: func(s *Service, db oplog.DB, op oplog.Op) (on, how string) {
		return s.databaseName(db), "before " + op.(*oplog.Purge).Before.Time().UTC().Format(time.DateTime)
	},
}

const hashPrefix = 12 // hex digits of a token's hash that are shown

// beginning is as much of a hash as the audit has. A hash that another node sends may be short.
func beginning(hash string) string { return hash[:min(len(hash), hashPrefix)] }

func orDefault(scopes []string) string {
	if len(scopes) == 0 {
		return "read, write"
	}
	return strings.Join(scopes, ", ")
}

// An asker is who asked the leader for a change, and through which node.
type asker struct {
	wire.Asker
	node uint32
}

// askerOf is a caller as it is told to the leader.
func askerOf(c api.Caller) wire.Asker { return wire.Asker{By: c.Who(), Label: c.Label} }

// maxAsker bounds what another node says of who asked.
const maxAsker = 256

func (a asker) audit(what, on, how string) *oplog.Audit {
	short := func(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxAsker)], "") }
	return &oplog.Audit{By: cmp.Or(short(a.By), api.ByNode), Label: short(a.Label), What: what, On: on, How: how, Node: a.node, At: oplog.At(time.Now())}
}

// audited is an entry's operations with a row about who asked for each that changes what the cluster is. The leader writes
// them, whichever node the entry comes from: that one may bring rows about changes of members, as a leader that
// handed over does, and none about what the leader sees for itself.
func (s *Service) audited(by asker, db oplog.DB, ops []oplog.Op) []oplog.Op {
	kept := slices.DeleteFunc(slices.Clone(ops), func(op oplog.Op) bool {
		a, ok := op.(*oplog.Audit)
		return ok && !memberVerbs[a.What] && a.What != rejoinVerb
	})
	rows := kept[len(kept):]
	for _, op := range kept {
		if describe := describers[op.Kind()]; describe != nil {
			on, how := describe(s, db, op)
			rows = append(rows, by.audit(op.Kind().String(), on, how))
		}
	}
	if s.readByAll(oplog.Newer(rows)) != nil { // in the middle of an upgrade things go on without the audit
		return kept
	}
	return append(kept, rows...)
}

// noteTimeout bounds what a change of members waits for its word: there may be no leader to take it.
const noteTimeout = 3 * time.Second

// rejoinVerb is how a member that lost its log asks to be brought up to date.
const rejoinVerb = "rejoin"

// Changed implements raft.Handler: the leader writes down a change of members, which is outside the log of operations. It is
// done by then, so what cannot be written down is told to the operator alone.
func (s *Service) Changed(ctx context.Context, from uint32, m wire.Membership) {
	ctx, cancel := context.WithTimeout(ctx, noteTimeout)
	defer cancel()
	err := s.isOpen(ctx)
	if err == nil {
		row := asker{Asker: m.Asker, node: from}.audit(m.Action, fmt.Sprintf("node %d", m.NodeID), strings.TrimSpace(m.Addr+" "+m.Role))
		_, err = s.write(ctx, api.Caller{By: api.ByNode, Scopes: allScopes, Forward: true}, write{scope: api.Admin, system: true, ops: []oplog.Op{row}})
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

func (s *Service) databaseName(id oplog.DB) (name string) {
	_ = s.state.Read(func(v *oplog.View) error { // a closing state knows none
		d, _ := v.Database(id)
		name = d.Name
		return nil
	})
	return name
}

func (s *Service) tokenLabel(hash string) (label string) {
	_ = s.state.Read(func(v *oplog.View) error { // a closing state knows none
		t, _ := v.Token(hash)
		label = t.Label
		return nil
	})
	return label
}
